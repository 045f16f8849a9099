import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { isSpace } from '../api/space.ts'
import { toPool } from '../api/to-pool.ts'
import { type AskingPool, decideSpace, type SpaceFacts, type SpaceMember } from './joining.ts'

const offering: SpaceMember = { offers: true, isNetwork: false }
const closed: SpaceMember = { offers: false, isNetwork: false }

const noMembers: SpaceMember[] = []
const offered = [offering]
const offeredByAll = [offering, offering]
const offeredBySome = [offering, closed]
const notOffered = [closed]

/** A pool of the namespace team-a, as it is read from the server with this in its status. */
function aPool(asked: string, stored: string) {
  return orThrow(
    toPool({
      apiVersion: 'mooring.dev/v1alpha1',
      kind: 'AddressPool',
      metadata: { name: 'vms', namespace: 'team-a' },
      spec: { addresses: ['10.0.0.0/24'], prefix: 24, space: asked },
      ...(stored !== '' && { status: { space: stored } }),
    }),
  )
}

function decided(
  asked: string,
  stored: string,
  members: readonly SpaceMember[],
  facts: Partial<SpaceFacts> = {},
): string {
  const joining = decideSpace(aPool(asked, stored), { ...alone, members, ...facts })
  return 'space' in joining ? joining.space : joining.refused.reason
}

const refused = 'SpaceNotOffered'
const none = ''
const lab = 'ClusterAddressPool.mooring.dev/lab'
const ownPool = 'InClusterIPPool.ipam.cluster.x-k8s.io/team-a/db'
const othersPool = 'InClusterIPPool.ipam.cluster.x-k8s.io/team-b/db'

const alone: SpaceFacts = {
  members: noMembers,
  isAnnounced: false,
  namespaceHas: undefined,
  named: { spaceAsked: undefined, space: ownPool },
}

describe('a pool of team-a that asks for a space', () => {
  test.each([
    // asked, stored, cluster-wide, then
    ['gets one of its namespace where the cluster has none', 'blue', none, noMembers, 'team-a/blue'],
    ['joins the one of the cluster that is offered', 'blue', none, offered, 'blue'],
    ['joins what all members offer', 'blue', none, offeredByAll, 'blue'],
    ['is refused what only some members offer', 'blue', none, offeredBySome, refused],
    ['is refused what is not offered', 'blue', none, notOffered, refused],

    ['keeps its own when the cluster gets one of the name', 'blue', 'team-a/blue', notOffered, 'team-a/blue'],
    ['keeps its own when that is offered too', 'blue', 'team-a/blue', offered, 'team-a/blue'],
    ['stays joined while it is offered', 'blue', 'blue', offered, 'blue'],
    ['gives nothing new when it is not offered any more', 'blue', 'blue', notOffered, refused],
    ['gives nothing new when the space is gone', 'blue', 'blue', noMembers, refused],

    ['joins a pool of its namespace', ownPool, none, noMembers, ownPool],
    ['joins a pool of the cluster that is offered', lab, none, offered, lab],
    ['is refused a pool of the cluster that is not offered', lab, none, notOffered, refused],
    ['is refused a pool of the cluster that does not exist', lab, none, noMembers, refused],
    ['gives nothing new when the pool it joined is gone', lab, lab, noMembers, refused],
    ['is refused a pool of another namespace', othersPool, none, noMembers, refused],
  ])('%s', (_, asked, stored, members, then) => {
    expect(decided(asked, stored, members)).toBe(then)
  })
})

describe('a pool of team-a that names a network which is defined and not there yet', () => {
  test.each<[string, string, readonly SpaceMember[], Partial<SpaceFacts>, string]>([
    ['waits', none, noMembers, {}, 'SpaceUndecided'],
    ['joins what members offer', none, offered, {}, 'blue'],
    ['keeps its own', 'team-a/blue', noMembers, {}, 'team-a/blue'],
    ['gets that of its namespace where another pool has it', none, noMembers, { namespaceHas: 'own' }, 'team-a/blue'],
    ['gives nothing new where it joined before', 'blue', noMembers, {}, refused],
  ])('%s', (_, stored, members, facts, then) => {
    expect(decided('blue', stored, members, { ...facts, isAnnounced: true })).toBe(then)
  })
})

describe('a pool of team-a, beside others of its namespace', () => {
  const own = { namespaceHas: 'own' } as const
  const joined = { namespaceHas: 'joined' } as const
  const named = (space: string, spaceAsked?: string): Partial<SpaceFacts> => ({ named: { space, spaceAsked } })

  test.each<[string, string, string, SpaceMember[], Partial<SpaceFacts>, string]>([
    // asked, stored, cluster-wide, in its namespace, then
    ['shares what the namespace has already', 'blue', none, offered, own, 'team-a/blue'],
    ['shares it also where the one of the cluster is not offered', 'blue', none, notOffered, own, 'team-a/blue'],
    ['gives nothing new in one of the cluster beside it', 'blue', 'blue', offered, own, refused],
    ['joins what another joined', 'blue', none, offered, joined, 'blue'],
    ['gets no space beside one that another joined, and that is gone', 'blue', none, noMembers, joined, refused],
    ['keeps its own beside one that another joined', 'blue', 'team-a/blue', offered, joined, 'team-a/blue'],

    ['waits for a pool that is not there', ownPool, none, noMembers, { named: undefined }, 'SpaceUndecided'],
    ['stays with a pool that is gone', ownPool, ownPool, noMembers, { named: undefined }, ownPool],
    ['gets no space by a pool that is elsewhere', ownPool, none, noMembers, named('blue', 'blue'), 'SpaceUndecided'],
    ['gets none by a pool that has none yet', ownPool, none, noMembers, named('', 'blue'), 'SpaceUndecided'],
    ['stays where it joined a pool', ownPool, ownPool, noMembers, named('blue', 'blue'), ownPool],
  ])('%s', (_, asked, stored, members, facts, then) => {
    expect(decided(asked, stored, members, facts)).toBe(then)
  })
})

describe('by writing the status of its pool, team-a', () => {
  test.each([
    ['does not get into what is not offered', 'blue', 'blue', notOffered, refused],
    ['does not get into what only some offer', 'blue', 'blue', offeredBySome, refused],
    ['does not make a space of the cluster', 'blue', 'blue', noMembers, refused],
    ['does not get into another space of the cluster', 'blue', 'red', noMembers, 'team-a/blue'],
    ['does not get into the space of another namespace', 'blue', 'team-b/blue', noMembers, 'team-a/blue'],
    ['does not get out of the name it asked for', 'blue', 'team-a/red', noMembers, 'team-a/blue'],
    ['does not get into the own space of a pool', 'blue', othersPool, noMembers, 'team-a/blue'],
    ['does not get into a pool of another namespace', othersPool, othersPool, offered, refused],
    ['does not get into a pool of the cluster that is not offered', lab, lab, notOffered, refused],
    ['makes no space that no hold can be in', lab, `team-a/${lab}`, notOffered, refused],
    ['makes no such space of its own pool either', ownPool, `team-a/${ownPool}`, noMembers, ownPool],
    ['gets its own, which nothing keeps it from', 'blue', 'team-a/blue', notOffered, 'team-a/blue'],
  ])('%s', (_, asked, stored, members, then) => {
    expect(decided(asked, stored, members)).toBe(then)
  })

  test('never gets more than without: what is given is its own, or offered by all members', () => {
    const texts = [
      'blue',
      'red',
      'team-a/blue',
      'team-a/red',
      'team-b/blue',
      lab,
      ownPool,
      othersPool,
      'team-a/',
      '/',
      'é',
    ]
    for (const asked of ['blue', lab, ownPool, othersPool]) {
      for (const stored of [none, ...texts, `team-a/${asked}`]) {
        for (const members of [noMembers, offered, offeredByAll, offeredBySome, notOffered]) {
          const space = decided(asked, stored, members)
          if (space === refused) continue
          expect(isSpace(space)).toBe(true)
          const isOwn = space === 'team-a/blue' || space === ownPool
          const isOffered = space === asked && members.length > 0 && members.every(({ offers }) => offers)
          expect([asked, stored, space, isOwn || isOffered]).toEqual([asked, stored, space, true])
        }
      }
    }
  })
})

describe('the author of a pool that is refused', () => {
  const messageOf = (asked: string, stored: string, members: readonly SpaceMember[]): string => {
    const joining = decideSpace(aPool(asked, stored), { ...alone, members })
    return 'refused' in joining ? joining.refused.message : ''
  }

  test('reads what to ask for, and not which pools are in the space', () => {
    expect(messageOf('blue', none, notOffered)).toBe(
      'space blue is not offered to namespace team-a: its administrator decides by spec.allowedNamespaces; or choose another name',
    )
  })

  test('reads the same of a pool of the cluster that is not there and of one that is not offered', () => {
    const said = messageOf(lab, none, noMembers)
    expect(said).toContain(`space ${lab} does not exist, or is not offered to namespace team-a`)
    expect(messageOf(lab, none, notOffered)).toBe(said)
  })

  test('reads what to do about a network in which the namespace has no part', () => {
    expect(messageOf('blue', none, [{ offers: false, isNetwork: true }])).toBe(
      'space blue is that of a network in which namespace team-a has no part: create a NetworkAttachmentDefinition of the network ' +
        'there, which the network has to be offered to; or choose another name: none that begins with team-a_ is taken by another namespace',
    )
  })

  test('reads in which space a pool is that it names', () => {
    const said = (pool: AskingPool) => {
      const joining = decideSpace(pool, { ...alone, named: { space: 'team-a/blue', spaceAsked: 'blue' } })
      return 'refused' in joining && `${joining.refused.reason}: ${joining.refused.message}`
    }
    const own = aPool(ownPool, none)
    expect(said(own)).toBe(
      'SpaceUndecided: InClusterIPPool team-a/db, which AddressPool team-a/vms names as its space, is in space team-a/blue: ' +
        'make a pool whose spec.space is blue',
    )
    const ofCluster = { ...own, identity: { ...own.identity, kind: 'ClusterAddressPool', namespace: '' } }
    expect(said(ofCluster)).toBe(
      'SpaceUndecided: InClusterIPPool team-a/db, which ClusterAddressPool vms names as its space, is in space team-a/blue: ' +
        'only pools of that namespace can join it',
    )
  })

  test('reads that the space is gone', () => {
    expect(messageOf('blue', 'blue', noMembers)).toContain(
      'space blue, which pools of namespace team-a joined, is gone',
    )
  })
})

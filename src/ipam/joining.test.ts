import { describe, expect, test } from 'vitest'
import { orThrow } from '../../test/harness/or-throw.ts'
import { isSpace } from '../api/space.ts'
import { toPool } from '../api/to-pool.ts'
import { decideSpace, type SpaceMember } from './joining.ts'

const offering: SpaceMember = { text: 'ClusterAddressPool one', offers: true }
const closed: SpaceMember = { text: 'ClusterAddressPool two', offers: false }

const noMembers: SpaceMember[] = []
const offered = [offering]
const offeredByAll = [offering, { ...offering, text: 'ClusterAddressPool three' }]
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

function decided(asked: string, stored: string, members: readonly SpaceMember[]): string {
  const joining = decideSpace(aPool(asked, stored), members)
  return 'space' in joining ? joining.space : joining.refused.reason
}

const refused = 'SpaceNotOffered'
const none = ''
const lab = 'ClusterAddressPool.mooring.dev/lab'
const ownPool = 'InClusterIPPool.ipam.cluster.x-k8s.io/team-a/db'
const othersPool = 'InClusterIPPool.ipam.cluster.x-k8s.io/team-b/db'

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
    const joining = decideSpace(aPool(asked, stored), members)
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

  test('reads that the space is gone', () => {
    expect(messageOf('blue', 'blue', noMembers)).toContain('space blue, which AddressPool team-a/vms joined, is gone')
  })
})

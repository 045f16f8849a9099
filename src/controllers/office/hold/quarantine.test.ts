import { describe, expect, test } from 'vitest'
import { anAttachment, mooring, ovn, withoutOVN } from '../../../../test/harness/attachments.ts'
import { orThrow } from '../../../../test/harness/or-throw.ts'
import { parseHold, toHoldObject } from '../../../api/hold.ts'
import { parseMACHold, toMACHoldObject } from '../../../api/mac-hold.ts'
import type { Identity } from '../../../api/object.ts'
import { toPool } from '../../../api/to-pool.ts'
import { parseIP } from '../../../ip/address.ts'
import { parseMAC } from '../../../ip/mac.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { quarantineSecondsMax } from '../../../limits.ts'
import { Ledger } from '../ledger.ts'
import { defaultNetworkRules, Networks } from '../networks.ts'
import { everything } from '../scope.ts'
import { Sources } from '../sources.ts'
import { createViews, poolCacheOf } from '../views.ts'
import { isGone, restEndsMs, restSecondsOf } from './quarantine.ts'

const apiGroup = 'k8s.cni.cncf.io'
const blue: Identity = { apiGroup, kind: 'Network', namespace: '', name: 'blue' }
const own: Identity = { apiGroup, kind: 'NetworkAttachmentDefinition', namespace: 'red', name: 'vms' }

function aWorld(scope = everything) {
  const caches = createViews()
  const sources = new Sources(caches, new Ledger())
  new Networks(caches, sources, defaultNetworkRules, withoutOVN)
  return { caches, sources, scope }
}

describe('the network that an address was given from', () => {
  test.each([
    ['of OVN-Kubernetes', blue, ovn(), ovn({ subnets: 'x' })],
    ['with addresses of its own', own, mooring(), mooring({})],
  ])('%s is gone with its last attachment, and not while that cannot be read', (_, pool, good, bad) => {
    const world = aWorld()
    const { attachments } = world.caches
    // Nothing has been listed yet.
    expect(isGone({ pool }, world)).toBe(false)
    attachments.markSynced()
    expect(isGone({ pool }, world)).toBe(true)
    const put = (config: object, resourceVersion: string) =>
      attachments.put(anAttachment('red/vms', config, { metadata: { resourceVersion } }) as KubeObject)
    put(good, '2')
    expect(isGone({ pool }, world)).toBe(false)
    put(bad, '3')
    expect(world.sources.poolsOf(pool)).toEqual([])
    expect(isGone({ pool }, world)).toBe(false)
    attachments.clear()
    expect(isGone({ pool }, world)).toBe(true)
  })

  test('is not taken for gone by a process that sees one namespace alone', () => {
    const world = aWorld({ namespace: 'lab', watchFilter: '' })
    world.caches.attachments.markSynced()
    expect(isGone({ pool: blue }, world)).toBe(false)
    expect(isGone({ pool: own }, world)).toBe(false)
  })
})

const given: Identity = { apiGroup: 'mooring.dev', kind: 'ClusterAddressPool', namespace: '', name: 'given' }
const claim = { apiGroup: 'ipam.cluster.x-k8s.io', kind: 'IPAddressClaim', namespace: 'red', name: 'web', uid: 'u-1' }
const spec = { space: 'lab', pool: given, claim, owner: undefined }
const since = '2030-01-01T10:00:00Z'
const sinceMs = Date.parse(since)

const resting = (seconds: number) => {
  const until = new Date(sinceMs + seconds * 1000).toISOString().replace('.000', '')
  return { state: 'quarantined', since, until }
}

function aHold(metadata: object = {}, status: object = {}) {
  const object = toHoldObject({ ...spec, ip: orThrow(parseIP('10.0.0.7')), bits: 32 }, since)
  return orThrow(
    parseHold({ ...object, metadata: { ...object.metadata, ...metadata }, status: { ...object.status, ...status } }),
  )
}

const aMACHold = () =>
  orThrow(parseMACHold(toMACHoldObject({ ...spec, mac: orThrow(parseMAC('02:00:00:00:00:05')) }, since)))

interface Draft {
  readonly name: string
  readonly seconds: number
  readonly addresses?: string
  readonly isDeleting?: boolean
  readonly space?: string
  readonly team?: string
}

let version = 1

function aPool({ name, seconds, addresses = '10.0.0.0/24', isDeleting, space = 'lab', team }: Draft): KubeObject {
  const deletionTimestamp = isDeleting === true ? { deletionTimestamp: since, finalizers: ['x/y'] } : {}
  const allowedNamespaces = team === undefined ? {} : { allowedNamespaces: { matchLabels: { team } } }
  const object = {
    apiVersion: 'mooring.dev/v1alpha1',
    kind: given.kind,
    metadata: { name, uid: name, resourceVersion: `${++version}`, generation: version, ...deletionTimestamp },
    spec: { addresses: [addresses], prefix: 24, space, quarantineSeconds: seconds, ...allowedNamespaces },
  }
  orThrow(toPool(object))
  return object
}

/** Pools of the space of the address: the one that it was given from, unless it is gone, and others. */
function aSpace(pools: readonly Draft[]) {
  const world = aWorld()
  for (const pool of pools) poolCacheOf(world.caches, { group: given.apiGroup, kind: given.kind })?.put(aPool(pool))
  for (const cache of world.caches.pools.values()) cache.markSynced()
  return world
}

describe('an address that is released rests', () => {
  const own = { name: 'given', seconds: 60 }

  test.each<[string, readonly Draft[], number]>([
    ['as long as its pool says, whatever others of the space say', [own, { name: 'other', seconds: 600 }], 60],
    [
      'not at all where its pool says so',
      [
        { ...own, seconds: 0 },
        { name: 'other', seconds: 600 },
      ],
      0,
    ],
    [
      'for the longest of the others that list it, where its pool is gone',
      [
        { name: 'one', seconds: 30 },
        { name: 'two', seconds: 90 },
      ],
      90,
    ],
    [
      'for the longest of the others that list it, where its pool goes',
      [
        { ...own, isDeleting: true },
        { name: 'one', seconds: 30 },
      ],
      30,
    ],
    ['not at all where no other pool lists it', [{ name: 'one', seconds: 30, addresses: '10.0.1.0/24' }], 0],
    ['not at all where others list it in another space', [{ name: 'one', seconds: 30, space: 'barn' }], 0],
    ['not at all where the only other pool goes too', [{ name: 'one', seconds: 30, isDeleting: true }], 0],
  ])('%s', (_, pools, seconds) => expect(restSecondsOf(aHold(), aSpace(pools))).toBe(seconds))

  test('not for what a tenant writes whose pool says that it joined the space, and is not offered it', () => {
    const world = aSpace([{ name: 'one', seconds: 30 }])
    world.caches.namespaces.put({
      metadata: { name: 'blue', uid: 'b', resourceVersion: '1', labels: { team: 'blue' } },
    })
    poolCacheOf(world.caches, { group: given.apiGroup, kind: 'AddressPool' })?.put({
      apiVersion: 'mooring.dev/v1alpha1',
      kind: 'AddressPool',
      metadata: { name: 'own', namespace: 'blue', uid: 'own', resourceVersion: '1' },
      spec: { addresses: ['10.0.0.0/8'], prefix: 24, space: 'lab', quarantineSeconds: quarantineSecondsMax },
      status: { space: 'lab' },
    } as KubeObject)
    expect(restSecondsOf(aHold(), world)).toBe(quarantineSecondsMax)
    poolCacheOf(world.caches, { group: given.apiGroup, kind: given.kind })?.put(
      aPool({ name: 'one', seconds: 30, team: 'red' }),
    )
    expect(restSecondsOf(aHold(), world)).toBe(30)
  })

  test('not at all where an administrator deleted its hold', () => {
    expect(restSecondsOf(aHold({ deletionTimestamp: since }), aSpace([own]))).toBe(0)
  })

  test('and a MAC for the longest of all pools of the space, where its pool is gone', () => {
    const pools = [{ name: 'one', seconds: 30, addresses: '10.0.1.0/24' }]
    expect(restSecondsOf(aMACHold(), aSpace(pools))).toBe(30)
  })
})

describe('a rest that has begun', () => {
  const endsIn = (pools: readonly Draft[], seconds: number) =>
    (restEndsMs(aHold({}, resting(seconds)), aSpace(pools)) - sinceMs) / 1000

  test.each<[string, readonly Draft[], number, number]>([
    ['ends when it was said to, also if its pool says less now', [{ name: 'given', seconds: 5 }], 60, 60],
    ['becomes shorter when its pool goes, and others say less', [{ name: 'one', seconds: 30 }], 60, 30],
    ['does not become longer when its pool goes, and others say more', [{ name: 'one', seconds: 600 }], 60, 60],
    ['is over when its pool goes, and no other lists it', [], 60, 0],
    [
      'lasts no longer than any rest may',
      [{ name: 'given', seconds: 5 }],
      quarantineSecondsMax + 60,
      quarantineSecondsMax,
    ],
  ])('%s', (_, pools, said, seconds) => expect(endsIn(pools, said)).toBe(seconds))
})

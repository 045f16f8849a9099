import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../../test/harness/or-throw.ts'
import { seededRandom } from '../../../../test/harness/seeded-random.ts'
import { silentLog } from '../../../../test/harness/silent-log.ts'
import { VirtualClock } from '../../../../test/harness/virtual-clock.ts'
import { toHoldObject } from '../../../api/hold.ts'
import { inClusterPoolKind } from '../../../api/in-cluster-pool.ts'
import { identityKey } from '../../../api/object.ts'
import { toPool } from '../../../api/to-pool.ts'
import { parseIP } from '../../../ip/address.ts'
import { ApiError } from '../../../kube/api-error.ts'
import type { Client, PatchOptions } from '../../../kube/client.ts'
import type { EventInput } from '../../../kube/events.ts'
import { type Kind, type KubeObject, keyOf, keyOfRef, type ObjectRef } from '../../../kube/object.ts'
import { Manager } from '../../../runtime/manager.ts'
import { createMetrics } from '../../../telemetry/metrics.ts'
import { capiFacts } from '../../capi/facts.ts'
import { followShown } from '../../capi/shown.ts'
import { createCaches } from '../../capi/world.ts'
import { Gateways } from '../gateways.ts'
import { pools } from '../kinds.ts'
import { Ledger } from '../ledger.ts'
import { poolFacts } from '../pool-facts.ts'
import { Sources } from '../sources.ts'
import { followHolds } from '../views.ts'
import { statusPeriodMs } from './pace.ts'
import { createSpaceNamesRead } from './space-names.ts'
import { addPoolCapacity } from './watches.ts'

const finalizer = 'ipam.cluster.x-k8s.io/ProtectPool'

interface Stored extends KubeObject {
  readonly spec?: Record<string, unknown>
  readonly status?: {
    readonly ipAddresses?: object
    readonly addresses?: object
    readonly observedGeneration?: number
    readonly conditions?: readonly { type: string; status: string; reason: string; message: string }[]
  }
}

/** A server of two verbs: objects are put, and patched under their version. Patches are in the caches at once. */
async function aDesk({ prunes = false } = {}) {
  const clock = new VirtualClock()
  const caches = createCaches(true)
  const ledger = new Ledger()
  followHolds(caches, ledger)
  const sources = new Sources(caches, ledger)
  followShown({ ...caches, sources }, ledger)
  const writes: { readonly what: string; readonly patch: object }[] = []
  const events: EventInput[] = []
  /** Gone from the server, and not yet from the caches. */
  const vanished = new Set<string>()
  /** Whether another process writes to the pool all the time, so that the cache is always behind. */
  const rush = { isOn: false }
  let version = 100

  const cacheOf = (kind: string) => {
    const cache =
      { Hold: caches.holds, IPAddress: caches.reports, Namespace: caches.namespaces }[kind] ??
      poolCacheNamed(caches, kind)
    if (cache === undefined) throw new Error(`no cache for ${kind}`)
    return cache
  }
  const put = (object: object): Stored => {
    const { metadata, ...rest } = object as Stored
    const before = cacheOf(rest.kind ?? '').get(keyOf({ metadata }))
    const stored = {
      ...rest,
      metadata: {
        uid: `uid-${version}`,
        generation: 1,
        ...before?.metadata,
        ...metadata,
        resourceVersion: `${++version}`,
      },
    }
    cacheOf(stored.kind ?? '').put(stored)
    return stored
  }
  const remove = (object: KubeObject) => {
    const cache = cacheOf(object.kind ?? '')
    const stored = cache.get(keyOf(object))
    if (stored !== undefined)
      cache.remove({ ...stored, metadata: { ...stored.metadata, resourceVersion: `${++version}` } })
  }
  const mergePatch = async (kind: Kind, ref: ObjectRef, patch: object, options: PatchOptions = {}) => {
    const before = cacheOf(kind.kind).get(keyOfRef(ref)) as Stored | undefined
    if (before === undefined || vanished.has(keyOfRef(ref)))
      throw new ApiError('gone', { reason: 'NotFound', code: 404 })
    const { uid, resourceVersion } = before.metadata
    if (rush.isOn || options.resourceVersion !== resourceVersion || options.uid !== uid) {
      throw new ApiError('old', { reason: 'Conflict', code: 409 })
    }
    const { metadata = {}, status } = patch as { metadata?: { finalizers?: string[] | null }; status?: object }
    writes.push({ what: `${kind.kind} ${keyOfRef(ref)}`, patch })
    const kept = prunes && status !== undefined ? withoutConditions(status) : status
    const next = {
      ...before,
      metadata: { ...before.metadata, ...metadata, resourceVersion: `${++version}` },
      status: { ...before.status, ...kept },
    } as Stored
    if (next.metadata.deletionTimestamp && !next.metadata.finalizers?.length) remove(next)
    else cacheOf(kind.kind).put(next)
    return next
  }

  const state = { seesAll: true, beforeList: async () => {} }
  /** What the server lists of kinds that can have the name of a space, by kind; an error is thrown. */
  const listed = new Map<string, readonly KubeObject[] | ApiError>()
  const lists: string[] = []
  const list = async ({ kind }: Kind) => {
    lists.push(kind)
    await state.beforeList()
    const items = listed.get(kind) ?? []
    if (items instanceof ApiError) throw items
    return { items, resourceVersion: `${version}` }
  }
  const get = async ({ kind }: Kind, ref: ObjectRef) => {
    const items = listed.get(kind) ?? []
    if (items instanceof ApiError) throw items
    return items.find(item => keyOf(item) === keyOfRef(ref))
  }
  const metrics = createMetrics()
  const manager = new Manager({ clock, random: seededRandom(1), log: silentLog, metrics })
  const client = { mergePatch, list, get, withPass: () => client } as unknown as Client
  const recorder = { event: (event: EventInput) => void events.push(event) }
  const capacity = addPoolCapacity(manager.domain('office'), {
    client,
    clock,
    recorder,
    caches,
    ledger,
    sources,
    metrics: undefined,
    seesAll: () => state.seesAll,
    readSpaceNames: createSpaceNamesRead(client, caches, clock, { namespace: '' }),
  })
  const all = [caches.holds, caches.reports, caches.claims, ...caches.pools.values()]
  for (const cache of all) cache.markSynced()
  await manager.start()
  return {
    clock,
    caches,
    ledger,
    sources,
    state,
    listed,
    lists,
    writes,
    events,
    vanished,
    rush,
    metrics,
    capacity,
    put,
    remove,
    read: (object: KubeObject) => cacheOf(object.kind ?? '').get(keyOf(object)) as Stored | undefined,
    /** Long enough for everything that is due. */
    rest: () => clock.advance(10_000),
    change: (object: Stored, spec: object) => {
      const stored = cacheOf(object.kind ?? '').get(keyOf(object)) as Stored
      const generation = (stored.metadata.generation ?? 0) + 1
      return put({ ...stored, spec, metadata: { ...stored.metadata, generation } })
    },
    mark: (object: Stored, metadata: object) => {
      const stored = cacheOf(object.kind ?? '').get(keyOf(object)) as Stored
      return put({ ...stored, metadata: { ...stored.metadata, ...metadata } })
    },
  }
}

function poolCacheNamed({ pools }: ReturnType<typeof createCaches>, kind: string) {
  return [...pools].find(([key]) => key.startsWith(`${kind}.`))?.[1]
}

function withoutConditions(status: object): object {
  const { conditions: _, observedGeneration: __, ...rest } = status as Record<string, unknown>
  return rest
}

const ipam = 'ipam.cluster.x-k8s.io/v1alpha2'
const inCluster = (spec: object, name = 'vms'): Stored => ({
  apiVersion: ipam,
  kind: 'InClusterIPPool',
  metadata: { name, namespace: 'default' },
  spec: { prefix: 24, ...spec },
})
const ours = (spec: object, name = 'vms'): Stored => ({
  apiVersion: 'mooring.dev/v1alpha1',
  kind: 'AddressPool',
  metadata: { name, namespace: 'default' },
  spec: { prefix: 24, ...spec },
})

function aHold(of: KubeObject, address: string, state: 'held' | 'quarantined' = 'held') {
  const pool = orThrow(toPool(of))
  const ip = orThrow(parseIP(address))
  const claim = {
    apiGroup: 'ipam.cluster.x-k8s.io',
    kind: 'IPAddressClaim',
    namespace: 'default',
    name: address,
    uid: address,
  }
  const spec = { space: pool.space, ip, bits: pool.bits, pool: pool.identity, claim, owner: undefined }
  const object = toHoldObject(spec, '2030-01-01T00:00:00Z')
  return { ...object, status: { ...object.status, state } }
}

function anAddress(of: KubeObject, name: string, address: string) {
  const poolRef = { apiGroup: of.apiVersion?.split('/')[0], kind: of.kind, name: of.metadata.name }
  const spec = { claimRef: { name }, poolRef, address, prefix: 24 }
  return {
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddress',
    metadata: { name, namespace: 'default' },
    spec,
  }
}

const conditionOf = (object: Stored | undefined, type: string) =>
  object?.status?.conditions?.find(condition => condition.type === type)

describe('a pool', () => {
  test.each<[string, object, readonly string[], object]>([
    ['new', { addresses: ['10.0.0.10-10.0.0.20'] }, [], { total: 11, used: 0, free: 11 }],
    ['with a holder', { addresses: ['10.0.0.10-10.0.0.20'] }, ['10.0.0.10'], { total: 11, used: 1, free: 10 }],
    ['with two', { addresses: ['10.0.0.10-10.0.0.20'] }, ['10.0.0.10', '10.0.0.11'], { total: 11, used: 2, free: 9 }],
    [
      'with its gateway in the range',
      { addresses: ['10.0.0.10-10.0.0.20'], gateway: '10.0.0.10' },
      ['10.0.0.11'],
      { total: 10, used: 1, free: 9 },
    ],
    [
      'with its gateway outside of the range',
      { addresses: ['10.0.0.10-10.0.0.20'], gateway: '10.0.0.1' },
      ['10.0.0.11'],
      { total: 11, used: 1, free: 10 },
    ],
    [
      'that lists its network address',
      { addresses: ['10.0.0.0-10.0.0.1'], gateway: '10.0.0.2' },
      ['10.0.0.1'],
      { total: 1, used: 1, free: 0 },
    ],
    [
      'of the last address of an IPv6 subnet',
      { addresses: ['fe80::ff'], prefix: 120, gateway: 'fe80::a' },
      [],
      { total: 1, used: 0, free: 1 },
    ],
    [
      'with a holder out of range',
      { addresses: ['10.0.0.10'] },
      ['10.0.0.99'],
      { total: 1, used: 1, free: 1, outOfRange: 1 },
    ],
    ['of a link of two', { addresses: ['10.0.0.0/31'], prefix: 31 }, [], { total: 2, used: 0, free: 2 }],
    ['of one host', { addresses: ['10.0.0.7/32'], prefix: 32 }, [], { total: 1, used: 0, free: 1 }],
    ['of a link of two in IPv6', { addresses: ['fd00::/127'], prefix: 127 }, [], { total: 2, used: 0, free: 2 }],
    ['of one host in IPv6', { addresses: ['fd00::7/128'], prefix: 128 }, [], { total: 1, used: 0, free: 1 }],
    [
      'that is larger than any count',
      { addresses: ['fd00::/48'], prefix: 48 },
      [],
      { total: 2n ** 63n - 1n, used: 0, free: 2n ** 63n - 1n },
    ],
  ])('%s says how much of it is used', async (_, spec, addresses, counts) => {
    const desk = await aDesk()
    const pool = desk.put(inCluster(spec))
    for (const address of addresses) desk.put(aHold(pool, address))
    await desk.rest()
    expect(desk.read(pool)?.status?.ipAddresses).toEqual({ outOfRange: 0, ...counts })
    expect(conditionOf(desk.read(pool), 'Ready')).toMatchObject({ status: 'True' })
    expect(desk.read(pool)?.status?.observedGeneration).toBe(1)
  })

  test('of prefixes counts prefixes', async () => {
    const desk = await aDesk()
    const pool = desk.put({
      ...inCluster({ prefixes: ['fd00::/62'] }),
      kind: 'InClusterPrefixPool',
    })
    desk.put(aHold(pool, 'fd00::'))
    await desk.rest()
    expect(desk.read(pool)?.status?.ipAddresses).toEqual({ total: 4, used: 1, free: 3, outOfRange: 0 })
  })

  test('of prefixes counts one that was excluded under its holder as out of range', async () => {
    const desk = await aDesk()
    const pool = desk.put({ ...inCluster({ prefixes: ['fd00::/62'] }), kind: 'InClusterPrefixPool' })
    desk.put(aHold(pool, 'fd00:0:0:3::'))
    await desk.rest()
    desk.change(pool, { prefixes: ['fd00::/62'], excludedPrefixes: ['fd00:0:0:3::/64'], gateway: 'fd00::1' })
    await desk.rest()
    expect(desk.read(pool)?.status?.ipAddresses).toEqual({ total: 3, used: 1, free: 3, outOfRange: 1 })
  })

  test('that no longer gives out reserved addresses counts their holders as out of range', async () => {
    const desk = await aDesk()
    const addresses = ['10.0.0.0/24']
    const pool = desk.put(inCluster({ addresses, allocateReservedIPAddresses: true }))
    for (const last of [0, 1, 2, 3]) desk.put(aHold(pool, `10.0.0.${last}`))
    await desk.rest()
    expect(desk.read(pool)?.status?.ipAddresses).toEqual({ total: 256, used: 4, free: 252, outOfRange: 0 })
    desk.change(pool, { addresses, prefix: 24 })
    await desk.rest()
    expect(desk.read(pool)?.status?.ipAddresses).toEqual({ total: 254, used: 4, free: 251, outOfRange: 1 })
  })

  test('of ours also counts what rests, what is kept and what drains', async () => {
    const desk = await aDesk()
    const pool = desk.put(
      ours({
        addresses: ['10.0.0.10-10.0.0.19'],
        preAllocations: { web: '10.0.0.15' },
        draining: ['10.0.0.18-10.0.0.19'],
      }),
    )
    desk.put(aHold(pool, '10.0.0.10'))
    desk.put(aHold(pool, '10.0.0.11', 'quarantined'))
    const draining = desk.put(aHold(pool, '10.0.0.18'))
    await desk.rest()
    expect(desk.read(pool)?.status?.addresses).toEqual({
      total: 10,
      free: 5,
      held: 2,
      shown: 0,
      quarantined: 1,
      reserved: 1,
      draining: 1,
      outOfRange: 0,
    })
    expect(conditionOf(desk.read(pool), 'Drained')).toMatchObject({ status: 'False' })
    desk.remove(draining as Stored)
    await desk.rest()
    expect(conditionOf(desk.read(pool), 'Drained')).toMatchObject({ status: 'True' })
  })

  test('counts an IPAddress that a user made by hand, once, also when its hold comes', async () => {
    const desk = await aDesk()
    const pool = desk.put(inCluster({ addresses: ['10.0.0.10-10.0.0.20'] }))
    desk.put(anAddress(pool, 'web', '10.0.0.12'))
    await desk.rest()
    expect(desk.read(pool)?.status?.ipAddresses).toMatchObject({ used: 1, free: 10 })
    desk.put(aHold(pool, '10.0.0.12'))
    await desk.rest()
    expect(desk.read(pool)?.status?.ipAddresses).toMatchObject({ used: 1, free: 10 })
  })

  test('is counted while it is paused', async () => {
    const desk = await aDesk()
    const pool = desk.put(inCluster({ addresses: ['10.0.0.10'] }))
    desk.mark(pool, { annotations: { 'cluster.x-k8s.io/paused': '' } })
    desk.put(aHold(pool, '10.0.0.10'))
    await desk.rest()
    expect(desk.read(pool)?.status?.ipAddresses).toMatchObject({ used: 1, free: 0 })
    expect(conditionOf(desk.read(pool), 'Ready')).toMatchObject({ status: 'False', reason: 'PoolPaused' })
  })

  test('that cannot be read says why, keeps its counts and holds up no other pool', async () => {
    const desk = await aDesk()
    const bad = desk.put(inCluster({ addresses: ['10.0.0.10'] }, 'bad'))
    const good = desk.put(inCluster({ addresses: ['10.0.0.20'] }, 'good'))
    await desk.rest()
    desk.change(bad, { addresses: ['garbage'] })
    desk.put(aHold(good, '10.0.0.20'))
    await desk.rest()
    expect(conditionOf(desk.read(bad), 'Ready')).toMatchObject({
      status: 'False',
      reason: 'PoolMalformed',
      message: expect.stringContaining('garbage'),
    })
    expect(desk.read(bad)?.status?.ipAddresses).toMatchObject({ total: 1 })
    expect(desk.read(good)?.status?.ipAddresses).toMatchObject({ used: 1 })
    expect(desk.events.map(({ reason }) => reason)).toContain('PoolMalformed')
  })

  test('with an IPAddress that cannot be read is counted all the same', async () => {
    const desk = await aDesk()
    const pool = desk.put(inCluster({ addresses: ['10.0.0.10-10.0.0.20'] }))
    desk.put(anAddress(pool, 'odd', 'garbage'))
    desk.put(anAddress(pool, 'other-family', 'fd00::1'))
    desk.put(aHold(pool, '10.0.0.10'))
    await desk.rest()
    expect(desk.read(pool)?.status?.ipAddresses).toMatchObject({ total: 11, used: 1, free: 10 })
  })
})

describe('what is written', () => {
  test('is nothing at rest, also when the pool is marked again', async () => {
    const desk = await aDesk()
    const pool = desk.put(inCluster({ addresses: ['10.0.0.10-10.0.0.20'] }))
    const large = desk.put(inCluster({ addresses: ['fd00::/48'], prefix: 48 }, 'large'))
    desk.put(aHold(pool, '10.0.0.10'))
    await desk.rest()
    const before = desk.writes.length
    for (const object of [pool, large]) desk.capacity.mark(identityKey(orThrow(toPool(object)).identity))
    await desk.rest()
    expect(desk.writes.length).toBe(before)
  })

  test('is written a few times a second in a burst, and the end of it is written too', async () => {
    const desk = await aDesk()
    const pool = desk.put(inCluster({ addresses: ['10.0.0.0/16'], prefix: 16 }))
    await desk.rest()
    const before = desk.writes.length
    const burstMs = 2_000
    for (let i = 0; i < 400; i++) {
      desk.put(aHold(pool, `10.0.${1 + (i >> 7)}.${i & 127}`))
      await desk.clock.advance(burstMs / 400)
    }
    await desk.rest()
    expect(desk.read(pool)?.status?.ipAddresses).toMatchObject({ used: 400 })
    expect(desk.writes.length - before).toBeLessThanOrEqual(burstMs / statusPeriodMs + 2)
  })

  test('follows a change of the spec without waiting', async () => {
    const desk = await aDesk()
    const pool = desk.put(inCluster({ addresses: ['10.0.0.10'] }))
    await desk.clock.advance(1)
    desk.change(pool, { addresses: ['10.0.0.10-10.0.0.12'], prefix: 24 })
    await desk.clock.advance(1)
    expect(desk.read(pool)?.status).toMatchObject({ ipAddresses: { total: 3 }, observedGeneration: 2 })
  })

  test('is true again within seconds of a rush of other writers, however long that lasted', async () => {
    const desk = await aDesk()
    const pool = desk.put(inCluster({ addresses: ['10.0.0.10-10.0.0.20'] }))
    await desk.rest()
    desk.rush.isOn = true
    desk.put(aHold(pool, '10.0.0.10'))
    await desk.clock.advance(10 * 60_000)
    desk.rush.isOn = false
    await desk.clock.advance(2_500)
    expect(desk.read(pool)?.status).toMatchObject({ ipAddresses: { used: 1 } })
  })

  test('fails no pass when the pool is gone before its watch says so', async () => {
    const desk = await aDesk()
    const pool = desk.put(inCluster({ addresses: ['10.0.0.10-10.0.0.20'] }))
    await desk.rest()
    desk.vanished.add('default/vms')
    desk.put(aHold(pool, '10.0.0.10'))
    await desk.rest()
    expect(desk.metrics.text()).toContain('outcome="failed"} 0\n')
  })

  test('comes to rest where the installed definition knows no conditions', async () => {
    const desk = await aDesk({ prunes: true })
    const pool = desk.put(inCluster({ addresses: ['10.0.0.10-10.0.0.20'] }))
    await desk.rest()
    const before = desk.writes.length
    desk.capacity.mark(identityKey(orThrow(toPool(pool)).identity))
    await desk.rest()
    expect(desk.writes.length).toBe(before)
    desk.put(aHold(pool, '10.0.0.10'))
    await desk.rest()
    expect(desk.read(pool)?.status?.ipAddresses).toMatchObject({ used: 1 })
    expect(desk.writes.length).toBe(before + 1)
  })
})

describe('the finalizer', () => {
  test('is put on a new pool, beside those of others', async () => {
    const desk = await aDesk()
    const pool = desk.put({
      ...inCluster({ addresses: ['10.0.0.10'] }),
      metadata: { name: 'a', namespace: 'b', finalizers: ['x/y'] },
    })
    await desk.rest()
    expect(desk.read(pool)?.metadata.finalizers).toEqual(['x/y', finalizer])
  })

  test('keeps a pool until its last holder is gone', async () => {
    const desk = await aDesk()
    const pool = desk.put(inCluster({ addresses: ['10.0.0.10'] }))
    const hold = desk.put(aHold(pool, '10.0.0.10'))
    const report = desk.put(anAddress(pool, 'web', '10.0.0.10'))
    await desk.rest()
    desk.mark(pool, { deletionTimestamp: '2030-01-01T00:00:00Z' })
    await desk.rest()
    expect(conditionOf(desk.read(pool), 'Ready')).toMatchObject({ status: 'False', reason: 'PoolDeleting' })
    desk.remove(report)
    await desk.rest()
    expect(desk.read(pool)).toBeDefined()
    desk.put({ ...hold, ...aHold(pool, '10.0.0.10', 'quarantined') })
    await desk.rest()
    expect(desk.read(pool)).toBeUndefined()
  })

  test('keeps a pool that an unreadable IPAddress names, and one whose spec is unreadable', async () => {
    const desk = await aDesk()
    const pool = desk.put(inCluster({ addresses: ['10.0.0.10'] }))
    const report = desk.put(anAddress(pool, 'web', 'garbage'))
    await desk.rest()
    desk.change(pool, { addresses: ['garbage'] })
    desk.mark(pool, { deletionTimestamp: '2030-01-01T00:00:00Z' })
    await desk.rest()
    expect(desk.read(pool)).toBeDefined()
    desk.remove(report)
    await desk.rest()
    expect(desk.read(pool)).toBeUndefined()
  })

  test('lets a pool go at once of which no claim holds anything', async () => {
    const desk = await aDesk()
    const pool = desk.put(inCluster({ addresses: ['10.0.0.10'] }))
    await desk.rest()
    desk.mark(pool, { deletionTimestamp: '2030-01-01T00:00:00Z' })
    await desk.clock.advance(1)
    expect(desk.read(pool)).toBeUndefined()
  })

  test('keeps a pool while a kind that can show its addresses cannot be read', async () => {
    const desk = await aDesk()
    const pool = desk.put(inCluster({ addresses: ['10.0.0.10-10.0.0.20'] }))
    await desk.rest()
    desk.state.seesAll = false
    desk.mark(pool, { deletionTimestamp: '2030-01-01T00:00:00Z' })
    await desk.rest()
    expect(desk.read(pool)).toBeDefined()
  })

  test('is not put on a pool that is on its way out', async () => {
    const desk = await aDesk()
    const metadata = { name: 'a', namespace: 'b', finalizers: ['x/y'], deletionTimestamp: '2030-01-01T00:00:00Z' }
    const pool = desk.put({ ...inCluster({ addresses: ['10.0.0.10'] }), metadata })
    await desk.rest()
    expect(desk.read(pool)?.metadata.finalizers).toEqual(['x/y'])
  })
})

describe('a pool that names a space', () => {
  const addresses = { addresses: ['10.0.0.10'] }
  const lab = {
    ...ours({ ...addresses, space: 'blue', allowedNamespaces: {} }, 'lab'),
    kind: 'ClusterAddressPool',
    metadata: { name: 'lab', uid: 'lab', resourceVersion: '50' },
  }
  const forbidden = new ApiError('no list', { reason: 'Forbidden', code: 403 })
  const missing = new ApiError('no such kind', { reason: 'NotInstalled', code: 404 })
  const spaceOf = (object: Stored | undefined) => object?.status && Reflect.get(object.status, 'space')

  test('does not get one of its own while the cache has not heard yet of the pool of the cluster that has the name', async () => {
    const desk = await aDesk()
    desk.listed.set('ClusterAddressPool', [lab])
    desk.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } })
    const pool = desk.put(ours({ ...addresses, space: 'blue' }))
    await desk.rest()
    expect(spaceOf(desk.read(pool))).toBe('blue')
  })

  test.each(['ClusterAddressPool', 'NetworkAttachmentDefinition'])(
    'gets none while it cannot be read which %ss there are, and gets it when they can',
    async kind => {
      const desk = await aDesk()
      desk.listed.set(kind, forbidden)
      const pool = desk.put(ours({ ...addresses, space: 'blue' }))
      await desk.rest()
      expect(spaceOf(desk.read(pool))).toBeUndefined()
      expect(conditionOf(desk.read(pool), 'Ready')).toMatchObject({
        status: 'False',
        reason: 'SpaceUndecided',
        message: expect.stringContaining('cannot be read'),
      })
      desk.listed.set(kind, missing)
      await desk.rest()
      await desk.rest()
      expect(spaceOf(desk.read(pool))).toBe('default/blue')
      expect(conditionOf(desk.read(pool), 'Ready')).toMatchObject({ status: 'True' })
    },
  )

  test('has the server asked once, and one that has its space already not at all', async () => {
    const desk = await aDesk()
    const pool = desk.put(ours({ ...addresses, space: 'blue' }))
    desk.put({ ...ours({ ...addresses, space: 'red' }, 'red'), status: { space: 'default/red' } } as Stored)
    desk.put(inCluster(addresses))
    await desk.rest()
    expect(spaceOf(desk.read(pool))).toBe('default/blue')
    desk.put(aHold(desk.read(pool) as Stored, '10.0.0.10'))
    await desk.rest()
    expect(desk.lists).toEqual(['ClusterAddressPool', 'NetworkAttachmentDefinition'])
  })

  const udn = (spec: object, name = 'net'): KubeObject =>
    ({
      apiVersion: 'k8s.ovn.org/v1',
      kind: 'UserDefinedNetwork',
      metadata: { name, namespace: 'default', uid: name, resourceVersion: '50' },
      spec,
    }) as KubeObject
  const layer2 = { topology: 'Layer2', layer2: { role: 'Primary', subnets: ['10.0.0.0/24'] } }

  test.each<[string, readonly KubeObject[] | ApiError, string, RegExp | string]>([
    [
      'waits for the UserDefinedNetwork of its namespace',
      [udn(layer2)],
      'default_net',
      /is defined and cannot be used/,
    ],
    ['waits for one that is wrong, which may be corrected', [udn({ topology: 5 })], 'default_net', /is defined and/],
    ['waits for none of another name', [udn(layer2, 'other')], 'default_net', 'default/default_net'],
    ['waits for none of Layer3', [udn({ topology: 'Layer3', layer3: {} })], 'default_net', 'default/default_net'],
    ['waits for none where the kind is not installed', missing, 'default_net', 'default/default_net'],
    [
      'waits where they cannot be read',
      forbidden,
      'default_net',
      /userdefinednetworks.k8s.ovn.org cannot be read: no list/,
    ],
    ['does not ask for them where it names none of its namespace', forbidden, 'other_net', 'default/other_net'],
    ['does not ask for one that no object can be called', forbidden, 'default_..', 'default/default_..'],
  ])('%s', async (_, found, space, expected) => {
    const desk = await aDesk()
    desk.listed.set('UserDefinedNetwork', found)
    const pool = desk.put(ours({ ...addresses, space }))
    await desk.rest()
    if (typeof expected === 'string') return expect(spaceOf(desk.read(pool))).toBe(expected)
    expect(spaceOf(desk.read(pool))).toBeUndefined()
    const message = expect.stringMatching(expected)
    expect(conditionOf(desk.read(pool), 'Ready')).toMatchObject({ status: 'False', reason: 'SpaceUndecided', message })
    desk.listed.set('UserDefinedNetwork', [])
    await desk.rest()
    expect(spaceOf(desk.read(pool))).toBe(`default/${space}`)
  })

  test('has nothing listed while it waits for a UserDefinedNetwork, however long', async () => {
    const desk = await aDesk()
    desk.listed.set('UserDefinedNetwork', [udn(layer2)])
    desk.put(ours({ ...addresses, space: 'default_net' }))
    for (let i = 0; i < 5; i++) await desk.rest()
    expect(desk.lists).toEqual([])
  })

  test.each<[string, string, string]>([
    ['blue', 'default/blue', 'True'],
    ['cluster_udn_blue', '', 'False'],
  ])('asks for ClusterUserDefinedNetworks only where it may be one: %s', async (space, given, status) => {
    const desk = await aDesk()
    desk.listed.set('ClusterUserDefinedNetwork', forbidden)
    const pool = desk.put(ours({ ...addresses, space }))
    await desk.rest()
    expect(spaceOf(desk.read(pool)) ?? '').toBe(given)
    expect(conditionOf(desk.read(pool), 'Ready')).toMatchObject({ status })
  })

  test('joins that of a pool of the cluster of which the stream lost the event long ago', async () => {
    const desk = await aDesk()
    desk.caches.pools.get('ClusterAddressPool.mooring.dev')?.replace([], '60')
    desk.listed.set('ClusterAddressPool', [lab])
    desk.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } })
    const pool = desk.put(ours({ ...addresses, space: 'blue' }))
    await desk.rest()
    expect(spaceOf(desk.read(pool))).toBe('blue')
  })

  test('gets none while a pool of the cluster is listed that has the name, and of which the stream may have told that it is gone', async () => {
    const desk = await aDesk()
    desk.caches.pools.get('ClusterAddressPool.mooring.dev')?.replace([], '5000')
    desk.listed.set('ClusterAddressPool', [lab])
    const [pool, other] = [
      desk.put(ours({ ...addresses, space: 'blue' })),
      desk.put(ours({ ...addresses, space: 'red' }, 'red')),
    ]
    await desk.rest()
    expect([spaceOf(desk.read(pool)), spaceOf(desk.read(other))]).toEqual([undefined, 'default/red'])
    expect(conditionOf(desk.read(pool), 'Ready')?.message).toMatch(/is not in view yet/)
    desk.listed.set('ClusterAddressPool', [])
    await desk.rest()
    expect(spaceOf(desk.read(pool))).toBe('default/blue')
  })

  test('keeps no other pool from being counted while the server is asked', async () => {
    const desk = await aDesk()
    let answer = () => {}
    const answered = new Promise<void>(resolve => {
      answer = resolve
    })
    desk.state.beforeList = () => answered
    const asking = Array.from({ length: 20 }, (_, i) => desk.put(ours({ ...addresses, space: 'blue' }, `own-${i}`)))
    await desk.rest()
    const other = desk.put(inCluster(addresses, 'other'))
    await desk.rest()
    expect(conditionOf(desk.read(other), 'Ready')).toMatchObject({ status: 'True' })
    answer()
    await desk.rest()
    expect(new Set(asking.map(one => spaceOf(desk.read(one))))).toEqual(new Set(['default/blue']))
    expect(desk.lists).toEqual(['ClusterAddressPool', 'NetworkAttachmentDefinition'])
  })

  test.each(['held', 'quarantined'] as const)(
    'gets that of the namespace while addresses of it are %s',
    async state => {
      const desk = await aDesk()
      const before = { ...ours({ ...addresses, space: 'blue' }, 'gone'), status: { space: 'default/blue' } } as Stored
      desk.put(aHold(before, '10.0.0.10', state))
      desk.put(lab)
      desk.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'default' } })
      const pool = desk.put(ours({ ...addresses, space: 'blue' }))
      await desk.rest()
      expect(spaceOf(desk.read(pool))).toBe('default/blue')
    },
  )
})

describe('its owner', () => {
  test('gets one event when a pool is exhausted, and another when it is so again', async () => {
    const desk = await aDesk()
    const pool = desk.put(inCluster({ addresses: ['10.0.0.10'] }))
    const hold = desk.put(aHold(pool, '10.0.0.10'))
    await desk.rest()
    expect(desk.events).toMatchObject([
      { type: 'Warning', reason: 'NoAddressFree', about: { kind: 'InClusterIPPool', apiVersion: ipam } },
    ])
    desk.remove(hold)
    await desk.rest()
    expect(conditionOf(desk.read(pool), 'Exhausted')).toMatchObject({ status: 'False' })
    desk.put(aHold(pool, '10.0.0.10'))
    await desk.rest()
    expect(desk.events).toHaveLength(2)
  })

  test('of either pool gets an event when two list the same addresses, and when they no longer do', async () => {
    const desk = await aDesk()
    const one = desk.put(inCluster({ addresses: ['10.0.0.10-10.0.0.20'] }, 'one'))
    await desk.rest()
    const two = desk.put(inCluster({ addresses: ['10.0.0.20-10.0.0.30'] }, 'two'))
    await desk.rest()
    for (const pool of [one, two]) expect(conditionOf(desk.read(pool), 'Overlapping')).toMatchObject({ status: 'True' })
    expect(desk.events.map(({ about, reason }) => `${about.metadata.name} ${reason}`).toSorted()).toEqual([
      'one AddressesShared',
      'two AddressesShared',
    ])
    desk.change(two, { addresses: ['10.0.0.21-10.0.0.30'], prefix: 24 })
    await desk.rest()
    for (const pool of [one, two])
      expect(conditionOf(desk.read(pool), 'Overlapping')).toMatchObject({ status: 'False' })
  })
})

test('pools of one space count what another of them gave out', async () => {
  const desk = await aDesk()
  const one = desk.put(ours({ addresses: ['10.0.0.10-10.0.0.19'], space: 'blue' }, 'one'))
  const two = desk.put(ours({ addresses: ['10.0.0.10-10.0.0.19'], space: 'blue' }, 'two'))
  await desk.rest()
  desk.put(aHold(desk.read(one) ?? one, '10.0.0.10'))
  await desk.rest()
  for (const pool of [one, two]) expect(desk.read(pool)?.status).toMatchObject({ space: 'default/blue' })
  for (const pool of [one, two]) expect(desk.read(pool)?.status?.addresses).toMatchObject({ held: 1, free: 9 })
})

describe('the facts of webhooks', () => {
  test('are what is held, by holds and by hand', async () => {
    const desk = await aDesk()
    const pool = desk.put(inCluster({ addresses: ['10.0.0.10-10.0.0.20'] }))
    desk.put(aHold(pool, '10.0.0.10'))
    desk.put(aHold(pool, '10.0.0.11', 'quarantined'))
    desk.put(anAddress(pool, 'web', '10.0.0.12'))
    const { identity } = orThrow(toPool(pool))
    const { caches: views, ledger, sources } = desk
    const gateways = new Gateways(sources, ledger)
    const facts = poolFacts({ views, ledger, sources, gateways, hasSeenAll: () => true }, inClusterPoolKind)
    if (facts === undefined) throw new Error('not everything has been listed')
    expect([...facts.heldOf(identity)].map(({ ip }) => ip)).toEqual(
      ['10.0.0.10', '10.0.0.12'].map(text => orThrow(parseIP(text))),
    )
    expect(facts.isHeld(identity)).toBe(true)
    expect([...facts.pools()].map(({ identity }) => identity.name)).toEqual(['vms'])
  })

  test('are not there before everything has been listed', () => {
    const caches = createCaches()
    const [asked] = [...caches.pools.values()]
    const ledger = new Ledger()
    const sources = new Sources(caches, ledger)
    const hasSeenAll = () => caches.reports.hasSynced
    const gateways = new Gateways(sources, ledger)
    const facts = () =>
      poolFacts({ views: caches, ledger, sources, gateways, hasSeenAll }, pools[0] ?? inClusterPoolKind)
    for (const cache of [caches.holds, asked, caches.reports]) {
      expect(facts()).toBeUndefined()
      cache?.markSynced()
    }
    expect(facts()).toBeDefined()
    expect(capiFacts(caches)).toBeUndefined()
    caches.claims.markSynced()
    expect(capiFacts(caches)).toBeDefined()
  })
})

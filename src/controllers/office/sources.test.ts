import { describe, expect, test } from 'vitest'
import { orThrow } from '../../../test/harness/or-throw.ts'
import { holdName, parseHold, toHoldObject } from '../../api/hold.ts'
import { type Pool, poolKey } from '../../api/pool.ts'
import { spaceOfPool } from '../../api/space.ts'
import { toPool } from '../../api/to-pool.ts'
import { parseIP } from '../../ip/address.ts'
import { Ledger } from './ledger.ts'
import { type Labels, type SourceChange, Sources } from './sources.ts'
import { createViews } from './views.ts'

const ip = orThrow(parseIP('10.0.0.1'))

function aPool(kind: 'AddressPool' | 'ClusterAddressPool', spec: object = {}, metadata: object = {}) {
  const namespace = kind === 'AddressPool' ? 'lab' : undefined
  return {
    apiVersion: 'mooring.dev/v1alpha1',
    kind,
    metadata: {
      name: 'vms',
      ...(namespace && { namespace }),
      uid: 'u',
      resourceVersion: '2',
      generation: 1,
      ...metadata,
    },
    spec: { addresses: ['10.0.0.0/24'], prefix: 24, ...spec },
  }
}

function watched() {
  const views = createViews()
  const ledger = new Ledger()
  const sources = new Sources(views, ledger)
  const changes: SourceChange[] = []
  sources.subscribe(change => changes.push(change))
  const put = (object: ReturnType<typeof aPool>) => views.pools.get(`${object.kind}.mooring.dev`)?.put(object)
  return {
    views,
    ledger,
    sources,
    put,
    told: () => changes.splice(0).map(({ key, isChanged }) => `${key} ${isChanged}`),
  }
}

/** As a network is: two families, given by whatever reads networks. */
function aNetwork(apiGroup: string, kind: string, name: string) {
  const identity = { apiGroup, kind, namespace: '', name }
  const v4 = { ...orThrow(toPool(aPool('ClusterAddressPool'))), identity, space: name }
  const pools: readonly Pool[] = [
    { ...v4, isOneOfTwo: true },
    { ...v4, isOneOfTwo: true, family: 6, bits: 128 },
  ]
  return {
    identity,
    pools,
    isOfCluster: true,
    isNetwork: true,
    offersSpaceTo: (namespace: string) => namespace === 'red',
  }
}

describe('a source', () => {
  test('is a pool, from the moment it is seen until it is gone', () => {
    const { sources, put, told, views } = watched()
    put(aPool('ClusterAddressPool', { space: 'blue' }))
    expect(told()).toEqual(['ClusterAddressPool.mooring.dev/vms true'])
    expect([...sources.keysOf('blue')]).toEqual(['ClusterAddressPool.mooring.dev/vms'])
    views.pools.get('ClusterAddressPool.mooring.dev')?.clear()
    expect([...sources.keysOf('blue')]).toEqual([])
    expect(sources.poolOf('ClusterAddressPool.mooring.dev/vms')).toBeUndefined()
  })

  test('is not changed by what is counted in its status', () => {
    const { put, told } = watched()
    put(aPool('ClusterAddressPool'))
    told()
    put(aPool('ClusterAddressPool', {}, { resourceVersion: '3' }))
    expect(told()).toEqual(['ClusterAddressPool.mooring.dev/vms false'])
  })

  test('is a network, with one pool for each family', () => {
    const { sources, told } = watched()
    const network = aNetwork('k8s.ovn.org', 'ClusterUserDefinedNetwork', 'cluster_udn_blue')
    sources.put(network)
    expect(told()).toHaveLength(2)
    expect(sources.poolsOf(network.identity).map(({ family }) => family)).toEqual([4, 6])
    expect([...sources.keysOf('cluster_udn_blue')]).toEqual(network.pools.map(poolKey))
    sources.remove(network.identity)
    expect([...sources.keysOf('cluster_udn_blue')]).toEqual([])
  })
})

test('two groups that have a kind of one name are two sources, and two spaces', () => {
  const { sources } = watched()
  const [theirs, others] = [
    aNetwork('installer.openshift.io', 'IPPool', 'vms'),
    aNetwork('ippool.k8s.cni.cncf.io', 'IPPool', 'vms'),
  ]
  sources.put(theirs)
  sources.put(others)
  sources.remove(theirs.identity)
  expect(sources.poolsOf(theirs.identity)).toEqual([])
  expect(sources.poolsOf(others.identity)).toHaveLength(2)
  const names = [theirs, others].map(({ identity }) => holdName(spaceOfPool(identity), ip))
  expect(new Set(names).size).toBe(2)
})

describe('a pool of a namespace that asks for the space of a network', () => {
  const asking = aPool('AddressPool', { space: 'tenantred' })
  const network = aNetwork('k8s.ovn.org', 'ClusterUserDefinedNetwork', 'tenantred')

  test('is refused it, unless the network offers it to the namespace', () => {
    const { sources, put } = watched()
    sources.put(network)
    put(asking)
    expect(sources.spaceFor(orThrow(toPool(asking)))).toMatchObject({ refused: { reason: 'SpaceNotOffered' } })
    sources.put({ ...network, offersSpaceTo: namespace => namespace === 'lab' })
    expect(sources.spaceFor(orThrow(toPool(asking)))).toEqual({ space: 'tenantred' })
  })

  test('is not given the one of its namespace before that is in view: its labels may say that the network offers it', () => {
    const { sources, put, views } = watched()
    const own = aPool('AddressPool', { space: 'lab_net' })
    const offersSpaceTo = (_: string, labels: Labels | undefined) => labels !== undefined
    sources.put({ ...aNetwork('k8s.ovn.org', 'UserDefinedNetwork', 'lab_net'), offersSpaceTo })
    put(own)
    expect(sources.spaceFor(orThrow(toPool(own)))).toMatchObject({ refused: { reason: 'SpaceNotOffered' } })
    views.namespaces.put({ metadata: { name: 'lab', uid: 'n', resourceVersion: '4' } })
    expect(sources.spaceFor(orThrow(toPool(own)))).toEqual({ space: 'lab_net' })
  })

  test('is judged again when the network comes or goes, and when its namespace changes', () => {
    const { sources, put, told, views } = watched()
    put(asking)
    told()
    sources.put(network)
    expect(told()).toContain('AddressPool.mooring.dev/lab/vms true')
    views.namespaces.put({ metadata: { name: 'lab', uid: 'n', resourceVersion: '4' } })
    expect(told()).toEqual(['AddressPool.mooring.dev/lab/vms true'])
    sources.remove(network.identity)
    expect(told()).toContain('AddressPool.mooring.dev/lab/vms true')
  })
})

describe('an edit of one of many pools that joined a space', () => {
  const pools = 200
  const joined = (i: number, spec: object = {}, generation = 1) => ({
    ...aPool(
      'AddressPool',
      { space: 'blue', ...spec },
      { namespace: `t${i}`, generation, resourceVersion: `${generation}` },
    ),
    status: { space: 'blue' },
  })
  const shared = () => {
    const world = watched()
    world.put(aPool('ClusterAddressPool', { space: 'blue' }))
    for (let i = 0; i < pools; i++) world.put(joined(i))
    world.told()
    return world
  }

  test('of a tenant is judged for that pool alone', () => {
    const { put, told } = shared()
    put(joined(7, { gateway: '10.0.0.9' }, 2))
    expect(told()).toEqual(['AddressPool.mooring.dev/t7/vms true'])
  })

  test('of an administrator is judged for each of them once', () => {
    const { put, told } = shared()
    const allowedNamespaces = { matchLabels: { team: 'red' } }
    put(aPool('ClusterAddressPool', { space: 'blue', allowedNamespaces }, { generation: 2, resourceVersion: '9' }))
    expect(told()).toHaveLength(pools + 1)
  })
})

test('pools whose space is not decided have nothing in common', () => {
  const { sources, put } = watched()
  const spaces = ['AddressPool.mooring.dev/lab/a', 'AddressPool.mooring.dev/lab/b']
  for (const [i, space] of spaces.entries()) put(aPool('AddressPool', { space }, { name: `own-${i}` }))
  expect([...sources.keysOf('')]).toEqual([])
  expect(sources.isShared('AddressPool.mooring.dev/lab/own-0', 'AddressPool.mooring.dev/lab/own-1')).toBe(false)
})

test('a namespace that changes in something else than its labels has no pool judged again', () => {
  const { put, told, views } = watched()
  put(aPool('AddressPool', { space: 'blue' }))
  const lab = (resourceVersion: string, labels: Record<string, string>) =>
    views.namespaces.put({ metadata: { name: 'lab', uid: 'n', resourceVersion, labels } })
  lab('4', { team: 'red' })
  told()
  lab('5', { team: 'red' })
  expect(told()).toEqual([])
  lab('6', { team: 'blue' })
  expect(told()).toEqual(['AddressPool.mooring.dev/lab/vms true'])
})

describe('pools of one namespace that name one space', () => {
  const blue = aPool('ClusterAddressPool', { space: 'blue' }, { name: 'lab' })
  const asking = (name: string, given?: string) => ({
    ...aPool('AddressPool', { space: 'blue' }, { name }),
    ...(given && { status: { space: given } }),
  })
  const spaceFor = (sources: Sources, object: object) => sources.spaceFor(orThrow(toPool(object)))

  test('share that of the namespace, also if the cluster got one of the name between them', () => {
    const { sources, put } = watched()
    put(asking('one', 'lab/blue'))
    put(blue)
    expect(spaceFor(sources, asking('two'))).toEqual({ space: 'lab/blue' })
    expect(spaceFor(sources, { ...asking('two'), metadata: { name: 'two', namespace: 'other' } })).toEqual({
      space: 'blue',
    })
  })

  test('are none of them given that of the namespace while one is in that of the cluster, which is gone', () => {
    const { sources, put } = watched()
    put(asking('one', 'blue'))
    expect(spaceFor(sources, asking('two'))).toMatchObject({ refused: { message: expect.stringContaining('is gone') } })
  })

  test.each(['held', 'quarantined'])(
    'are none of them given that of the namespace where a former one of its name joined, and an address of it is %s',
    state => {
      const { sources, put, ledger } = watched()
      put(asking('one'))
      const pool = orThrow(toPool(asking('one'))).identity
      const claim = {
        apiGroup: 'ipam.cluster.x-k8s.io',
        kind: 'IPAddressClaim',
        namespace: 'lab',
        name: 'web',
        uid: 'c',
      }
      const since = '2030-01-01T10:00:00Z'
      const { status, ...hold } = toHoldObject({ space: 'blue', pool, claim, owner: undefined, ip, bits: 32 }, since)
      ledger.putHold(
        orThrow(parseHold({ ...hold, status: { ...status, state, since, until: '2031-01-01T10:00:00Z' } })),
      )
      expect(spaceFor(sources, asking('one'))).toMatchObject({ refused: { reason: 'SpaceNotOffered' } })
      put(blue)
      expect(spaceFor(sources, asking('one'))).toEqual({ space: 'blue' })
    },
  )

  test('are told, where two processes decided otherwise for each; and are judged again when one of them goes', () => {
    const { sources, put, told, views } = watched()
    put(blue)
    put(asking('one', 'lab/blue'))
    const [one, two] = [asking('one', 'lab/blue'), asking('two', 'blue')]
    put(two)
    expect(spaceFor(sources, one)).toEqual({ space: 'lab/blue' })
    expect(spaceFor(sources, two)).toMatchObject({ refused: { reason: 'SpaceNotOffered' } })
    told()
    views.pools.get('AddressPool.mooring.dev')?.remove(one)
    expect(told()).toContain('AddressPool.mooring.dev/lab/two true')
    expect(spaceFor(sources, two)).toEqual({ space: 'blue' })
  })
})

describe('a pool that names another pool as its space', () => {
  const other = 'AddressPool.mooring.dev/lab/other'
  const asking = aPool('AddressPool', { space: other })
  const ofCluster = aPool('ClusterAddressPool', { space: other }, { name: 'wide' })
  const spaceFor = (sources: Sources, object: object) => sources.spaceFor(orThrow(toPool(object)))

  test('is undecided until that is there, and judged again when it comes', () => {
    const { sources, put, told } = watched()
    put(asking)
    put(ofCluster)
    expect(spaceFor(sources, asking)).toMatchObject({ refused: { reason: 'SpaceUndecided' } })
    expect(spaceFor(sources, ofCluster)).toMatchObject({ refused: { reason: 'SpaceUndecided' } })
    told()
    put(aPool('AddressPool', {}, { name: 'other' }))
    expect(told().toSorted()).toEqual([
      'AddressPool.mooring.dev/lab/other true',
      'AddressPool.mooring.dev/lab/vms true',
      'ClusterAddressPool.mooring.dev/wide true',
    ])
    expect([spaceFor(sources, asking), spaceFor(sources, ofCluster)]).toEqual([{ space: other }, { space: other }])
  })

  test('is told the space that the other one is in, when that comes too', () => {
    const { sources, put, told } = watched()
    put(asking)
    told()
    put(aPool('AddressPool', { space: 'blue' }, { name: 'other' }))
    expect(told()).toContain('AddressPool.mooring.dev/lab/vms true')
    for (const object of [asking, ofCluster]) {
      expect(spaceFor(sources, object)).toMatchObject({
        refused: { message: expect.stringContaining('spec.space is blue') },
      })
    }
  })

  test('keeps the space that it has, whatever becomes of the other one', () => {
    const { sources, put } = watched()
    const joined = { ...ofCluster, status: { space: other } }
    expect(spaceFor(sources, joined)).toEqual({ space: other })
    put(aPool('AddressPool', { space: 'blue' }, { name: 'other' }))
    expect(spaceFor(sources, joined)).toEqual({ space: other })
  })

  test('may name itself', () => {
    const { sources } = watched()
    const own = aPool('ClusterAddressPool', { space: 'ClusterAddressPool.mooring.dev/vms' })
    expect(orThrow(toPool(own)).space).toBe('ClusterAddressPool.mooring.dev/vms')
    expect(spaceFor(sources, own)).toEqual({ space: 'ClusterAddressPool.mooring.dev/vms' })
  })
})

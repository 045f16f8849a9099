import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AttachmentParts, anAttachment, mooring, ovn, withoutOVN } from '../../../test/harness/attachments.ts'
import { metadataOf } from '../../api/object.ts'
import { shapeOf } from '../../api/shape.ts'
import { toIPText } from '../../ip/address.ts'
import type { KubeObject } from '../../kube/object.ts'
import { Ledger } from './ledger.ts'
import { defaultNetworkRules, Networks, type NetworksChange } from './networks.ts'
import { Sources } from './sources.ts'
import { createViews } from './views.ts'

const network = (name: string) => ({ apiGroup: 'k8s.cni.cncf.io', kind: 'Network', namespace: '', name })

function inView(rules: Partial<typeof defaultNetworkRules> = {}, presence = withoutOVN) {
  const views = createViews()
  const sources = new Sources(views, new Ledger())
  const networks = new Networks(views, sources, { ...defaultNetworkRules, ...rules }, presence)
  const changes: NetworksChange[] = []
  networks.subscribe(change => changes.push(change))
  let version = 1
  const next = (object: object): KubeObject => {
    const { metadata } = object as KubeObject
    return { ...object, metadata: { ...metadata, resourceVersion: `${++version}` } } as KubeObject
  }
  views.attachments.markSynced()
  for (const name of ['red', 'blue', 'green']) {
    views.namespaces.put(next({ metadata: { name, labels: { 'kubernetes.io/metadata.name': name, team: name } } }))
  }
  return {
    views,
    sources,
    networks,
    told: () => changes.splice(0),
    put: (key: string, config: object | string, parts?: AttachmentParts) =>
      views.attachments.put(next(anAttachment(key, config, parts))),
    remove: (key: string) => {
      const found = views.attachments.get(key)
      if (found !== undefined) views.attachments.remove(next(found))
    },
    pool: (name: string, spec: object, namespace?: string) => {
      const kind = namespace === undefined ? 'ClusterAddressPool' : 'AddressPool'
      const metadata = { name, ...(namespace && { namespace }), uid: name, generation: version }
      const object = { apiVersion: 'mooring.dev/v1alpha1', kind, metadata, spec }
      views.pools.get(`${kind}.mooring.dev`)?.put(next(object))
    },
    udn: (name: string, labels: Readonly<Record<string, string>>, network?: object) =>
      views.clusterUDNs.put(
        next({ metadata: { name, uid: name }, spec: { namespaceSelector: { matchLabels: labels }, network } }),
      ),
    ipPool: (name: string, day: number, entries: object | undefined, networkName = 'blue') => {
      const metadata = { name, uid: name, generation: version, creationTimestamp: `2026-01-0${day}T00:00:00Z` }
      const object = next({ metadata, spec: { 'network-name': networkName, entries } })
      if (entries === undefined) views.ipPools.remove(object)
      else views.ipPools.put(object)
    },
    kept: (name = 'blue') =>
      sources
        .poolsOf(network(name))
        .map(({ reservations }) => [...reservations].map(([key, ip]) => `${key} ${toIPText(ip)}`)),
    spaceOf: (namespace: string) => {
      const own = sources.poolOf(`AddressPool.mooring.dev/${namespace}/own`)
      return own && sources.spaceFor(own)
    },
    label: (name: string, labels: object) => views.namespaces.put(next({ metadata: { name, labels } })),
    /** The network of an attachment, or the reason and sentence of its refusal. */
    judged: (key: string) => {
      const one = networks.attachment(key)
      if (one === undefined) return undefined
      if ('network' in one) return one.network.name
      return 'refused' in one ? `${one.refused.reason}: ${one.refused.message}` : 'foreign'
    },
    claim: (namespace: string, name: string, attachment?: string) => {
      const found = networks.ofClaim({
        network: name,
        attachment,
        metadata: metadataOf(shapeOf({ namespace, name: 'c' }, '', [])),
      })
      if ('kind' in found) return found.reason
      const pools = networks.poolsFor(found, namespace)
      return 'kind' in pools ? pools.reason : pools.map(({ space, family }) => `${space} IPv${family}`).join()
    },
  }
}

const created = (day: number): AttachmentParts => ({ created: `2026-01-0${day}T00:00:00Z` })
const offered = (namespaces: string, day = 1): AttachmentParts => ({
  ...created(day),
  annotations: { 'mooring.dev/allowed-namespaces': namespaces },
})

describe('a pool that names the space of a network which is defined and not there yet', () => {
  const own = (world: ReturnType<typeof inView>, space: string, namespace = 'red') => {
    world.pool('own', { addresses: ['10.0.0.0/24'], prefix: 24, space }, namespace)
    return () => {
      const joining = world.spaceOf(namespace)
      return joining && ('refused' in joining ? joining.refused.reason : joining.space)
    }
  }

  test('waits for a ClusterUserDefinedNetwork that selects its namespace, and is refused one that does not', () => {
    const world = inView()
    world.udn('lab', { team: 'red' })
    const [red, blue] = [own(world, 'cluster_udn_lab'), own(world, 'cluster_udn_lab', 'blue')]
    expect([red(), blue()]).toEqual(['SpaceUndecided', 'SpaceNotOffered'])
    world.put('red/lab', ovn({ name: 'cluster_udn_lab' }))
    expect([red(), blue()]).toEqual(['cluster_udn_lab', 'SpaceNotOffered'])
  })

  test('is in the space of its namespace where the ClusterUserDefinedNetwork is of Layer3, which is in no space', () => {
    const world = inView()
    world.udn('lab', { team: 'red' }, { topology: 'Layer3' })
    expect(own(world, 'cluster_udn_lab')()).toBe('red/cluster_udn_lab')
  })

  test('is judged again when the ClusterUserDefinedNetwork goes', () => {
    const world = inView()
    world.udn('lab', { team: 'red' })
    const space = own(world, 'cluster_udn_lab')
    const judged: string[] = []
    world.sources.subscribe(({ key }) => judged.push(key))
    world.views.clusterUDNs.clear()
    expect(judged).toEqual(['AddressPool.mooring.dev/red/own'])
    expect(space()).toBe('red/cluster_udn_lab')
  })

  test('waits for an attachment of its namespace to be corrected, and for none of another', () => {
    const world = inView()
    world.put('red/net', ovn({ subnets: 'oops' }))
    const [red, green] = [own(world, 'blue'), own(world, 'blue', 'green')]
    expect([red(), green()]).toEqual(['SpaceUndecided', 'green/blue'])
    world.put('red/net', ovn())
    expect(red()).toBe('blue')
  })

  test('does not wait for one with addresses of Mooring: that is in a space of its own, whatever it is called', () => {
    const world = inView()
    world.put('red/net', mooring({ ranges: ['10.2.0.0/24'] }, { name: 'blue' }))
    expect(own(world, 'blue')()).toBe('red/blue')
  })

  test.each(['before', 'after'])('joins a network without addresses that it takes part in; that comes %s it', order => {
    const world = inView()
    const put = () => world.put('red/net', ovn({ subnets: '' }))
    if (order === 'before') put()
    const [red, green] = [own(world, 'blue'), own(world, 'blue', 'green')]
    const judged: string[] = []
    world.sources.subscribe(({ key }) => judged.push(key))
    if (order === 'after') put()
    expect([red(), green()]).toEqual(['blue', 'SpaceNotOffered'])
    if (order === 'after') expect(judged).toEqual(expect.arrayContaining(['AddressPool.mooring.dev/green/own']))
    judged.splice(0)
    world.remove('red/net')
    expect([red(), green()]).toEqual(['red/blue', 'green/blue'])
    expect(judged).toEqual(expect.arrayContaining(['AddressPool.mooring.dev/green/own']))
  })

  test('is kept out of its own name by no network of another namespace', () => {
    const world = inView()
    world.put('green/net', ovn({ name: 'red_net', subnets: '' }))
    expect(own(world, 'red_net')()).toBe('red/red_net')
  })
})

describe('the IPPool of a network', () => {
  const mac = '02:00:5e:10:00:01'

  test.each(['the network', 'the IPPool'])(
    'keeps its entries in the pool of each family, whichever comes first: %s',
    first => {
      const { put, ipPool, kept } = inView()
      const [makeNetwork, makePool] = [
        () => put('red/a', ovn({ subnets: '10.0.0.0/24,fd00::/64' })),
        () => ipPool('one', 1, { [mac]: ['10.0.0.5/24', 'fd00::5/64'] }),
      ]
      for (const make of first === 'the network' ? [makeNetwork, makePool] : [makePool, makeNetwork]) make()
      expect(kept()).toEqual([[`${mac} 10.0.0.5`], [`${mac} fd00::5`]])
    },
  )

  test('is followed, and wakes the claims of the network', () => {
    const { put, ipPool, kept, told } = inView()
    put('red/a', ovn())
    told()
    ipPool('one', 1, { [mac]: ['10.0.0.5/24'] })
    expect(told()).toEqual([{ attachments: ['red/a'], names: ['blue'] }])
    ipPool('one', 1, { [mac]: ['10.0.0.6/24'] })
    expect(kept()).toEqual([[`${mac} 10.0.0.6`]])
    ipPool('one', 1, { [mac]: ['10.0.0.6/24'] }, 'green')
    expect(kept()).toEqual([[]])
    ipPool('one', 1, { [mac]: ['10.0.0.6/24'] })
    ipPool('one', 1, undefined)
    expect(kept()).toEqual([[]])
    expect(told()).toHaveLength(4)
  })

  test('is the oldest one, and the next one when that is gone', () => {
    const { put, ipPool, kept } = inView()
    put('red/a', ovn())
    ipPool('young', 2, { [mac]: ['10.0.0.6/24'] })
    ipPool('old', 1, { [mac]: ['10.0.0.5/24'] })
    expect(kept()).toEqual([[`${mac} 10.0.0.5`]])
    ipPool('old', 1, undefined)
    expect(kept()).toEqual([[`${mac} 10.0.0.6`]])
  })

  test('keeps nothing of the ranges of another CNI, which any namespace may give any name', () => {
    const { put, ipPool, sources } = inView()
    put('red/a', mooring({ ranges: ['10.0.0.0/24'] }, { name: 'blue' }))
    ipPool('one', 1, { [mac]: ['10.0.0.5/24'] })
    expect([...sources.all()].map(({ reservations }) => reservations.size)).toEqual([0])
  })
})

describe('a network of OVN-Kubernetes', () => {
  test('is one source, from its first attachment to its last', () => {
    const { put, remove, sources, judged } = inView()
    put('red/a', ovn({ subnets: '10.0.0.0/24,fd00::/64' }), created(1))
    put('red/b', ovn({ subnets: '10.0.0.0/24,fd00::/64' }), created(2))
    expect([...sources.keysOf('blue')]).toEqual([
      'Network.k8s.cni.cncf.io/blue IPv4',
      'Network.k8s.cni.cncf.io/blue IPv6',
    ])
    expect([judged('red/a'), judged('red/b')]).toEqual(['blue', 'blue'])
    remove('red/a')
    expect(sources.poolsOf(network('blue'))).toHaveLength(2)
    remove('red/b')
    expect(sources.poolsOf(network('blue'))).toEqual([])
    expect(judged('red/b')).toBeUndefined()
  })

  test('is not put again for one more attachment, nor for what others write on one', () => {
    const { put, sources } = inView()
    put('red/a', ovn(), created(1))
    const [pool] = sources.poolsOf(network('blue'))
    put('red/b', ovn(), created(2))
    put('red/a', ovn(), { ...created(1), annotations: { 'k8s.ovn.org/network-name': 'blue' } })
    expect(sources.poolsOf(network('blue'))[0]).toBe(pool)
  })

  test('is what its oldest attachment says, in whichever order they come', () => {
    for (const order of [['red/old', 'red/young'] as const, ['red/young', 'red/old'] as const]) {
      const { put, judged, sources } = inView()
      for (const key of order) {
        const isOld = key === 'red/old'
        put(key, ovn({ subnets: isOld ? '10.0.0.0/24' : '10.0.1.0/24' }), created(isOld ? 1 : 2))
      }
      expect(judged('red/old')).toBe('blue')
      expect(judged('red/young')).toMatch(
        /^NetworkDiffers: network blue exists already and says something else in subnets:/,
      )
      expect(sources.poolsOf(network('blue'))).toHaveLength(1)
    }
  })

  test('becomes what the next one says when the oldest goes', () => {
    const { put, remove, judged } = inView()
    put('red/old', ovn(), created(1))
    put('red/young', ovn({ subnets: '10.0.1.0/24' }), created(2))
    remove('red/old')
    expect(judged('red/young')).toBe('blue')
  })

  test('moves with the name in the config, and ends when it becomes malformed', () => {
    const { put, judged, sources, told } = inView()
    put('red/a', ovn())
    put('red/a', ovn({ name: 'lab' }))
    expect([sources.poolsOf(network('blue')).length, sources.poolsOf(network('lab')).length]).toEqual([0, 1])
    expect(told().at(-1)).toEqual({ attachments: ['red/a'], names: ['blue', 'lab'] })
    put('red/a', ovn({ name: 'lab', subnets: 'x' }))
    expect(judged('red/a')).toMatch(/^NetworkMalformed: NetworkAttachmentDefinition red\/a cannot be used until/)
    expect(sources.poolsOf(network('lab'))).toEqual([])
  })

  test('of a thousand attachments tells about one when one comes, and about all when the first goes', () => {
    const { put, remove, told } = inView()
    for (let i = 1_000; i < 2_000; i++) put(`red/a${i}`, ovn())
    told()
    put('red/b', ovn())
    expect(told()).toEqual([{ attachments: ['red/b'], names: ['blue'] }])
    remove('red/a1000')
    expect(told()[0]?.attachments).toHaveLength(1_001)
  })
})

describe('another namespace', () => {
  test('is in no network by its name alone', () => {
    const { put, judged, claim } = inView()
    put('red/a', ovn(), created(1))
    put('blue/a', ovn(), created(2))
    expect(judged('blue/a')).toMatch(
      /^NetworkNotOffered: network blue is not offered to namespace blue: the annotation/,
    )
    expect([claim('red', 'blue'), claim('blue', 'blue'), claim('green', 'blue')]).toEqual([
      'blue IPv4',
      'NetworkNotOffered',
      'NetworkNotOffered',
    ])
  })

  test('learns nothing of what the network is', () => {
    const { put, judged } = inView()
    put('red/a', ovn(), created(1))
    put('blue/a', ovn({ subnets: '10.9.0.0/24' }), created(2))
    expect(judged('blue/a')).toMatch(/^NetworkNotOffered/)
  })

  test('is in it if the oldest attachment says so, and no longer when it ceases to', () => {
    const { put, judged, claim } = inView()
    put('red/a', ovn(), offered('blue'))
    put('blue/a', ovn(), created(2))
    expect([judged('blue/a'), claim('blue', 'blue'), claim('green', 'blue')]).toEqual([
      'blue',
      'blue IPv4',
      'NetworkNotOffered',
    ])
    put('red/a', ovn(), created(1))
    expect(claim('blue', 'blue')).toBe('NetworkNotOffered')
    put('red/a', ovn(), offered('*'))
    expect(claim('green', 'blue')).toBe('blue IPv4')
  })

  test('cannot let itself in', () => {
    const { put, judged } = inView()
    put('red/a', ovn(), created(1))
    put('blue/a', ovn(), offered('*', 2))
    expect(judged('blue/a')).toMatch(/^NetworkNotOffered/)
  })

  test('is in every network where they are open, if it says the same', () => {
    const { put, judged, claim } = inView({ openNetworks: true })
    put('red/a', ovn(), created(1))
    put('blue/a', ovn(), created(2))
    put('green/a', ovn({ subnets: '10.9.0.0/24' }), created(3))
    expect([judged('blue/a'), claim('blue', 'blue')]).toEqual(['blue', 'blue IPv4'])
    expect(judged('green/a')).toMatch(/^NetworkDiffers/)
  })
})

describe('a space of an administrator', () => {
  const addresses = { addresses: ['10.0.0.0/24'], prefix: 24, space: 'blue' }
  const forRed = { ...addresses, allowedNamespaces: { matchLabels: { team: 'red' } } }

  test('is joined by no network of a namespace that it is not offered to', () => {
    const { put, pool, judged, sources } = inView()
    pool('lab', forRed)
    put('blue/a', ovn(), created(1))
    expect(judged('blue/a')).toMatch(/^SpaceNotOffered: network blue would take addresses of the space of that name/)
    expect([...sources.keysOf('blue')]).toEqual(['ClusterAddressPool.mooring.dev/lab'])
    // The one that it is offered to is the first then, though it is younger.
    put('red/a', ovn(), created(2))
    expect(judged('red/a')).toBe('blue')
  })

  test('closes a network that was there before, for what is not offered; and opens it again when it goes', () => {
    const { put, pool, judged, sources, views, claim, told } = inView()
    put('blue/a', ovn())
    expect(judged('blue/a')).toBe('blue')
    told()
    pool('lab', forRed)
    expect(told()).toEqual([{ attachments: ['blue/a'], names: ['blue'] }])
    expect(claim('blue', 'blue')).toBe('SpaceNotOffered')
    expect([...sources.keysOf('blue')]).toEqual(['ClusterAddressPool.mooring.dev/lab'])
    views.pools.get('ClusterAddressPool.mooring.dev')?.clear()
    expect(claim('blue', 'blue')).toBe('blue IPv4')
  })

  test('opens and closes with the labels of the namespace', () => {
    const { put, pool, judged, label } = inView()
    pool('lab', forRed)
    put('blue/a', ovn())
    label('blue', { team: 'red' })
    expect(judged('blue/a')).toBe('blue')
    label('blue', {})
    expect(judged('blue/a')).toMatch(/^SpaceNotOffered/)
  })

  test('is given by a network to no namespace that the administrator does not offer it to', () => {
    const { put, pool, claim } = inView()
    pool('lab', forRed)
    put('red/a', ovn(), offered('*'))
    expect([claim('red', 'blue'), claim('green', 'blue')]).toEqual(['blue IPv4', 'SpaceNotOffered'])
  })

  test('is not closed to pools by a network that joined it', () => {
    const { put, pool, sources, views } = inView()
    pool('lab', addresses)
    put('red/a', ovn())
    pool('own', { addresses: ['10.0.0.0/24'], prefix: 24, space: 'blue' }, 'green')
    expect(views.pools.get('AddressPool.mooring.dev')?.get('green/own')).toBeDefined()
    const own = sources.poolOf('AddressPool.mooring.dev/green/own')
    expect(own && sources.spaceFor(own)).toEqual({ space: 'blue' })
  })

  test('of a network alone is joined by pools of the namespaces that take part in the network, and catches no other', () => {
    const { put, remove, pool, spaceOf } = inView()
    put('red/a', ovn(), offered('*'))
    for (const namespace of ['red', 'green', 'blue']) pool('own', { ...addresses }, namespace)
    put('green/a', ovn(), created(2))
    expect([spaceOf('red'), spaceOf('green')]).toEqual([{ space: 'blue' }, { space: 'blue' }])
    expect(spaceOf('blue')).toMatchObject({
      refused: {
        reason: 'SpaceNotOffered',
        message: expect.stringContaining('create a NetworkAttachmentDefinition of the network there'),
      },
    })
    remove('green/a')
    expect(spaceOf('green')).toMatchObject({ refused: { reason: 'SpaceNotOffered' } })
  })

  test('of a network is joined by no namespace with an attachment of its own that the network refuses', () => {
    const { put, pool, spaceOf } = inView()
    put('red/a', ovn(), offered('green'))
    put('green/a', ovn({ subnets: '10.9.0.0/24' }), created(2))
    put('blue/a', ovn(), offered('*', 2))
    for (const namespace of ['green', 'blue']) {
      pool('own', { ...addresses }, namespace)
      expect(spaceOf(namespace)).toMatchObject({ refused: { reason: 'SpaceNotOffered' } })
    }
  })

  test('of a network is not in the way of a pool whose namespace the name begins with, and that has no part in it', () => {
    const { put, udn, pool, spaceOf } = inView()
    put('red/a', ovn({ name: 'green_net' }), offered('*'))
    pool('own', { ...addresses, space: 'green_net' }, 'green')
    expect(spaceOf('green')).toEqual({ space: 'green/green_net', isUnseen: true })
    pool('own', { ...addresses, space: 'green_net' }, 'blue')
    expect(spaceOf('blue')).toMatchObject({ refused: { reason: 'SpaceNotOffered' } })
    put('green/net', ovn({ name: 'green_net' }), created(2))
    expect(spaceOf('green')).toEqual({ space: 'green_net' })
    udn('lab', { team: 'red' })
    put('red/lab', ovn({ name: 'cluster_udn_lab' }))
    pool('own', { ...addresses, space: 'cluster_udn_lab' }, 'cluster')
    expect(spaceOf('cluster')).toMatchObject({ refused: { reason: 'SpaceNotOffered' } })
  })

  test('of a network with an attachment in the namespace of a pool, or none any more, is judged again for that pool', () => {
    const { put, remove, pool, sources } = inView()
    put('red/a', ovn(), offered('*'))
    pool('own', { ...addresses }, 'green')
    const judged: string[] = []
    sources.subscribe(({ key, isChanged }) => isChanged && judged.push(key))
    put('green/a', ovn(), created(2))
    remove('green/a')
    expect(judged).toEqual(['AddressPool.mooring.dev/green/own', 'AddressPool.mooring.dev/green/own'])
  })

  test('of a network is judged again when an administrator defines it', () => {
    const { put, udn, pool, sources, spaceOf } = inView({ openNetworks: true })
    put('red/lab', ovn({ name: 'cluster_udn_lab' }))
    pool('own', { ...addresses, space: 'cluster_udn_lab' }, 'green')
    expect(spaceOf('green')).toMatchObject({ refused: { reason: 'SpaceNotOffered' } })
    const judged: string[] = []
    sources.subscribe(({ key, isChanged }) => isChanged && judged.push(key))
    udn('lab', { team: 'red' })
    expect(judged).toContain('AddressPool.mooring.dev/green/own')
    expect(spaceOf('green')).toEqual({ space: 'cluster_udn_lab' })
  })

  test('of the network of a ClusterUserDefinedNetwork is joined by pools of all namespaces that it selects', () => {
    const { put, udn, pool, spaceOf } = inView()
    udn('lab', { team: 'red' })
    put('red/lab', ovn({ name: 'cluster_udn_lab' }))
    for (const namespace of ['red', 'green']) pool('own', { ...addresses, space: 'cluster_udn_lab' }, namespace)
    expect(spaceOf('red')).toEqual({ space: 'cluster_udn_lab' })
    expect(spaceOf('green')).toMatchObject({ refused: { reason: 'SpaceNotOffered' } })
  })
})

describe('the network of a ClusterUserDefinedNetwork', () => {
  const config = ovn({ name: 'cluster_udn_lab' })

  test('is for the namespaces that it selects, whichever attachment is the oldest', () => {
    const { put, udn, judged, claim } = inView()
    put('blue/evil', ovn({ name: 'cluster_udn_lab', subnets: '10.9.0.0/24' }), offered('*'))
    expect(judged('blue/evil')).toBe('cluster_udn_lab')
    udn('lab', { team: 'red' })
    put('red/lab', config, created(2))
    expect(judged('red/lab')).toBe('cluster_udn_lab')
    expect(judged('blue/evil')).toMatch(
      /^NetworkNotOffered: .* its ClusterUserDefinedNetwork decides by spec\.namespaceSelector/,
    )
    expect([claim('red', 'cluster_udn_lab'), claim('blue', 'cluster_udn_lab')]).toEqual([
      'cluster_udn_lab IPv4',
      'NetworkNotOffered',
    ])
  })

  test('follows the labels of namespaces', () => {
    const { put, udn, judged, label } = inView()
    udn('lab', { team: 'red' })
    put('red/lab', config)
    put('green/lab', config)
    expect(judged('green/lab')).toMatch(/^NetworkNotOffered/)
    label('green', { team: 'red' })
    expect(judged('green/lab')).toBe('cluster_udn_lab')
    label('red', {})
    expect(judged('red/lab')).toMatch(/^NetworkNotOffered/)
  })

  test('is for none while its selector cannot be read', () => {
    const { put, views, judged } = inView()
    views.clusterUDNs.put({ metadata: { name: 'lab', uid: 'u', resourceVersion: '9' } })
    put('red/lab', config)
    expect(judged('red/lab')).toMatch(/^NetworkNotOffered/)
  })
})

describe('a network with ipam of Mooring', () => {
  test('is a source of its own, for its namespace and those that it names', () => {
    const { put, remove, sources, claim } = inView()
    put('red/vms', mooring(), offered('blue'))
    const space = 'NetworkAttachmentDefinition.k8s.cni.cncf.io/red/vms'
    expect([...sources.keysOf(space)]).toEqual([space])
    expect(claim('red', 'vms')).toBe(`${space} IPv4`)
    expect(claim('blue', 'vms', 'red/vms')).toBe(`${space} IPv4`)
    expect(claim('green', 'vms', 'red/vms')).toBe('NetworkNotFound')
    remove('red/vms')
    expect([...sources.keysOf(space)]).toEqual([])
    expect(claim('red', 'vms')).toBe('NetworkNotFound')
  })

  test('of one name in two namespaces is two networks', () => {
    const { put, claim } = inView()
    for (const namespace of ['red', 'blue'])
      put(`${namespace}/vms`, mooring({ ranges: ['10.0.0.0/24'] }, { name: 'lab' }))
    expect(claim('red', 'lab')).toBe('NetworkAttachmentDefinition.k8s.cni.cncf.io/red/vms IPv4')
    expect(claim('blue', 'lab')).toBe('NetworkAttachmentDefinition.k8s.cni.cncf.io/blue/vms IPv4')
  })

  test('takes its addresses from the pool that it names, as that is when it is asked', () => {
    const { put, pool, claim } = inView()
    put('red/vms', mooring({ pool: { kind: 'AddressPool', name: 'lab' } }))
    expect(claim('red', 'vms')).toBe('PoolNotFound')
    pool('lab', { addresses: ['10.0.0.0/24'], prefix: 24 }, 'red')
    expect(claim('red', 'vms')).toBe('AddressPool.mooring.dev/red/lab IPv4')
    pool('lab', { addresses: ['nonsense'], prefix: 24 }, 'red')
    expect(claim('red', 'vms')).toBe('PoolMalformed')
  })

  test('with a pool of its namespace serves no claim of another', () => {
    const { put, pool, claim } = inView()
    pool('lab', { addresses: ['10.0.0.0/24'], prefix: 24 }, 'red')
    put('red/vms', mooring({ pool: { kind: 'AddressPool', name: 'lab' } }), offered('*'))
    expect(claim('blue', 'vms', 'red/vms')).toBe('NetworkNotFound')
  })

  test('leaves the sources when it names a pool instead', () => {
    const { put, sources } = inView()
    put('red/vms', mooring())
    put('red/vms', mooring({ pool: { kind: 'AddressPool', name: 'lab' } }))
    expect([...sources.keysOf('NetworkAttachmentDefinition.k8s.cni.cncf.io/red/vms')]).toEqual([])
  })
})

describe('a claim', () => {
  test('is for the attachment that it names, if that is of the network that it names', () => {
    const { put, claim } = inView()
    put('red/a', ovn())
    put('red/b', mooring({ ranges: ['10.1.0.0/24'] }, { name: 'blue' }))
    expect(claim('red', 'blue', 'red/b')).toBe('NetworkAttachmentDefinition.k8s.cni.cncf.io/red/b IPv4')
    expect(claim('red', 'blue', 'red/a')).toBe('blue IPv4')
    expect(claim('red', 'other', 'red/a')).toBe('NetworkNotFound')
    expect(claim('red', 'blue', 'red/none')).toBe('NetworkNotFound')
    expect(claim('red', 'blue', '__proto__')).toBe('NetworkNotFound')
  })

  test('is told why its own attachment cannot be used', () => {
    const { put, claim } = inView()
    put('red/a', ovn({ subnets: 'x' }))
    expect([claim('red', 'blue'), claim('red', 'blue', 'red/a')]).toEqual(['NetworkMalformed', 'NetworkMalformed'])
  })

  test('of another namespace is not told whether an attachment exists', () => {
    const { put, networks } = inView()
    put('red/a', ovn({ subnets: 'x' }))
    put('red/b', ovn())
    put('red/c', { type: 'bridge' })
    const metadata = metadataOf(shapeOf({ namespace: 'blue', name: 'c' }, '', []))
    const told = ['red/a', 'red/b', 'red/c', 'red/d'].map(attachment => {
      const found = networks.ofClaim({ network: 'blue', attachment, metadata })
      return 'kind' in found ? found.message.replace(attachment, 'KEY') : 'found'
    })
    expect(new Set(told)).toEqual(new Set([expect.stringMatching(/^"KEY" is no NetworkAttachmentDefinition with/)]))
  })
})

describe('the addresses of a network of OVN-Kubernetes', () => {
  const served = { annotations: { 'k8s.ovn.org/network-id': '7' } }

  test.each([
    ['auto', {}, false],
    ['auto', served, true],
    ['allocate', served, false],
    ['observe', {}, true],
  ] as const)('with %s and %j: observed is %s', (vmIPAM, parts, isObserved) => {
    const { put, networks } = inView({ vmIPAM })
    put('red/a', ovn(), parts)
    const one = networks.attachment('red/a')
    expect(one && 'network' in one && networks.isObserved(one.network)).toBe(isObserved)
  })

  test.each([
    ['auto', true],
    ['allocate', false],
    ['observe', true],
  ] as const)(
    'with %s, where OVN-Kubernetes is installed: observed before it numbers any is %s',
    (vmIPAM, isObserved) => {
      const { put, networks } = inView({ vmIPAM }, { ...withoutOVN, isThere: true })
      put('red/a', ovn())
      put('red/own', mooring())
      for (const [key, expected] of [
        ['red/a', isObserved],
        ['red/own', false],
      ] as const) {
        const one = networks.attachment(key)
        expect(one && 'network' in one && networks.isObserved(one.network)).toBe(expected)
      }
      put('green/a', ovn(), created(2))
      const metadata = metadataOf(shapeOf({ namespace: 'green', name: 'c' }, '', []))
      const claim = { network: 'blue', attachment: undefined, metadata }
      expect(networks.ofClaim(claim)).toMatchObject({ reason: 'NetworkNotOffered' })
      expect(networks.isObservedThough(claim)).toBe(isObserved)
    },
  )

  test('are looked at again when OVN-Kubernetes is found', () => {
    const found: (() => void)[] = []
    const presence = { isThere: false, onFound: (tell: () => void) => found.push(tell) }
    const { put, told } = inView({}, presence)
    put('red/a', ovn())
    told()
    for (const tell of found) tell()
    expect(told()).toEqual([{ attachments: ['red/a'], names: ['blue'] }])
  })

  test('are observed from the moment that OVN-Kubernetes numbers it; and never where they come from ipam', () => {
    const { put, networks } = inView()
    const isObserved = () => {
      const one = networks.attachment('red/a')
      return one && 'network' in one && networks.isObserved(one.network)
    }
    put('red/a', ovn())
    expect(isObserved()).toBe(false)
    put('red/a', ovn(), served)
    expect(isObserved()).toBe(true)
    put('red/a', mooring(), served)
    expect(isObserved()).toBe(false)
  })
})

describe('a claim of a namespace whose attachment is refused', () => {
  const served = { annotations: { 'k8s.ovn.org/network-id': '7' } }
  const claim = {
    network: 'blue',
    attachment: undefined,
    metadata: metadataOf(shapeOf({ namespace: 'green', name: 'c' }, '', [])),
  }

  test.each([
    ['auto', {}, {}, false],
    ['auto', served, {}, true],
    // A number that a user wrote: that of the network counts.
    ['auto', {}, served, false],
    ['allocate', served, served, false],
    ['observe', {}, {}, true],
  ] as const)('with %s, %j on the network and %j on its own: observed is %s', (vmIPAM, first, own, isObserved) => {
    const { put, networks } = inView({ vmIPAM })
    put('red/a', ovn(), { ...created(1), ...first })
    put('green/a', ovn(), { ...created(2), ...own })
    expect(networks.ofClaim(claim)).toMatchObject({ reason: 'NetworkNotOffered' })
    expect(networks.isObservedThough(claim)).toBe(isObserved)
  })

  test.each([
    ['auto', {}, false],
    ['auto', served, true],
    ['allocate', served, false],
  ] as const)('that cannot be read, with %s and %j: observed is %s', (vmIPAM, own, isObserved) => {
    const { put, networks } = inView({ vmIPAM })
    put('green/a', ovn({ subnets: 'none' }), own)
    expect(networks.ofClaim(claim)).toMatchObject({ reason: 'NetworkMalformed' })
    expect(networks.isObservedThough(claim)).toBe(isObserved)
    expect(networks.isObservedThough({ ...claim, attachment: 'red/a' })).toBe(false)
  })
})

describe('whatever comes, changes and goes, in whichever order', () => {
  const keys = ['red/a', 'red/b', 'blue/a', 'blue/b', 'green/a', 'green/cluster-net']
  const configs = [
    ovn(),
    ovn({ subnets: '10.0.1.0/24' }),
    ovn({ subnets: '' }),
    ovn({ subnets: 'x' }),
    ovn({ name: 'red_a' }),
    ovn({ name: 'cluster_udn_lab' }),
    mooring({ ranges: ['10.2.0.0/24'] }, { name: 'blue' }),
    mooring({ pool: { kind: 'AddressPool', name: 'lab' } }, { name: 'blue' }),
    { type: 'bridge' },
  ]
  const namespaces = ['red', 'blue', 'green']
  const step = fc.oneof(
    fc.record({
      do: fc.constant('put' as const),
      key: fc.constantFrom(...keys),
      config: fc.nat(configs.length - 1),
      day: fc.integer({ min: 1, max: 3 }),
      offered: fc.constantFrom('', 'blue', '*'),
    }),
    fc.record({ do: fc.constant('remove' as const), key: fc.constantFrom(...keys) }),
    fc.record({
      do: fc.constant('label' as const),
      name: fc.constantFrom(...namespaces),
      team: fc.constantFrom('red', 'blue'),
    }),
    fc.record({ do: fc.constant('pool' as const), team: fc.constantFrom('red', 'blue', undefined) }),
    fc.record({ do: fc.constant('udn' as const), team: fc.constantFrom('red', 'blue', undefined) }),
  )

  type View = ReturnType<typeof inView>
  interface Told {
    readonly attachments: Map<string, readonly [config: object, parts: AttachmentParts]>
    readonly teams: Map<string, string>
    pool?: string | undefined
    udn?: string | undefined
  }

  const setPool = ({ pool, views }: View, team: string | undefined) => {
    const space = { addresses: ['10.0.0.0/24'], prefix: 24, space: 'blue' }
    if (team === undefined) views.pools.get('ClusterAddressPool.mooring.dev')?.clear()
    else pool('lab', { ...space, allowedNamespaces: { matchLabels: { team } } })
  }
  const setUDN = ({ udn, views }: View, team: string | undefined) =>
    team === undefined ? views.clusterUDNs.clear() : udn('lab', { team })

  const seen = ({ judged, claim, sources }: View) => [
    keys.map(key => [key, judged(key)]),
    namespaces.map(namespace => ['blue', 'red_a', 'cluster_udn_lab'].map(name => claim(namespace, name))),
    [...sources.all()]
      .map(({ identity, family, allowedNamespaces }) => JSON.stringify([identity, family, allowedNamespaces]))
      .toSorted(),
  ]

  test('what is known is what a process knows that starts now', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), steps => {
        const old = inView()
        const told: Told = { attachments: new Map(), teams: new Map() }
        for (const one of steps) {
          if (one.do === 'put') {
            const parts = { ...offered(one.offered, one.day) }
            // An object keeps the time of its creation.
            const created = told.attachments.get(one.key)?.[1].created ?? parts.created ?? ''
            const change = [configs[one.config] ?? {}, { ...parts, created }] as const
            told.attachments.set(one.key, change)
            old.put(one.key, ...change)
          } else if (one.do === 'remove') {
            told.attachments.delete(one.key)
            old.remove(one.key)
          } else if (one.do === 'label') {
            told.teams.set(one.name, one.team)
            old.label(one.name, { team: one.team })
          } else if (one.do === 'pool') {
            told.pool = one.team
            setPool(old, one.team)
          } else {
            told.udn = one.team
            setUDN(old, one.team)
          }
        }
        const fresh = inView()
        for (const [key, change] of told.attachments) fresh.put(key, ...change)
        setUDN(fresh, told.udn)
        setPool(fresh, told.pool)
        for (const [name, team] of told.teams) fresh.label(name, { team })
        expect(seen(old)).toEqual(seen(fresh))
      }),
      { numRuns: 300 },
    )
  })
})

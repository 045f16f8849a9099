// IPPools: which addresses the interface with a MAC has on a network, as an administrator wrote it down where the virtual machines
// ran before.

import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../src/kube/object.ts'
import { anIPPool, isNotUsable, isUsable, nextMAC, saidOf, saysOf, shows, theSample } from './ip-pools.ts'
import {
  aBridge,
  aClaimByHand,
  anOVNNetwork,
  configOf,
  hasAddresses,
  isTold,
  keyOf,
  locksIn,
  Machine,
  nextName,
  says,
  waitsFor,
} from './machines.ts'
import { isGone } from './promises.ts'
import { aCUDN, aHome, isRendered, layer2 } from './user-defined-networks.ts'
import { aWorld, isInProcess, type Stored, type World } from './world.ts'

const v4 = { subnets: '10.100.0.0/24' }
/** 10.100.0.1 and 10.100.0.2 are given out. */
const tiny = { subnets: '10.100.0.0/30' }

async function aNetwork(world: World, config: Readonly<Record<string, unknown>> = v4, namespaces?: string) {
  const annotations = namespaces === undefined ? {} : { 'mooring.dev/allowed-namespaces': namespaces }
  return world.create(anOVNNetwork(config, { annotations }))
}

/** A claim that a user makes, and that asks for something. */
const aRequest = (network: KubeObject, request: object, metadata: Readonly<Record<string, unknown>> = {}): Stored => {
  const claim: Stored = aClaimByHand(network, metadata)
  return { ...claim, spec: { ...claim.spec, ...request } }
}

/** A claim that shows an address in its status; made while there is no network that could give it another one. */
async function aClaimShowing(world: World, network: KubeObject, ip: string, namespace = world.home): Promise<Stored> {
  const claim = await world.create(aClaimByHand(network, { namespace }))
  await world.patch(claim, { status: { ips: [ip] } }, 'status')
  return claim
}

describe('The conditions of an IPPool', () => {
  const noMACs = {
    type: 'DuplicateMACAddresses',
    status: 'False',
    reason: 'NoMACDuplicates',
    message: 'All MAC addresses are unique',
  }
  const noIPs = {
    type: 'DuplicateIPAddresses',
    status: 'False',
    reason: 'NoIPDuplicates',
    message: 'All IP addresses are unique per MAC',
  }

  test('are a success where nothing is listed twice', async () => {
    const world = await aWorld()
    const pool = await world.create(theSample('ippool-good'))
    const message = 'All MAC and IP addresses are unique'
    await saysOf(world, pool, { type: 'Success', status: 'True', reason: 'NoDuplicates', message }, noMACs, noIPs)
  })

  test('tell of a MAC in two notations', async () => {
    const world = await aWorld()
    const pool = await world.create(theSample('ippool-duplicates'))
    await saysOf(
      world,
      pool,
      {
        type: 'Success',
        status: 'False',
        reason: 'DuplicatesExist',
        message: 'Duplicate MAC 00:1a:4b:12:34:56 found in entries',
      },
      {
        type: 'DuplicateMACAddresses',
        status: 'True',
        reason: 'DuplicateMACFound',
        message: 'MAC address 00:1a:4b:12:34:56 appears 2 times',
      },
      noIPs,
    )
  })

  test('tell of an address with several MACs, and are a success again when it is listed once', async () => {
    const world = await aWorld()
    const [one, two] = [nextMAC(), nextMAC()]
    const pool = await world.create(anIPPool(nextName('net'), { [one]: ['10.0.0.5/24'], [two]: ['10.0.0.5/24'] }))
    await saysOf(
      world,
      pool,
      {
        type: 'Success',
        status: 'False',
        reason: 'DuplicatesExist',
        message: 'Duplicate IP 10.0.0.5 found in entries',
      },
      noMACs,
      {
        type: 'DuplicateIPAddresses',
        status: 'True',
        reason: 'DuplicateIPFound',
        message: 'IP address 10.0.0.5 appears 2 times',
      },
    )
    await world.patch(pool, { spec: { entries: { [two]: null } } })
    await world.eventually(async () =>
      expect(saidOf(await world.get(pool))[0]).toMatchObject({ type: 'Success', status: 'True' }),
    )
  })

  test('tell which entry cannot be read, where it was stored without a webhook', async () => {
    const world = await aWorld()
    const pool = await world.create(anIPPool(nextName('net'), { server: ['10.0.0.5/24'], [nextMAC()]: ['10.0.0.6'] }))
    const stored = await world.eventually(async () => {
      const found = (await world.get(pool)) as Stored
      expect(saidOf(found)[0]).toMatchObject({ type: 'Success', status: 'False', reason: 'EntriesMalformed' })
      return found
    })
    expect(saidOf(stored)[0]?.message).toMatch(
      /^(?=.*spec\.entries: "server" is not a MAC address).*spec\.entries\[.*\]\[0\]: "10\.0\.0\.6" is not a CIDR/,
    )
  })

  test('name ten of what is wrong, and count the rest', async () => {
    const world = await aWorld()
    const entries = Object.fromEntries(Array.from({ length: 40 }, () => [nextMAC(), ['10.0.0.5/24', '10.0.0.6/24']]))
    const pool = await world.create(
      anIPPool(nextName('net'), {
        ...entries,
        ...Object.fromEntries(Object.keys(entries).map(key => [key.toUpperCase(), []])),
      }),
    )
    await world.eventually(async () => {
      const said = saidOf(await world.get(pool)).find(({ type }) => type === 'DuplicateMACAddresses')
      expect(said?.message.split('; ')).toHaveLength(11)
      expect(said?.message).toMatch(/; and 30 more$/)
    })
  })
})

describe('Whether the entries of an IPPool are usable', () => {
  test('is told as soon as there is its network, with the NetworkAttachmentDefinitions of it', async () => {
    const world = await aWorld()
    const draft = anOVNNetwork(v4)
    const pool = await world.create(anIPPool(draft, { [nextMAC()]: ['10.100.0.50/24'] }))
    await isNotUsable(world, pool, 'NetworkNotFound', 'does not exist: its entries count as soon as it does')
    const network = await world.create(draft)
    const stored = await isUsable(world, pool)
    expect(stored.status['associated-nads']).toEqual([{ name: keyOf(network, world) }])
    await world.delete(network)
    await isNotUsable(world, pool, 'NetworkNotFound', 'does not exist')
    expect((await world.get(pool))?.status['associated-nads']).toEqual([])
  })

  test.each([
    ['outside of the subnets', '10.101.0.5/24', /10\.101\.0\.5 is outside of the subnets of the network/],
    ['the network itself', '10.100.0.0/24', /10\.100\.0\.0 is no address for a host in its subnet/],
    ['excluded', '10.100.0.200/24', /10\.100\.0\.200 is excluded from the network/],
    ['of a family that the network does not have', 'fd00:100::5/64', /fd00:100::5 is IPv6, and the network has none/],
  ])('is said of an address that is %s', async (_, ip, message) => {
    const world = await aWorld()
    const network = await aNetwork(world, { ...v4, excludeSubnets: '10.100.0.200/29' })
    const mac = nextMAC()
    const pool = await world.create(anIPPool(network, { [mac]: [ip] }))
    await isNotUsable(world, pool, 'EntriesNotUsable', message)
    await world.patch(pool, { spec: { entries: { [mac]: ['10.100.0.5/24'] } } })
    await isUsable(world, pool)
  })

  test('is said of an address that a claim has already, until that claim is gone', async () => {
    const world = await aWorld()
    const network = await aNetwork(world)
    const claim = await world.create(aRequest(network, { ips: ['10.100.0.50'] }))
    await hasAddresses(world, claim, ['10.100.0.50/24'])
    const pool = await world.create(anIPPool(network, { [nextMAC()]: ['10.100.0.50/24'] }))
    const holder = `10.100.0.50 is held by IPAMClaim ${world.home}/${claim.metadata.name}`
    await isNotUsable(world, pool, 'EntriesNotUsable', holder)
    await hasAddresses(world, claim, ['10.100.0.50/24'])
    await world.delete(claim)
    await isUsable(world, pool)
  })

  test('is said of a namespace that the network is not offered to', async () => {
    const world = await aWorld()
    const [network, mac, other] = [await aNetwork(world), nextMAC(), await world.anotherNamespace()]
    const pool = await world.create(anIPPool(network, { [mac]: ['10.100.0.5/24'] }, { [mac]: { namespace: other } }))
    await isNotUsable(world, pool, 'EntriesNotUsable', `the network is not offered to namespace ${other}`)
  })

  test('is told of a network whose addresses come from elsewhere', async () => {
    const world = await aWorld()
    const bridge = await world.create(aBridge({ ranges: ['10.100.0.0/24'] }))
    const pool = await world.create(anIPPool(bridge, { [nextMAC()]: ['10.100.0.5/24'] }))
    await isNotUsable(world, pool, 'NetworkNotServed', 'preAllocations')
  })

  test('is told of a network that keeps no addresses of virtual machines', async () => {
    const world = await aWorld()
    const network = await aNetwork(world, { ...v4, allowPersistentIPs: false })
    const pool = await world.create(anIPPool(network, { [nextMAC()]: ['10.100.0.5/24'] }))
    await isNotUsable(world, pool, 'NetworkNotPersistent', 'ipam.lifecycle Persistent')
  })

  test('is told of the younger of two pools, which counts when the older is gone', async () => {
    const world = await aWorld()
    const [network, mac] = [await aNetwork(world), nextMAC()]
    const older = await world.create(anIPPool(network, { [mac]: ['10.100.0.5/24'] }))
    await world.pass(1_100)
    const younger = await world.create(anIPPool(network, { [mac]: ['10.100.0.6/24'] }))
    await isNotUsable(world, younger, 'OtherPoolCounts', `IPPool ${older.metadata.name} was there first`)
    const claim = await world.create(aRequest(network, { ips: ['10.100.0.6'] }))
    await hasAddresses(world, claim, ['10.100.0.6/24'])
    await world.delete(older)
    await isNotUsable(world, younger, 'EntriesNotUsable', '10.100.0.6 is held by IPAMClaim')
  })
})

describe('What an IPPool keeps', () => {
  test('is given to no claim that asks for nothing in particular', async () => {
    const world = await aWorld()
    const network = await aNetwork(world, tiny)
    const pool = await world.create(anIPPool(network, { [nextMAC()]: ['10.100.0.1/30'] }))
    await isUsable(world, pool)
    const [one, two] = [await world.create(aClaimByHand(network)), await world.create(aClaimByHand(network))]
    const served = await world.eventually(async () => {
      const ips = (await Promise.all([one, two].map(claim => world.get(claim)))).map(claim => claim?.status?.ips)
      expect(ips.flat().filter(ip => ip !== undefined)).toEqual(['10.100.0.2/30'])
      return ips[0]?.length === 1 ? one : two
    })
    const waiting = served === one ? two : one
    await waitsFor(world, waiting, 'SubnetExhausted')
    await world.delete(pool)
    await hasAddresses(world, waiting, ['10.100.0.1/30'])
  })

  test('is given to no claim that shows it, nor to one that asks for it, and to the first once it is kept no more', async () => {
    const world = await aWorld()
    const [network, mac] = [anOVNNetwork(v4), nextMAC()]
    const pool = await world.create(anIPPool(network, { [mac]: ['10.100.0.50/24'] }))
    const claim = await aClaimShowing(world, network, '10.100.0.50/24')
    await world.create(network)
    await says(world, claim, 'IPAddressReserved', ['10.100.0.50/24'])
    const asking = await world.create(aRequest(network, { ips: ['10.100.0.50'] }))
    await waitsFor(world, asking, 'IPAddressReserved', 'is kept for another claim')
    await world.delete(asking)
    await world.patch(pool, { spec: { entries: { [mac]: ['10.100.0.51/24'] } } })
    await hasAddresses(world, claim, ['10.100.0.50/24'])
  })

  test('is kept also of entries that are listed twice, or of which something cannot be read', async () => {
    const world = await aWorld()
    const network = await aNetwork(world)
    const [one, two] = [nextMAC(), nextMAC()]
    const pool = await world.create(
      anIPPool(network, {
        [one]: ['10.100.0.50/24'],
        [one.replaceAll(':', '-')]: ['10.100.0.51/24'],
        [two]: ['10.100.0.52/24', '10.100.0.53'],
        server: ['10.100.0.54/24'],
      }),
    )
    await isNotUsable(world, pool, 'EntriesNotUsable', 'it is listed twice, or cannot be read')
    for (const ip of [50, 51, 52, 54]) {
      const claim = await world.create(aRequest(network, { ips: [`10.100.0.${ip}`] }))
      await waitsFor(world, claim, 'IPAddressReserved')
    }
  })

  test('takes nothing from a claim that has it already, which keeps it also when its machine starts again', async () => {
    const world = await aWorld()
    const network = await aNetwork(world)
    const machine = await Machine.made(world, [network])
    const pod = await machine.started()
    const ips = await hasAddresses(world, machine.claim())
    const pool = await world.create(anIPPool(network, { [nextMAC()]: ips }))
    await isNotUsable(world, pool, 'EntriesNotUsable', 'is held by IPAMClaim')
    await machine.stopped(pod)
    await machine.started()
    await hasAddresses(world, machine.claim(), ips)
  })
})

/** A machine whose interface has this MAC. */
const withMAC = (world: World, network: KubeObject, mac: string, name = nextName('vm'), namespace = world.home) =>
  Machine.made(world, [{ name: 'net1', attachment: keyOf(network, world), mac }], name, namespace)

describe('What an IPPool keeps, is kept', () => {
  test('whichever desks are on, by each process that gives out addresses', async () => {
    const world = await aWorld({ on: ['vm'] })
    const [network, mac] = [await aNetwork(world), nextMAC()]
    const pool = await world.create(anIPPool(network, { [mac]: ['10.100.0.50/24'] }))
    await world.heard(pool)
    await waitsFor(world, await world.create(aRequest(network, { ips: ['10.100.0.50'] })), 'IPAddressReserved')
    await hasAddresses(world, (await withMAC(world, network, mac)).claim(), ['10.100.0.50/24'])
    expect((await world.get(pool))?.status).toBeUndefined()
  })

  test('by a process that starts later, from its first claim on', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const [network, mac] = [await aNetwork(world, tiny), nextMAC()]
    await world.create(anIPPool(network, { [mac]: ['10.100.0.1/30'] }))
    const claims = [await world.create(aClaimByHand(network)), await world.create(aClaimByHand(network))]
    const machine = await withMAC(world, network, mac)
    await world.desk.start()
    await hasAddresses(world, machine.claim(), ['10.100.0.1/30'])
    await world.eventually(async () => {
      const served = await Promise.all(claims.map(claim => world.get(claim)))
      expect(served.flatMap(claim => claim?.status?.ips ?? [])).toEqual(['10.100.0.2/30'])
    })
  })

  /** Watches show it seconds later; what happens next is seen at once. */
  const unheard = async <T>(world: World, happens: () => Promise<T>): Promise<T> => {
    world.desk.watchDelayMs = 5_000
    const made = await happens()
    // On a server the event is on its way.
    await world.pass(isInProcess ? 0 : 500)
    world.desk.watchDelayMs = 0
    return made
  }

  test('from the moment it is listed, however late the process hears of it', async () => {
    const world = await aWorld()
    const mac = nextMAC()
    const [network, other] = [await aNetwork(world, tiny), await aNetwork(world, tiny)]
    const pool = await world.create(anIPPool(other, {}))
    for (const known of [network, other, pool]) await world.heard(known)
    const entries = { [mac]: ['10.100.0.1/30', '10.100.0.2/30'] }
    await unheard(world, () => world.create(anIPPool(network, entries)))
    await waitsFor(world, await world.create(aClaimByHand(network)), 'SubnetExhausted')
    await unheard(world, () => world.patch(pool, { spec: { entries } }))
    await waitsFor(world, await world.create(aClaimByHand(other)), 'SubnetExhausted')
  })

  test('from what a user writes to pods: no machine has to wait for what a pod only shows', async () => {
    const world = await aWorld()
    const [mac, other] = [nextMAC(), await world.anotherNamespace()]
    const network = await aNetwork(world, v4, other)
    const thief = await Machine.made(world, [{ name: 'net1', attachment: keyOf(network, world) }], undefined, other)
    await thief.started()
    await isUsable(world, await world.create(anIPPool(network, { [mac]: ['10.100.0.50/24'] })))
    const shown = { [keyOf(network, world)]: { ip_addresses: ['10.100.0.50/24'], mac_address: mac } }
    const annotations = { 'k8s.ovn.org/pod-networks': JSON.stringify(shown) }
    await world.heard(await thief.aPod({ annotations }))
    await hasAddresses(world, (await withMAC(world, network, mac)).claim(), ['10.100.0.50/24'])
  })

  test('where they cannot be read: then nothing is given out', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const network = await aNetwork(world)
    const claim = await world.create(aClaimByHand(network))
    world.desk.forbid(({ path }) => path.includes('/ippools'))
    await world.desk.start().catch(() => {})
    await world.always(async () => expect((await world.get(claim))?.status?.ips ?? []).toEqual([]))
  })
})

describe('A virtual machine with a MAC that an IPPool lists', () => {
  test('has the addresses of its entry without asking for them, and its pod is told both', async () => {
    const world = await aWorld()
    const network = await aNetwork(world, {})
    const mac = nextMAC()
    const entries = { [mac.toUpperCase()]: ['10.100.0.50/24', 'fd00:100::50/64'] }
    const pool = await world.create(anIPPool(network, entries))
    await isUsable(world, pool)
    const machine = await withMAC(world, network, mac)
    const ips = ['10.100.0.50/24', 'fd00:100::50/64']
    await hasAddresses(world, machine.claim(), ips)
    const pod = await machine.started()
    await isTold(world, pod, keyOf(network, world), { ip_addresses: ips, mac_address: mac })
    await shows(world, pool, [
      {
        mac,
        ips: ['10.100.0.50', 'fd00:100::50'],
        namespace: world.home,
        claim: `${machine.name}.net1`,
        'virtual-machine': machine.name,
        reserved: true,
      },
    ])
    await isUsable(world, pool)
  })

  test('has them on the network that takes the place of the pod network, which its administrator defined for its namespace', async () => {
    const world = await aWorld()
    const [team, mac, name] = [nextName('team'), nextMAC(), nextName('cudn')]
    const home = await aHome(world, { team })
    const draft = layer2({ ipam: { lifecycle: 'Persistent' }, defaultGatewayIPs: ['10.0.0.254'] })
    const pool = await world.create(
      anIPPool(`cluster_udn_${name}`, { [mac]: ['10.0.0.50/24'] }, { [mac]: { namespace: home } }),
    )
    const network = await world.create(aCUDN(team, draft, { name }))
    await isRendered(world, network, home)
    const stored = await isUsable(world, pool)
    expect(stored.status['associated-nads']).toEqual([{ name: `${home}/${name}` }])
    const machine = await Machine.made(world, [{ name: 'net1', mac }], nextName('vm'), home)
    await hasAddresses(world, machine.claim(), ['10.0.0.50/24'])
    await world.patch(pool, { spec: { entries: { [mac]: ['10.0.0.254/24'] } } })
    await isNotUsable(world, pool, 'EntriesNotUsable', '10.0.0.254 is the gateway of the network')
  })

  test('has the one of the family that its entry lists, and any of the other', async () => {
    const world = await aWorld()
    const [network, mac] = [await aNetwork(world, {}), nextMAC()]
    await isUsable(world, await world.create(anIPPool(network, { [mac]: ['fd00:100::50/64'] })))
    const machine = await withMAC(world, network, mac)
    expect((await hasAddresses(world, machine.claim()))[1]).toBe('fd00:100::50/64')
  })

  test('has the first that its network has of several, and another of them by asking for it', async () => {
    const world = await aWorld()
    const [network, one, two] = [await aNetwork(world), nextMAC(), nextMAC()]
    const pool = await world.create(
      anIPPool(network, {
        [one]: ['10.101.0.5/24', '10.100.0.50/24', '10.100.0.51/24'],
        [two]: ['10.100.0.60/24', '10.100.0.61/24'],
      }),
    )
    await isNotUsable(world, pool, 'EntriesNotUsable', '10.101.0.5 is outside')
    await hasAddresses(world, (await withMAC(world, network, one)).claim(), ['10.100.0.50/24'])
    const asking = await world.create(aRequest(network, { mac: two, ips: ['10.100.0.61/24'] }))
    await hasAddresses(world, asking, ['10.100.0.61/24'])
  })

  test('is refused where it asks for an address that is not of its entry', async () => {
    const world = await aWorld()
    const [network, mac] = [await aNetwork(world), nextMAC()]
    await isUsable(world, await world.create(anIPPool(network, { [mac]: ['10.100.0.50/24'] })))
    const asking = await world.create(aRequest(network, { mac, ips: ['10.100.0.9'] }))
    await waitsFor(world, asking, 'IPAddressMismatch', 'keeps 10.100.0.50 for it')
  })

  test('waits for an address of its entry that another claim has, and is served when that is gone', async () => {
    const world = await aWorld()
    const [network, mac] = [await aNetwork(world), nextMAC()]
    const holder = await world.create(aRequest(network, { ips: ['10.100.0.50'] }))
    await hasAddresses(world, holder)
    await isNotUsable(
      world,
      await world.create(anIPPool(network, { [mac]: ['10.100.0.50/24'] })),
      'EntriesNotUsable',
      'is held by',
    )
    const machine = await withMAC(world, network, mac)
    await waitsFor(world, machine.claim(), 'IPAddressConflict', 'Requested IP 10.100.0.50 is already assigned')
    await world.delete(holder)
    await hasAddresses(world, machine.claim(), ['10.100.0.50/24'])
  })

  test('waits for an entry that cannot be given, and is given nothing else instead', async () => {
    const world = await aWorld()
    const [network, mac] = [await aNetwork(world), nextMAC()]
    const pool = await world.create(anIPPool(network, { [mac]: ['10.100.0.0/24'] }))
    await isNotUsable(world, pool, 'EntriesNotUsable', 'is no address for a host')
    const machine = await withMAC(world, network, mac)
    await waitsFor(world, machine.claim(), 'IPAddressReserved')
    await world.patch(pool, { spec: { entries: { [mac]: ['10.100.0.50/24'] } } })
    await hasAddresses(world, machine.claim(), ['10.100.0.50/24'])
  })

  test('waits while its entry is listed twice, and is served once that is corrected', async () => {
    const world = await aWorld()
    const [network, mac] = [await aNetwork(world), nextMAC()]
    const other = mac.replaceAll(':', '-')
    const pool = await world.create(anIPPool(network, { [mac]: ['10.100.0.50/24'], [other]: ['10.100.0.51/24'] }))
    await isNotUsable(world, pool, 'EntriesNotUsable', 'listed twice')
    const machine = await withMAC(world, network, mac)
    await waitsFor(
      world,
      machine.claim(),
      'MACAddressReserved',
      'have the entry corrected in the IPPool of the network',
    )
    await world.patch(pool, { spec: { entries: { [other]: null } } })
    await hasAddresses(world, machine.claim(), ['10.100.0.50/24'])
  })

  test('keeps what it has when its entry is changed, and has the new one when it is made anew', async () => {
    const world = await aWorld()
    const [network, mac] = [await aNetwork(world), nextMAC()]
    const pool = await world.create(anIPPool(network, { [mac]: ['10.100.0.50/24'] }))
    await isUsable(world, pool)
    const machine = await withMAC(world, network, mac)
    await hasAddresses(world, machine.claim(), ['10.100.0.50/24'])
    await world.patch(pool, { spec: { entries: { [mac]: ['10.100.0.51/24'] } } })
    await isUsable(world, pool)
    await world.idle(3_000)
    await hasAddresses(world, machine.claim(), ['10.100.0.50/24'])
    await machine.deleted()
    await machine.letGo()
    await isGone(world, machine.claim())
    await hasAddresses(world, (await withMAC(world, network, mac, machine.name)).claim(), ['10.100.0.51/24'])
  })

  test('that is not bound is the first on the network that has it, of whichever namespace, and the pool tells which', async () => {
    const world = await aWorld()
    const [mac, other] = [nextMAC(), await world.anotherNamespace()]
    const network = await aNetwork(world, v4, other)
    const pool = await world.create(anIPPool(network, { [mac]: ['10.100.0.50/24'] }))
    await isUsable(world, pool)
    const first = await withMAC(world, network, mac, nextName('vm'), other)
    await hasAddresses(world, first.claim(), ['10.100.0.50/24'])
    const second = await withMAC(world, network, mac)
    await says(world, second.claim(), /^(MACAddressConflict|IPAddressConflict)$/, [])
    await world.eventually(async () =>
      expect((await world.get(pool))?.status['in-use']).toMatchObject([{ mac, namespace: other, reserved: true }]),
    )
    await first.deleted()
    await first.letGo()
    await hasAddresses(world, second.claim(), ['10.100.0.50/24'])
  })
})

describe('An entry that is bound', () => {
  test.each(['to a namespace', 'to a virtual machine of it'])(
    '%s gives neither MAC nor address to a virtual machine of another namespace',
    async to => {
      const world = await aWorld()
      const [mac, other, name] = [nextMAC(), await world.anotherNamespace(), nextName('vm')]
      const annotations = { 'mooring.dev/allowed-namespaces': other }
      const network = anOVNNetwork(v4, { annotations, namespace: world.home })
      const binding = { namespace: world.home, ...(to !== 'to a namespace' && { virtualMachine: name }) }
      const pool = await world.create(anIPPool(network, { [mac]: ['10.100.0.50/24'] }, { [mac]: binding }))
      const shown = await aClaimShowing(world, network, '10.100.0.50/24', other)
      await world.create(network)
      await isUsable(world, pool)
      await says(world, shown, 'IPAddressReserved', ['10.100.0.50/24'])
      const stranger = await withMAC(world, network, mac, name, other)
      await waitsFor(world, stranger.claim(), 'MACAddressReserved', `${mac} is kept for another virtual machine`)
      const byHand = await world.create(
        aRequest(network, { mac, ips: ['10.100.0.50'] }, { namespace: other, labels: { 'kubevirt.io/vm': name } }),
      )
      await waitsFor(world, byHand, 'MACAddressReserved')
      await hasAddresses(world, (await withMAC(world, network, mac, name)).claim(), ['10.100.0.50/24'])
      expect((await locksIn(world, configOf(network).name)).map(({ spec }) => spec.claimRef.namespace)).toEqual([
        world.home,
      ])
    },
  )

  test('to a virtual machine gives nothing to another of its namespace, nor to a claim with its label', async () => {
    const world = await aWorld()
    const [network, mac, name] = [await aNetwork(world), nextMAC(), nextName('vm')]
    const binding = { namespace: world.home, virtualMachine: name }
    await isUsable(world, await world.create(anIPPool(network, { [mac]: ['10.100.0.50/24'] }, { [mac]: binding })))
    await waitsFor(world, (await withMAC(world, network, mac)).claim(), 'MACAddressReserved')
    const forged = await world.create(aRequest(network, { mac }, { labels: { 'kubevirt.io/vm': name } }))
    await waitsFor(world, forged, 'MACAddressReserved')
    await hasAddresses(world, (await withMAC(world, network, mac, name)).claim(), ['10.100.0.50/24'])
  })

  test('is refused to a machine that takes on its MAC later, which keeps the addresses it has', async () => {
    const world = await aWorld()
    const [mac, own, other] = [nextMAC(), nextMAC(), await world.anotherNamespace()]
    const network = await aNetwork(world, v4, other)
    const pool = await world.create(
      anIPPool(network, { [mac]: ['10.100.0.50/24'] }, { [mac]: { namespace: world.home } }),
    )
    await isUsable(world, pool)
    const machine = await withMAC(world, network, own, nextName('vm'), other)
    const ips = await hasAddresses(world, machine.claim())
    await machine.replug([{ name: 'net1', attachment: keyOf(network, world), mac }])
    await says(world, machine.claim(), 'MACAddressReserved', ips)
    await hasAddresses(world, (await withMAC(world, network, mac)).claim(), ['10.100.0.50/24'])
    await machine.replug([{ name: 'net1', attachment: keyOf(network, world), mac: own }])
    await hasAddresses(world, machine.claim(), ips)
  })

  test('and lists no address keeps the MAC alone', async () => {
    const world = await aWorld()
    const [mac, other] = [nextMAC(), await world.anotherNamespace()]
    const network = await aNetwork(world, v4, other)
    const pool = await world.create(anIPPool(network, { [mac]: [] }, { [mac]: { namespace: world.home } }))
    await isUsable(world, pool)
    await waitsFor(world, (await withMAC(world, network, mac, nextName('vm'), other)).claim(), 'MACAddressReserved')
    await hasAddresses(world, (await withMAC(world, network, mac)).claim())
  })

  test('takes nothing from a virtual machine that has its MAC already, and the pool tells of it', async () => {
    const world = await aWorld()
    const [mac, other] = [nextMAC(), await world.anotherNamespace()]
    const network = await aNetwork(world, v4, other)
    const machine = await withMAC(world, network, mac, nextName('vm'), other)
    const ips = await hasAddresses(world, machine.claim())
    const pool = await world.create(
      anIPPool(network, { [mac]: ['10.100.0.50/24'] }, { [mac]: { namespace: world.home } }),
    )
    await isNotUsable(
      world,
      pool,
      'EntriesNotUsable',
      `held by IPAMClaim ${other}/${machine.name}.net1, which it is not`,
    )
    const pod = await machine.started()
    await isTold(world, pod, keyOf(network, world), { ip_addresses: ips, mac_address: mac })
    await hasAddresses(world, machine.claim(), ips)
  })
})

describe('What is in use on a network', () => {
  test('is shown by its IPPool, of every claim that has something, and no longer when that is gone', async () => {
    const world = await aWorld()
    const network = await aNetwork(world)
    const pool = await world.create(anIPPool(network, { [nextMAC()]: ['10.100.0.50/24'] }))
    const claim = await world.create(aRequest(network, { ips: ['10.100.0.7'] }))
    const machine = await Machine.made(world, [network])
    const [ip = ''] = await hasAddresses(world, machine.claim())
    const row = (ips: string[], name: string) => ({ ips, namespace: world.home, claim: name, reserved: false })
    const ofMachine = { ...row([ip.split('/')[0] ?? ''], `${machine.name}.net1`), 'virtual-machine': machine.name }
    await shows(world, pool, [ofMachine, row(['10.100.0.7'], claim.metadata.name ?? '')])
    await world.delete(claim)
    await isGone(world, claim)
    await shows(world, pool, [ofMachine])
  })
})

describe('A claim that was made before its machine', () => {
  test('is shown as that of the machine once it is, and an entry that is bound to the machine is usable', async () => {
    const world = await aWorld()
    const [network, mac, name] = [await aNetwork(world), nextMAC(), nextName('vm')]
    const claim = await world.create(aRequest(network, { mac, ips: ['10.100.0.50'] }, { name: `${name}.net1` }))
    await hasAddresses(world, claim, ['10.100.0.50/24'])
    await withMAC(world, network, mac, name)
    const binding = { namespace: world.home, virtualMachine: name }
    const pool = await world.create(anIPPool(network, { [mac]: ['10.100.0.50/24'] }, { [mac]: binding }))
    const row = { mac, ips: ['10.100.0.50'], namespace: world.home, claim: `${name}.net1`, reserved: true }
    await shows(world, pool, [{ ...row, 'virtual-machine': name }])
    await isUsable(world, pool)
  })
})

describe('The status of an IPPool', () => {
  test('is written every few seconds at most while claims come and go, and not at all when nothing changes', async () => {
    const world = await aWorld()
    const network = await aNetwork(world)
    const pool = await world.create(anIPPool(network, {}))
    await isUsable(world, pool)
    const writes = () => world.desk.writes.filter(one => one.includes(`/ippools/${pool.metadata.name}/status`)).length
    const before = writes()
    for (let i = 0; i < 20; i++) await hasAddresses(world, await world.create(aClaimByHand(network)))
    await world.eventually(async () => expect((await world.get(pool))?.status['in-use-count']).toBe(20))
    expect(writes() - before).toBeLessThan(8)
    const after = writes()
    await world.idle(5_000)
    expect(writes()).toBe(after)
  })
})

describe('The webhook of IPPools', () => {
  const aWorldWithWebhooks = () => aWorld({ hasWebhooks: true })

  test('refuses what cannot be read, with its field and what to write, all at once', async () => {
    const world = await aWorldWithWebhooks()
    const mac = nextMAC()
    const pool = anIPPool(nextName('net'), {
      server: ['10.0.0.5/24'],
      'ff:ff:ff:ff:ff:ff': [],
      [mac]: ['10.0.0.6', '10.0.0.7/24'],
    })
    const refusal = await world.create(pool).catch((error: Error) => error.message)
    expect(refusal).toMatch(/spec\.entries: Invalid value: "server": .*is not a MAC address: write six pairs/)
    expect(refusal).toMatch(/"ff:ff:ff:ff:ff:ff" is the address of a group of cards: write that of one/)
    expect(refusal).toContain(`spec.entries[${mac}][0]: Invalid value: "10.0.0.6"`)
    expect(refusal).toContain('write an address, "/" and a prefix length')
  })

  test('refuses the second pool of a network, also by a change, and lets the first be changed', async () => {
    const world = await aWorldWithWebhooks()
    const [network, mac] = [nextName('net'), nextMAC()]
    const first = await world.create(anIPPool(network, { [mac]: ['10.0.0.5/24'] }))
    const sentence = 'IPPool is for this network already: add the entries there'
    await world.eventually(() => expect(world.create(anIPPool(network, {}))).rejects.toThrow(sentence))
    const other = await world.create(anIPPool(nextName('net'), {}))
    await expect(world.patch(other, { spec: { 'network-name': network } })).rejects.toThrow(sentence)
    await world.patch(first, { spec: { entries: { [mac]: ['10.0.0.6/24'] } } })
  })

  test('lets duplicates in', async () => {
    const world = await aWorldWithWebhooks()
    const pool = await world.create(theSample('ippool-duplicates'))
    await world.eventually(async () =>
      expect(saidOf(await world.get(pool))[0]).toMatchObject({ type: 'Success', status: 'False' }),
    )
  })

  test('is not asked by the definition, which refuses a binding without an entry', async () => {
    const world = await aWorld()
    const [mac, other] = [nextMAC(), nextMAC()]
    const draft = anIPPool(nextName('net'), { [mac]: [] }, { [other]: { namespace: 'blue' } })
    await expect(world.create(draft)).rejects.toThrow('a binding is for a MAC of spec.entries')
    await expect(world.create(anIPPool('', {}))).rejects.toThrow('spec.network-name')
    const many = Object.fromEntries(
      Array.from({ length: 4097 }, (_, i) => [`02:00:00:00:${hex(i >> 8)}:${hex(i)}`, []]),
    )
    await expect(world.create(anIPPool(nextName('net'), many))).rejects.toThrow(/4096/)
  })
})

const hex = (i: number): string => (i & 255).toString(16).padStart(2, '0')

// Why the claim of a virtual machine waits, reason by reason: the user reads it in both conditions of the claim and in an event on the
// launcher pod, with one sentence. A reason without a story here fails the last test.

import { describe, expect, test } from 'vitest'
import { claimReasons } from '../../src/controllers/vm/binding/words.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { aClusterAddressPool, anAddressPool, pausedAnnotation } from './builders.ts'
import { anIPPool, isUsable, nextMAC } from './ip-pools.ts'
import {
  type Asking,
  aBridge,
  aClaimByHand,
  anOVNNetwork,
  conditionOf,
  configOf,
  hasAddresses,
  keyOf,
  Machine,
  nextName,
  waitsFor,
  warningsOf,
  wishing,
} from './machines.ts'
import { isGone } from './promises.ts'
import { aWorld, type Stored, type Thing, type World } from './world.ts'

interface Told {
  readonly claim: Thing
  readonly pod: Stored
}

const v4 = { subnets: '10.100.0.0/24' }
/** Nothing is left to give. */
const full = { ...v4, excludeSubnets: '10.100.0.0/24' }
const asking = (...ips: string[]): Asking => ({ addresses: { net1: ips } })

/** A machine that runs as far as its claim lets it. */
async function run(machine: Machine): Promise<Told> {
  return { claim: machine.claim(), pod: await machine.started() }
}

async function anAsker(world: World, network: KubeObject, ip: string, mac?: string): Promise<Machine> {
  const plugged = { name: 'net1', attachment: keyOf(network, world), ...(mac && { mac }) }
  return Machine.made(world, [plugged], undefined, undefined, ip === '' ? {} : asking(ip))
}

const asked = async (world: World, config: object, ip: string): Promise<Told> =>
  run(await anAsker(world, await world.create(anOVNNetwork({ ...v4, ...config })), ip))

/** A pod that names a claim which a user made. */
async function named(world: World, network: Stored, claim: Stored): Promise<Told> {
  const machine = await Machine.made(world, [])
  const element = { name: network.metadata.name, namespace: world.home, 'ipam-claim-reference': claim.metadata.name }
  const annotations = { 'k8s.v1.cni.cncf.io/networks': JSON.stringify([element]) }
  return { claim, pod: await machine.started({ annotations }) }
}

/** A network whose addresses are of a pool. */
const onPool = (world: World, { kind, metadata }: KubeObject): Promise<Stored> =>
  world.create(aBridge({ pool: { kind, name: metadata.name } }))

async function aPoolWith(world: World, spec: Readonly<Record<string, unknown>>): Promise<Stored> {
  const pool = await world.create(aClusterAddressPool().withAddresses('10.8.0.10-10.8.0.20').with(spec))
  await world.heard(pool)
  return pool
}

/** What a machine had rests. */
async function released(world: World, network: KubeObject, ip: string, mac?: string): Promise<void> {
  const machine = await anAsker(world, network, ip, mac)
  await hasAddresses(world, machine.claim())
  await machine.deleted()
  await machine.letGo()
  await isGone(world, machine.claim())
}

const changed = (world: World, network: Stored, config: object): Promise<Stored> =>
  world.patch(network, { spec: { config: JSON.stringify({ ...configOf(network), ...config }) } })

/** A machine that waits for an address of a network, whatever becomes of the network then. */
async function aWaiter(world: World, network: Stored, namespace = world.home): Promise<Told> {
  const machine = await Machine.made(world, [network], undefined, namespace)
  const told = await run(machine)
  await waitsFor(world, told.claim, 'SubnetExhausted')
  return told
}

const stories: Readonly<Record<string, (world: World) => Promise<Told>>> = {
  async SubnetExhausted(world) {
    return aWaiter(world, await world.create(anOVNNetwork(full)))
  },

  // --- what the network says ---

  async NetworkNotFound(world) {
    return run(await Machine.made(world, [await world.create(anOVNNetwork({ subnets: undefined }))]))
  },
  async NetworkMalformed(world) {
    const network = await world.create(anOVNNetwork(full))
    const told = await aWaiter(world, network)
    await changed(world, network, { role: 'Secondary' })
    return told
  },
  async NetworkDiffers(world) {
    const older = await world.create(anOVNNetwork(full))
    await world.pass(1_100)
    const network = await world.create(anOVNNetwork({ ...full, name: configOf(older).name }))
    const told = await aWaiter(world, network)
    await changed(world, network, { mtu: 1_300 })
    return told
  },
  async NetworkNotOffered(world) {
    const namespace = await world.anotherNamespace()
    const annotation = 'mooring.dev/allowed-namespaces'
    const older = await world.create(anOVNNetwork(full, { annotations: { [annotation]: namespace } }))
    await world.pass(1_100)
    const network = await world.create(anOVNNetwork({ ...full, name: configOf(older).name }, { namespace }))
    const told = await aWaiter(world, network, namespace)
    await world.patch(older, { metadata: { annotations: { [annotation]: null } } })
    return told
  },

  // --- what the pool behind it says ---

  async NotPermitted(world) {
    const pool = await aPoolWith(world, { allowedNamespaces: { matchLabels: { tier: nextName('prod') } } })
    return run(await Machine.made(world, [await onPool(world, pool)]))
  },
  async NetworkDeleting(world) {
    const pool = await aPoolWith(world, {})
    const network = await onPool(world, pool)
    await hasAddresses(world, (await Machine.made(world, [network])).claim())
    await world.delete(pool)
    await world.heard(pool)
    return run(await Machine.made(world, [network]))
  },
  async NetworkPaused(world) {
    const pool = await aPoolWith(world, {})
    await world.patch(pool, { metadata: { annotations: pausedAnnotation } })
    await world.heard(pool)
    return run(await Machine.made(world, [await onPool(world, pool)]))
  },
  async NetworkUndecided(world) {
    world.desk.forbid(({ method, path }) => method !== 'GET' && /\/addresspools\/[^/]+\/status/.test(path))
    const pool = await world.create(anAddressPool().with({ space: nextName('space') }))
    return run(await Machine.made(world, [await onPool(world, pool)]))
  },
  async QuotaReached(world) {
    const network = await onPool(world, await aPoolWith(world, { quota: { perNamespace: 1 } }))
    await hasAddresses(world, (await Machine.made(world, [network])).claim())
    return run(await Machine.made(world, [network]))
  },
  async RestQuotaReached(world) {
    const rules = { quarantineSeconds: 3_600, quota: { perNamespaceQuarantined: 0 } }
    const network = await onPool(world, await aPoolWith(world, rules))
    await released(world, network, '')
    return run(await Machine.made(world, [network]))
  },
  async IPAddressDraining(world) {
    const pool = await aPoolWith(world, { draining: ['10.8.0.15'] })
    return run(await anAsker(world, await onPool(world, pool), '10.8.0.15'))
  },
  async IPAddressQuarantined(world) {
    const network = await onPool(world, await aPoolWith(world, { quarantineSeconds: 3_600 }))
    await released(world, network, '10.8.0.15')
    return run(await anAsker(world, network, '10.8.0.15'))
  },
  async MACAddressQuarantined(world) {
    const mac = nextMAC()
    const network = await onPool(world, await aPoolWith(world, { quarantineSeconds: 3_600 }))
    await released(world, network, '', mac)
    return run(await anAsker(world, network, '', mac))
  },

  // --- what is asked for ---

  IPPrefixMismatch: world => asked(world, {}, '10.100.0.5/16'),
  IPFamilyMismatch: world => asked(world, {}, 'fd00::5'),
  IPAddressOutOfSubnet: world => asked(world, {}, '10.101.0.5'),
  IPAddressExcluded: world => asked(world, { excludeSubnets: '10.100.0.0/28' }, '10.100.0.5'),
  IPAddressReserved: world => asked(world, {}, '10.100.0.255'),
  async InvalidIPAddress(world) {
    const network = await world.create(anOVNNetwork(v4))
    return named(world, network, await wishing(world, network, ['nothing']))
  },
  async InvalidRequest(world) {
    const network = await world.create(anOVNNetwork(v4))
    const annotations = { 'mooring.dev/requested-mac': '01:00:5e:00:00:01' }
    return named(world, network, await world.create(aClaimByHand(network, { annotations })))
  },
  async IPAddressConflict(world) {
    const network = await world.create(anOVNNetwork(v4))
    await hasAddresses(world, (await anAsker(world, network, '10.100.0.5')).claim())
    return run(await anAsker(world, network, '10.100.0.5'))
  },
  async MACAddressConflict(world) {
    const [network, mac] = [await world.create(anOVNNetwork(v4)), nextMAC()]
    await hasAddresses(world, (await anAsker(world, network, '', mac)).claim())
    return run(await anAsker(world, network, '', mac))
  },
  async IPAddressMismatch(world) {
    const [network, mac] = [await world.create(anOVNNetwork(v4)), nextMAC()]
    await isUsable(world, await world.create(anIPPool(network, { [mac]: ['10.100.0.50/24'] })))
    return run(await anAsker(world, network, '10.100.0.9', mac))
  },
  async MACAddressReserved(world) {
    const [network, mac] = [await world.create(anOVNNetwork(v4)), nextMAC()]
    const binding = { namespace: world.home, virtualMachine: nextName('vm') }
    await isUsable(world, await world.create(anIPPool(network, { [mac]: [] }, { [mac]: binding })))
    return run(await anAsker(world, network, '', mac))
  },
}

/** The proposal has its own word for one of them. */
const ofProposal: Readonly<Record<string, string>> = { IPAddressConflict: 'IPAlreadyExists' }

describe('A claim that waits says why, and so does an event on the pod:', () => {
  test.each(Object.entries(stories))('%s', async (reason, story) => {
    const world = await aWorld()
    const { claim, pod } = await story(world)
    await world.eventually(async () => {
      const stored = await world.get(claim)
      const { message = '' } = conditionOf(stored) ?? {}
      expect(conditionOf(stored)).toMatchObject({ status: 'False', reason })
      const other = { status: 'False', reason: ofProposal[reason] ?? reason, message }
      expect(conditionOf(stored, 'IPAllocated')).toMatchObject(other)
      const notes = (await warningsOf(world, pod)).filter(event => event.reason === reason).map(({ note }) => note)
      expect(message).not.toBe('')
      expect(notes.join()).toContain(message)
    })
  })

  test('there is no other reason', () => {
    expect(Object.keys(stories).toSorted()).toEqual([...new Set(claimReasons)].toSorted())
  })
})

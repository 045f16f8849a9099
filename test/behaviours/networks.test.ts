// Networks: what a NetworkAttachmentDefinition comes to, as far as its author and the pools beside it can see. Any user of a
// namespace may write one, with the name of any network or space in it.

import { describe, expect, test } from 'vitest'
import { defaultNetworkRules } from '../../src/controllers/office/networks.ts'
import { aClaim, aClusterAddressPool, anAddressPool, anAttachment, type Draft, layer2 } from './builders.ts'
import { attachments, events } from './kinds.ts'
import { anOVNNetwork, configOf, hasAddresses, Machine } from './machines.ts'
import { aServedClaim, holdsOf, isServed, readyOf, saysWhy } from './promises.ts'
import { aWorld, type Stored, type World } from './world.ts'

/** No two tests share a network. */
let count = 0
const run = Math.random().toString(36).slice(2, 7)
const aName = (): string => `Net_${run}.${++count}`

async function eventsOf(world: World, thing: Stored): Promise<Stored[]> {
  const { items } = await world.client.list(events, { namespace: thing.metadata.namespace ?? '' })
  return (items as Stored[]).filter(({ regarding }) => regarding?.uid === thing.metadata.uid)
}

async function isTold(world: World, attachment: Stored, reason: string, sentence: RegExp): Promise<void> {
  await world.eventually(async () => {
    expect(await eventsOf(world, attachment)).toContainEqual(
      expect.objectContaining({ type: 'Warning', reason, note: expect.stringMatching(sentence) }),
    )
  })
}

/** The oldest attachment of its network. Times of creation are stored to the second. */
async function oldest(world: World, attachment: Draft): Promise<Stored> {
  const stored = await world.create(attachment)
  await world.heard(stored)
  await world.idle(1_100)
  return stored
}

async function joins(world: World, pool: Stored, space: string): Promise<void> {
  await world.eventually(async () => expect((await world.get(pool))?.status?.space).toBe(space))
}

async function isKeptOut(world: World, pool: Stored): Promise<void> {
  await world.eventually(async () => {
    expect(readyOf(await world.get(pool))).toMatchObject({ status: 'False', reason: 'SpaceNotOffered' })
  })
}

const poolIn = (namespace: string, space: string) =>
  anAddressPool().in(namespace).withAddresses('10.0.1.0/24').with({ space })

describe('The space of a network', () => {
  test('is joined by pools of the namespace of the network', async () => {
    const world = await aWorld()
    const name = aName()
    const red = await world.anotherNamespace()
    await world.heard(await world.create(anAttachment(layer2(name)).in(red)))
    const pool = await world.create(poolIn(red, name))
    await joins(world, pool, name)
    await aServedClaim(world, aClaim().in(red).on(pool))
    const [hold] = await holdsOf(world, pool)
    expect(hold?.spec.space).toBe(name)
  })

  test('is joined by them also if the network has no addresses itself: it is the same wire', async () => {
    const world = await aWorld()
    const name = aName()
    const [red, blue] = [await world.anotherNamespace(), await world.anotherNamespace()]
    await world.heard(await world.create(anAttachment(layer2(name, { subnets: '' })).in(red)))
    const [pool, others] = [await world.create(poolIn(red, name)), await world.create(poolIn(blue, name))]
    await joins(world, pool, name)
    await aServedClaim(world, aClaim().in(red).on(pool))
    await isKeptOut(world, others)
  })

  test('is closed to pools of other namespaces, until the oldest attachment lists them and they take part', async () => {
    const world = await aWorld()
    const name = aName()
    const [red, blue] = [await world.anotherNamespace(), await world.anotherNamespace()]
    const net = await oldest(world, anAttachment(layer2(name)).in(red))
    const pool = await world.create(poolIn(blue, name))
    await isKeptOut(world, pool)
    await world.create(anAttachment(layer2(name)).in(blue))
    await isKeptOut(world, pool)
    await world.patch(net, { metadata: { annotations: { 'mooring.dev/allowed-namespaces': blue } } })
    await joins(world, pool, name)
  })

  test('catches no pool of another namespace by offering itself to all: its author is told what to do', async () => {
    const world = await aWorld()
    const name = aName()
    const [red, blue] = [await world.anotherNamespace(), await world.anotherNamespace()]
    await world.heard(await world.create(anAttachment(layer2(name)).in(red).offeredTo('*')))
    const pool = await world.create(poolIn(blue, name))
    await isKeptOut(world, pool)
    const claim = await world.create(aClaim().in(blue).on(pool))
    await saysWhy(world, claim, 'PoolNotReady', /create a NetworkAttachmentDefinition of the network there/)
    await world.create(anAttachment(layer2(name)).in(blue))
    await joins(world, pool, name)
    await isServed(world, claim)
  })

  test('divides no pools of its namespace that name it: where one has that of the namespace, all later ones do', async () => {
    const world = await aWorld()
    const name = aName()
    const red = await world.anotherNamespace()
    const first = await world.create(poolIn(red, name))
    await joins(world, first, `${red}/${name}`)
    await world.heard(await world.create(anAttachment(layer2(name)).in(red)))
    await joins(world, await world.create(poolIn(red, name)), `${red}/${name}`)
  })

  test('is not lost with the network: holders stay, and the same network is joined again', async () => {
    const world = await aWorld()
    const name = aName()
    const red = await world.anotherNamespace()
    const net = await world.create(anAttachment(layer2(name)).in(red))
    await world.heard(net)
    const pool = await world.create(poolIn(red, name))
    await joins(world, pool, name)
    const early = await aServedClaim(world, aClaim().in(red).on(pool))
    await world.delete(net)
    await isKeptOut(world, pool)
    await saysWhy(world, await world.create(aClaim().in(red).on(pool)), 'PoolNotReady', /is gone/)
    await isServed(world, early)
    await world.create(anAttachment(layer2(name)).in(red))
    await aServedClaim(world, aClaim().in(red).on(pool))
  })

  test('is known before a process that starts decides about pools', async () => {
    const world = await aWorld()
    const name = aName()
    const red = await world.anotherNamespace()
    await world.heard(await world.create(anAttachment(layer2(name)).in(red)))
    await world.desk.stop()
    const pool = await world.create(poolIn(red, name))
    await world.anotherDesk()
    await joins(world, pool, name)
  })
})

describe('A pool of the cluster in the space of a network that was there first', () => {
  test('gives each address once with it, whichever of the two is asked', async () => {
    const world = await aWorld()
    const network = anOVNNetwork({ subnets: '10.100.0.0/29', excludeSubnets: '10.100.0.0/31' })
    const net = await world.create(network)
    await world.heard(net)
    const machine = await Machine.made(world, [net])
    await hasAddresses(world, machine.claim(), ['10.100.0.2/29'])
    const { name } = configOf(network)
    const pool = await world.create(aClusterAddressPool().withAddresses('10.100.0.2-10.100.0.4').with({ space: name }))
    await aServedClaim(world, aClaim().on(pool), '10.100.0.3')
    const [hold] = await holdsOf(world, pool)
    expect(hold?.spec.space).toBe(name)
    await hasAddresses(world, (await Machine.made(world, [net])).claim(), ['10.100.0.4/29'])
    await saysWhy(world, await world.create(aClaim().on(pool)), 'PoolExhausted')
    await hasAddresses(world, (await Machine.made(world, [net])).claim(), ['10.100.0.5/29'])
    await hasAddresses(world, machine.claim(), ['10.100.0.2/29'])
  })
})

describe('Two tenants with one name of a network', () => {
  test('are not in one network: the later one is told so, and not what the first one has', async () => {
    const world = await aWorld()
    const name = aName()
    const [red, blue] = [await world.anotherNamespace(), await world.anotherNamespace()]
    const first = await oldest(world, anAttachment(layer2(name)).in(red))
    const second = await world.create(anAttachment(layer2(name, { subnets: '10.9.0.0/24' })).in(blue))
    await isTold(world, second, 'NetworkNotOffered', new RegExp(`is not offered to namespace ${blue}: the annotation`))
    expect(await eventsOf(world, first)).toEqual([])
    for (const { note } of await eventsOf(world, second)) expect(note).not.toMatch(/10\.0\.1|differ|subnets/)
  })

  test('are in one network where networks are open, if they say the same', async () => {
    const world = await aWorld({ networkRules: { ...defaultNetworkRules, openNetworks: true } })
    const name = aName()
    const [red, blue, green] = [
      await world.anotherNamespace(),
      await world.anotherNamespace(),
      await world.anotherNamespace(),
    ]
    await oldest(world, anAttachment(layer2(name)).in(red))
    const same = await world.create(anAttachment(layer2(name)).in(blue))
    const other = await world.create(anAttachment(layer2(name, { subnets: '10.9.0.0/24' })).in(green))
    await isTold(world, other, 'NetworkDiffers', /exists already and says something else in subnets/)
    await joins(world, await world.create(poolIn(blue, name)), name)
    expect(await eventsOf(world, same)).toEqual([])
  })

  test('are in one network when the first one lists the namespace of the second', async () => {
    const world = await aWorld()
    const name = aName()
    const [red, blue] = [await world.anotherNamespace(), await world.anotherNamespace()]
    await oldest(world, anAttachment(layer2(name)).in(red).offeredTo(blue))
    const second = await world.create(anAttachment(layer2(name)).in(blue))
    await world.heard(second)
    await joins(world, await world.create(poolIn(blue, name)), name)
    expect(await eventsOf(world, second)).toEqual([])
  })
})

describe('A network with the name of a space of an administrator', () => {
  test('is refused where the space is not offered to its namespace, and closes the space to no pool', async () => {
    const world = await aWorld()
    const space = aName()
    const [red, blue] = [await world.anotherNamespace({ team: 'red' }), await world.anotherNamespace({ team: 'blue' })]
    const offered = { allowedNamespaces: { matchLabels: { team: 'red' } } }
    await world.heard(await world.create(aClusterAddressPool().with({ space, ...offered })))
    const net = await world.create(anAttachment(layer2(space)).in(blue))
    await isTold(world, net, 'SpaceNotOffered', /would take addresses of the space of that name, which is not offered/)
    const own = await world.create(poolIn(red, space))
    await joins(world, own, space)
    await aServedClaim(world, aClaim().in(red).on(own))
  })

  test('joins the space where it is offered to its namespace, and closes it to no other', async () => {
    const world = await aWorld()
    const space = aName()
    const [red, blue] = [await world.anotherNamespace(), await world.anotherNamespace()]
    await world.heard(await world.create(aClusterAddressPool().with({ space })))
    const net = await world.create(anAttachment(layer2(space)).in(blue))
    await world.heard(net)
    await joins(world, await world.create(poolIn(red, space)), space)
    expect(await eventsOf(world, net)).toEqual([])
  })
})

describe('A NetworkAttachmentDefinition that cannot be used', () => {
  test('is told why, once, and again when it is wrong in another way; none of another plugin is told anything', async () => {
    const world = await aWorld()
    const name = aName()
    const foreign = await world.create(anAttachment({ type: 'bridge', ipam: { type: 'host-local' } }))
    const net = await world.create(anAttachment(layer2(name, { subnets: '10.0.1.0/33' })))
    await isTold(world, net, 'NetworkMalformed', /spec\.config\.subnets: "10\.0\.1\.0\/33" is not a CIDR/)
    await world.patch(net, { metadata: { labels: { touched: 'yes' } } })
    await world.heard(net)
    await world.always(async () => expect(await eventsOf(world, net)).toHaveLength(1), 1_000)
    await world.patch(net, { spec: { config: '{' } })
    await isTold(world, net, 'NetworkMalformed', /spec\.config is no JSON/)
    expect(await eventsOf(world, foreign)).toEqual([])
  })

  test('keeps no other from being used, however large it is', async () => {
    const world = await aWorld()
    const name = aName()
    const red = await world.anotherNamespace()
    const large = await world.create(anAttachment(layer2(name, { note: 'B'.repeat(1_000_000) })))
    await isTold(world, large, 'NetworkMalformed', /^NetworkAttachmentDefinition .{1,400}$/)
    await world.heard(await world.create(anAttachment(layer2(name)).in(red)))
    await joins(world, await world.create(poolIn(red, name)), name)
    expect(
      JSON.stringify(world.desk.view(attachments).get(`${world.home}/${large.metadata.name}`)).length,
    ).toBeLessThan(10_000)
  })

  test('is counted', async () => {
    const world = await aWorld()
    const name = aName()
    await world.create(anAttachment(layer2(name)))
    await world.create(anAttachment(layer2(name, { subnets: 'x' })))
    await world.eventually(() => {
      expect(world.desk.metrics()).toMatch(/mooring_network_attachments\{state="ovn"\} [1-9]/)
      expect(world.desk.metrics()).toMatch(/mooring_network_attachments\{state="refused"\} [1-9]/)
    })
  })
})

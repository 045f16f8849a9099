// The toy desk beside the product's: that a desk is a folder and a line in a table, and all that is promised of a claim of
// several parts. In one process, and on a real API server: `npm run test:cluster -- toy`.

import { describe, expect, test } from 'vitest'
import { rulesOf } from '../../scripts/config/rules.ts'
import { permissionSets } from '../../src/cli/permissions.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import type { WireRequest } from '../../src/kube/wire.ts'
import { aClaim, anAddressFor, aPool, aPrefixPool } from '../behaviours/builders.ts'
import { claims, reports } from '../behaviours/kinds.ts'
import {
  aServedClaim,
  isServed as isClaimServed,
  isGone,
  readyOf,
  saysWhy,
  staysUnserved,
} from '../behaviours/promises.ts'
import { aWorld, type Stored, type World } from '../behaviours/world.ts'
import {
  aBerth,
  aNetwork,
  aPoolIn,
  aScarceNetwork,
  heldBy,
  isServed,
  locksIn,
  nothingIsHeldIn,
  waits,
} from './builders.ts'
import { desksWithToy } from './desks.ts'
import { berths } from './kinds.ts'

const desks = desksWithToy
const mac = '02:00:5e:10:00:01'

describe('A berth', () => {
  test('gets an address of each family of its network, and its MAC', async () => {
    const world = await aWorld({ desks })
    const network = await world.create(aNetwork())
    const berth = await world.create(aBerth(network, { mac }))
    expect(await isServed(world, berth)).toEqual({ addresses: ['10.9.0.2', 'fd00:9::2'], mac })
    const other = await world.create(aBerth(network))
    expect(await isServed(world, other)).toEqual({ addresses: ['10.9.0.3', 'fd00:9::3'] })
  })

  test('gets the addresses that it asks for', async () => {
    const world = await aWorld({ desks })
    const network = await world.create(aNetwork())
    const berth = await world.create(aBerth(network, { addresses: ['fd00:9::abc', '10.9.0.9'] }))
    expect((await isServed(world, berth)).addresses).toEqual(['10.9.0.9', 'fd00:9::abc'])
  })

  test('gets neither when one family is exhausted, says which, and is served when one is given back', async () => {
    const world = await aWorld({ desks })
    const network = await world.create(aScarceNetwork(5, 1))
    const first = await world.create(aBerth(network))
    await isServed(world, first)
    const second = await world.create(aBerth(network, { mac }))
    await waits(world, second, 'PoolExhausted', /^v6: no address available/)
    expect(await locksIn(world, network)).toHaveLength(2)
    await world.delete(first)
    expect((await isServed(world, second)).addresses).toEqual(['10.9.0.1', 'fd00:9::1'])
  })

  test('waits while another has its MAC in the same network, and not for one in another network', async () => {
    const world = await aWorld({ desks })
    const [blue, green] = [await world.create(aNetwork()), await world.create(aNetwork())]
    const first = await world.create(aBerth(blue, { mac }))
    await isServed(world, first)
    const second = await world.create(aBerth(blue, { mac }))
    await waits(world, second, 'MACInUse', /^mac: 02:00:5e:10:00:01 is held by another claim/)
    expect((await isServed(world, await world.create(aBerth(green, { mac })))).mac).toBe(mac)
    await world.delete(first)
    expect((await isServed(world, second)).mac).toBe(mac)
  })

  test('gives everything back when it is deleted', async () => {
    const world = await aWorld({ desks })
    const network = await world.create(aNetwork())
    const berth = await world.create(aBerth(network, { mac }))
    await isServed(world, berth)
    await world.delete(berth)
    await isGone(world, berth)
    await nothingIsHeldIn(world, network)
  })

  test('has its addresses and its MAC back out of quarantine, and no other berth has them meanwhile', async () => {
    const world = await aWorld({ desks })
    const network = await world.create(aScarceNetwork(2, 2, { quarantineSeconds: 600 }))
    const berth = aBerth(network, { mac })
    await world.create(berth)
    const { addresses } = await isServed(world, berth)
    await world.delete(berth)
    await isGone(world, berth)
    const other = await isServed(world, await world.create(aBerth(network)))
    for (const address of other.addresses) expect(addresses).not.toContain(address)
    const third = await world.create(aBerth(network, { mac }))
    await waits(world, third, 'PoolExhausted', /^v4: no address/)
    await world.create(berth)
    expect(await isServed(world, berth)).toEqual({ addresses, mac })
  })

  test('that lost its choice is given what it holds, and nothing else', async () => {
    const world = await aWorld({ desks })
    const network = await world.create(aNetwork())
    const berth = await world.create(aBerth(network, { mac }))
    const before = await isServed(world, berth)
    await world.patch(berth, { metadata: { annotations: { 'toy.example.org/choice': null } } })
    await world.heard(berth)
    expect(await isServed(world, berth)).toEqual(before)
  })

  test('waits while its namespace has its quota of the network, and is served when one of it goes', async () => {
    const world = await aWorld({ desks })
    const network = await world.create(aNetwork({ berthsPerNamespace: 1 }))
    const first = await world.create(aBerth(network))
    await isServed(world, first)
    const second = await world.create(aBerth(network))
    await waits(world, second, 'QuotaReached', /^v4: namespace .* already holds its quota/)
    await world.delete(first)
    await isServed(world, second)
  })

  test('waits for its network to come', async () => {
    const world = await aWorld({ desks })
    const network = aNetwork()
    const berth = await world.create(aBerth(network))
    await waits(world, berth, 'PoolNotFound', /is not there/)
    await world.create(network)
    await isServed(world, berth)
  })

  test('is served only where its network is offered to its namespace', async () => {
    const world = await aWorld({ desks })
    const network = await world.create(aNetwork({ allowedNamespaces: { matchLabels: { toy: 'yes' } } }))
    const elsewhere = await world.anotherNamespace()
    const berth = aBerth(network)
    const placed = { ...berth, metadata: { ...berth.metadata, namespace: elsewhere } }
    await world.create(placed)
    await waits(world, placed, 'NamespaceNotAllowed', /is not offered to namespace/)
    await world.patch(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: elsewhere } },
      { metadata: { labels: { toy: 'yes' } } },
    )
    await isServed(world, placed)
  })
})

/** Every berth and claim that says what it has, and its address of IPv4. */
async function servedIn(world: World): Promise<{ readonly claim: Stored; readonly address: string }[]> {
  const shown = new Map((await world.list(reports)).map(({ metadata, spec }) => [metadata.name, spec.address]))
  const all = [...(await world.list(berths)), ...(await world.list(claims))]
  return all
    .filter(claim => readyOf(claim)?.status === 'True')
    .map(claim => ({ claim, address: claim.status.addresses?.[0] ?? shown.get(claim.metadata.name) }))
}

/** The n-th write, counted from 1, to the berth or to what is held in its network: other tests may use the server too. */
function nthWrite(nth: number, berth: KubeObject, network: KubeObject): (request: WireRequest) => boolean {
  let count = 0
  const names = [berth, network].map(({ metadata }) => metadata.name ?? '')
  const isMeant = ({ method, path, body = '' }: WireRequest) =>
    method !== 'GET' && !path.includes('/events') && names.some(name => `${path} ${body}`.includes(name))
  return request => isMeant(request) && ++count === nth
}

/** The process is killed before the n-th of its writes. Answers false when it has done all that was to do with fewer. */
async function killBefore(
  world: World,
  isMoment: (request: WireRequest) => boolean,
  act: () => Promise<unknown>,
  isDone: () => Promise<boolean>,
) {
  let isReached = false
  world.desk.killBefore(request => {
    isReached ||= isMoment(request)
    return isReached
  })
  await act()
  await world.eventually(async () => expect(isReached || (await isDone())).toBe(true))
  await world.desk.kill()
  return isReached
}

describe('A process that is killed', () => {
  // Three holds, the choice and the status; then nothing is left to be cut.
  test.each([1, 2, 3, 4, 5, 6])('before write %i of a binding leaves nothing half taken', async nth => {
    const world = await aWorld({ desks })
    const network = await world.create(aNetwork())
    const berth = aBerth(network, { mac })
    const isBound = async () => readyOf(await world.get(berth))?.status === 'True'
    const moment = nthWrite(nth, berth, network)
    expect(await killBefore(world, moment, () => world.create(berth), isBound)).toBe(nth < 6)
    await world.desk.start()
    expect(await isServed(world, berth)).toEqual({ addresses: ['10.9.0.2', 'fd00:9::2'], mac })
    expect(await locksIn(world, network)).toHaveLength(3)
  })

  test.each([1, 2, 3, 4])('before write %i of a release leaves nothing behind', async nth => {
    const world = await aWorld({ desks })
    const network = await world.create(aNetwork())
    const berth = await world.create(aBerth(network, { mac }))
    await isServed(world, berth)
    const hasGone = async () => (await world.get(berth)) === undefined
    const moment = nthWrite(nth, berth, network)
    expect(await killBefore(world, moment, () => world.delete(berth), hasGone)).toBe(true)
    await world.desk.start()
    await isGone(world, berth)
    await nothingIsHeldIn(world, network)
  })

  test('between two parts gives the first one back when the second is no longer to be had', async () => {
    const world = await aWorld({ desks })
    const network = await world.create(aScarceNetwork(5, 1))
    const berth = aBerth(network)
    await killBefore(
      world,
      nthWrite(2, berth, network),
      () => world.create(berth),
      async () => false,
    )
    expect(await heldBy(world, await world.get(berth))).toEqual(['10.9.0.1'])
    // The other desk alone: the berth is not looked at, and the last address of IPv6 goes to a claim.
    const pool = await world.create(aPoolIn(network, { addresses: ['fd00:9::1'], prefix: 64 }))
    const capi = await world.anotherDesk({ desks, on: ['capi'] })
    const claim = await aServedClaim(world, aClaim().on(pool), 'fd00:9::1')
    await capi.kill()
    await world.desk.start()
    await waits(world, berth, 'PoolExhausted', /^v6/)
    expect(await locksIn(world, network)).toHaveLength(1)
    await world.delete(claim)
    await isServed(world, berth)
  })
})

describe('Two desks in one space', () => {
  test('never give one address twice', async () => {
    const world = await aWorld({ desks })
    const network = await world.create(aScarceNetwork(6, 9))
    const pool = await world.create(aPoolIn(network, { addresses: ['10.9.0.1-10.9.0.6'] }))
    const moored = await Promise.all([1, 2, 3].map(() => world.create(aBerth(network))))
    const claimed = await Promise.all([1, 2, 3].map(() => world.create(aClaim().on(pool))))
    const had: (string | undefined)[] = []
    for (const berth of moored) had.push((await isServed(world, berth)).addresses[0])
    for (const claim of claimed) had.push(await isClaimServed(world, claim))
    expect(new Set(had).size).toBe(6)
  })

  test('serve many once each, although two processes think they are alone, one hears late, answers are lost and one is killed', async () => {
    const world = await aWorld({ desks })
    const other = await world.anotherDesk()
    other.watchDelayMs = 1_000
    let sent = 0
    for (const desk of [world.desk, other]) desk.loseAnswers(({ method }) => method !== 'GET' && ++sent % 7 === 0)
    // Thirty addresses for forty.
    const network = await world.create(
      aNetwork({ subnets: ['10.9.0.0/26', 'fd00:9::/64'], gateways: [], excludes: ['10.9.0.31-10.9.0.62'] }),
    )
    const pool = await world.create(aPoolIn(network, { addresses: ['10.9.0.1-10.9.0.30'], prefix: 26 }))
    const isMoment = nthWrite(40, pool, network)
    let isKilled = false
    world.desk.killBefore(request => {
      isKilled ||= isMoment(request)
      return isKilled
    })
    for (let i = 0; i < 20; i++) {
      await world.create(aBerth(network, i % 2 === 0 ? {} : { mac: `02:00:5e:10:01:${10 + i}` }))
      await world.create(aClaim().on(pool))
    }
    await world.eventually(() => expect(isKilled).toBe(true))
    await world.desk.kill()
    await world.desk.start()
    await world.eventually(async () => expect(await servedIn(world)).toHaveLength(30), 120_000)
    const had = await servedIn(world)
    expect(new Set(had.map(({ address }) => address)).size).toBe(30)
    for (const { claim } of had.slice(0, 10)) await world.delete(claim)
    await world.eventually(async () => {
      const now = await servedIn(world)
      expect(now).toHaveLength(30)
      expect(new Set(now.map(({ address }) => address)).size).toBe(30)
      expect(now.filter(({ claim }) => claim.metadata.deletionTimestamp !== undefined)).toEqual([])
    }, 120_000)
    for (const claim of [...(await world.list(berths)), ...(await world.list(claims))]) await world.delete(claim)
    // What is given back is free before the claim may go.
    await world.eventually(async () => {
      expect(await locksIn(world, network)).toEqual([])
      expect([...(await world.list(berths)), ...(await world.list(claims))]).toEqual([])
    }, 120_000)
  })

  test('serve the oldest first, whichever desk it waits at', async () => {
    const world = await aWorld({ desks })
    const network = await world.create(aScarceNetwork(1, 9))
    const pool = await world.create(aPoolIn(network, { addresses: ['10.9.0.1'] }))
    const first = await world.create(aBerth(network))
    await isServed(world, first)
    const second = await world.create(aClaim().on(pool))
    await saysWhy(world, second, 'PoolExhausted')
    // Ages are told in seconds.
    await world.pass(1_500)
    const third = await world.create(aBerth(network))
    await waits(world, third, 'PoolExhausted', /^v4/)
    await world.pass(1_500)
    const fourth = await world.create(aClaim().on(pool))
    await saysWhy(world, fourth, 'PoolExhausted')
    await world.delete(first)
    await isClaimServed(world, second)
    await world.always(() => waits(world, third, 'PoolExhausted', /^v4/), 1_000)
    await world.delete(second)
    await isServed(world, third)
    await world.delete(third)
    await isClaimServed(world, fourth)
  })
})

/** A user with what the office needs, and of desks what the table says of those that `may` names: at first the capi desk and the toy. */
async function anAccount(world: World) {
  const user = `toy-${world.home}-${Math.random().toString(36).slice(2, 7)}`
  const rbac = 'rbac.authorization.k8s.io'
  const metadata = { name: user }
  const rulesWith = (on: readonly string[]) =>
    rulesOf(
      permissionSets(desks, on).filter(({ name }) => name !== 'toy' || on.includes(name)),
      ['cluster', 'watched'],
    )
  const role = { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata }
  const created = await world.create({ ...role, rules: rulesWith(['capi', 'toy']) } as KubeObject)
  const binding = {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata,
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: user },
    subjects: [{ kind: 'User', apiGroup: rbac, name: user }],
  }
  await world.create(binding as KubeObject)
  return { user, may: (on: readonly string[]) => world.patch(created, { rules: rulesWith(on) }) }
}

describe('The toy desk', () => {
  test('that is switched off does nothing, what its berths have stays theirs, and it goes on where it was', async () => {
    const world = await aWorld({ desks })
    const network = await world.create(aScarceNetwork(2, 9))
    const berth = await world.create(aBerth(network))
    const { addresses } = await isServed(world, berth)
    await world.desk.stop()
    const off = await world.anotherDesk({ desks, on: ['capi'] })
    expect(off.states().map(({ name }) => name)).toEqual(['office', 'capi'])
    expect(off.webhookSets().map(({ name }) => name)).toEqual(['office', 'capi'])
    const later = await world.create(aBerth(network))
    const pool = await world.create(aPoolIn(network, { addresses: ['10.9.0.1-10.9.0.2'] }))
    await aServedClaim(world, aClaim().on(pool), '10.9.0.2')
    const claim = await world.create(aClaim().on(pool))
    await saysWhy(world, claim, 'PoolExhausted')
    expect((await world.get(later))?.status).toBeUndefined()
    await off.stop()
    await world.desk.start()
    await waits(world, later, 'PoolExhausted', /^v4/)
    expect((await isServed(world, berth)).addresses).toEqual(addresses)
    await world.delete(claim)
    await world.delete(berth)
    await isServed(world, later)
  })

  test('whose holds are lost is still respected while it is off: its berths show what they have', async () => {
    const world = await aWorld({ desks })
    const network = await world.create(aScarceNetwork(2, 9))
    const berth = await world.create(aBerth(network))
    await isServed(world, berth)
    await world.desk.stop()
    for (const hold of await locksIn(world, network)) {
      await world.patch(hold, { metadata: { finalizers: [] } })
      await world.delete(hold)
    }
    await world.anotherDesk({ desks, on: ['capi'] })
    const pool = await world.create(aPoolIn(network, { addresses: ['10.9.0.1-10.9.0.2'] }))
    await aServedClaim(world, aClaim().on(pool), '10.9.0.2')
    await saysWhy(world, await world.create(aClaim().on(pool)), 'PoolExhausted')
  })

  test('that loses its permissions says so and waits, the other desk goes on, and so does it when it has them again', async () => {
    const world = await aWorld({ desks })
    await world.desk.stop()
    const { user, may } = await anAccount(world)
    const desk = await world.anotherDesk({ desks, user })
    const network = await world.create(aNetwork())
    const pool = await world.create(aPoolIn(network, { addresses: ['10.9.0.2-10.9.0.5'] }))
    await isServed(world, await world.create(aBerth(network)))
    await may(['capi'])
    const stateOf = (name: string) => desk.states().find(one => one.name === name)
    await world.eventually(() => {
      // Watches go on without the permission. A server hears of a role a little later than it is written.
      desk.endWatches()
      expect(stateOf('toy')?.state).toBe('waiting')
    })
    expect(stateOf('toy')?.reasons().join()).toMatch(/berths\.toy\.example\.org/)
    expect(stateOf('capi')?.state).toBe('working')
    const later = await world.create(aBerth(network))
    await aServedClaim(world, aClaim().on(pool), '10.9.0.3')
    expect((await world.get(later))?.status).toBeUndefined()
    await may(['capi', 'toy'])
    await world.eventually(() => expect(stateOf('toy')?.state).toBe('working'), 120_000)
    expect((await isServed(world, later)).addresses[0]).toBe('10.9.0.4')
  })

  test('that may not be seen at all holds up no claim that shares no space with it', async () => {
    const world = await aWorld({ desks })
    await world.desk.stop()
    world.desk.forbid(({ path }) => path.includes('/toy.example.org/'))
    await world.desk.start()
    await aServedClaim(world, aClaim().on(await world.create(aPool().withAddresses('10.9.1.2'))), '10.9.1.2')
    const pool = await world.create(aPoolIn(aNetwork(), { addresses: ['10.9.0.2-10.9.0.5'] }))
    await staysUnserved(world, await world.create(aClaim().on(pool)))
  })
})

describe('With the capi desk off', () => {
  test('an address that an IPAddress shows in a shared space is given to no berth', async () => {
    const world = await aWorld({ desks: desksWithToy, on: ['toy'] })
    const network = await world.create(aNetwork())
    const pool = await world.create(aPoolIn(network, { addresses: ['10.9.0.2-10.9.0.14'] }))
    // The lowest that the network has to give, in use without a hold: made by hand, or by another provider.
    const shown = await world.create(anAddressFor(aClaim().named('by-hand').on(pool), '10.9.0.2'))
    await world.heard(shown)
    const berth = await world.create(aBerth(network))
    expect((await isServed(world, berth)).addresses).toEqual(['10.9.0.3', 'fd00:9::2'])
  })

  test('its claims wait, and what it gave before stays where it was', async () => {
    const world = await aWorld({ desks: desksWithToy })
    const network = await world.create(aNetwork())
    const pool = await world.create(aPoolIn(network, { addresses: ['10.9.0.2-10.9.0.14'] }))
    const early = await world.create(aClaim().on(pool))
    await world.eventually(async () => expect((await world.report(early))?.spec.address).toBe('10.9.0.2'))
    await world.desk.stop()
    await world.anotherDesk({ desks: desksWithToy, on: ['toy'] })
    const late = await world.create(aClaim().on(pool))
    const berth = await world.create(aBerth(network))
    expect((await isServed(world, berth)).addresses).toEqual(['10.9.0.3', 'fd00:9::2'])
    await staysUnserved(world, late)
  })
})

describe('The webhooks of the toy desk', () => {
  test('fill in the default network and write the MAC as it is locked', async () => {
    const world = await aWorld({ desks, hasWebhooks: true })
    const network = await world.create(aNetwork({ isDefault: true }))
    await world.heard(network)
    const berth = await world.create(aBerth(undefined, { mac: '0200.5E10.0001' }))
    expect(berth.spec).toMatchObject({ network: network.metadata.name, mac })
    expect((await isServed(world, berth)).mac).toBe(mac)
    await world.delete(network)
  })

  test('refuse a network that is not there, and a MAC that is none', async () => {
    const world = await aWorld({ desks, hasWebhooks: true })
    const network = await world.create(aNetwork())
    await expect(world.create(aBerth(aNetwork()))).rejects.toThrow(/there is no ToyNetwork of this name/)
    await expect(world.create(aBerth(network, { mac: '02:00' }))).rejects.toThrow(/is not a MAC address/)
    await isServed(world, await world.create(aBerth(network)))
  })

  test('are not there while it is off, and those of others are', async () => {
    const world = await aWorld({ desks, on: ['capi'], hasWebhooks: true })
    const network = aNetwork()
    await world.create(aBerth(network, { mac: '02:00' }))
    await expect(world.create(aPrefixPool('nonsense'))).rejects.toThrow(/nonsense/)
  })
})

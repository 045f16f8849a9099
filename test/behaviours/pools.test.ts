import { describe, expect, test } from 'vitest'
import {
  aClaim,
  aCluster,
  aClusterAddressPool,
  anAddressFor,
  anAddressPool,
  aPool,
  type PoolDraft,
} from './builders.ts'
import {
  addressOf,
  aServedClaim,
  holdsBecome,
  isGone,
  isServed,
  reportIsGone,
  saysWhy,
  staysUnserved,
} from './promises.ts'
import { aWorld, isInProcess, type Stored, type World } from './world.ts'

/** Three claims that wait, made a second apart, the youngest with the lowest name. */
async function threeWaiting(world: World, pool: Stored): Promise<Stored[]> {
  const waiting: Stored[] = []
  for (const name of ['c', 'b', 'a']) {
    const claim = await world.create(aClaim().named(name).on(pool))
    await saysWhy(world, claim, 'PoolExhausted')
    waiting.push(claim)
    await world.pass(1_000)
  }
  return waiting
}

async function isServedFirst(world: World, waiting: readonly Stored[], address: string): Promise<void> {
  const [oldest, ...others] = waiting
  if (oldest !== undefined) await isServed(world, oldest, address)
  for (const claim of others) await saysWhy(world, claim, 'PoolExhausted')
}

describe('An exhausted pool serves the claim that waited longest', () => {
  async function exhausted(world: World, draft: PoolDraft): Promise<[Stored, Stored]> {
    const pool = await world.create(draft)
    return [pool, await aServedClaim(world, aClaim().named('first').on(pool))]
  }

  test('when an address is released', async () => {
    const world = await aWorld()
    const [pool, first] = await exhausted(world, aPool().withAddresses('10.0.1.7'))
    const waiting = await threeWaiting(world, pool)
    await world.delete(first)
    await isServedFirst(world, waiting, '10.0.1.7')
  })

  test('when it grows', async () => {
    const world = await aWorld()
    const [pool] = await exhausted(world, aPool().withAddresses('10.0.1.7'))
    const waiting = await threeWaiting(world, pool)
    await world.patch(pool, { spec: { addresses: ['10.0.1.7-10.0.1.8'] } })
    await isServedFirst(world, waiting, '10.0.1.8')
  })

  test('of whichever namespace when addresses are released one by one, and of each when it grows', async () => {
    const world = await aWorld()
    const [pool, first] = await exhausted(world, aClusterAddressPool().withAddresses('10.0.1.7'))
    const other = await world.anotherNamespace()
    const waiting = await threeWaiting(world, pool)
    const younger = await world.create(aClaim().in(other).on(pool))
    await saysWhy(world, younger, 'PoolExhausted')
    await world.delete(first)
    await isServedFirst(world, [...waiting, younger], '10.0.1.7')
    const [, second, third] = waiting as [Stored, Stored, Stored]
    await world.patch(pool, { spec: { addresses: ['10.0.1.7-10.0.1.9'] } })
    await Promise.all([isServed(world, second), isServed(world, younger)])
    await saysWhy(world, third, 'PoolExhausted')
  })

  test('when an address is no longer excluded', async () => {
    const world = await aWorld()
    const [pool] = await exhausted(world, aPool().withAddresses('10.0.1.7-10.0.1.8').without('10.0.1.8'))
    const waiting = await threeWaiting(world, pool)
    await world.patch(pool, { spec: { excludedAddresses: [] } })
    await isServedFirst(world, waiting, '10.0.1.8')
  })

  test('when an address was released while no controller ran', async () => {
    const world = await aWorld()
    const [pool] = await exhausted(world, aPool().withAddresses('10.0.1.7'))
    const waiting = await threeWaiting(world, pool)
    await world.desk.stop()
    await world.patch(pool, { spec: { addresses: ['10.0.1.7-10.0.1.8'] } })
    await world.desk.start()
    await isServedFirst(world, waiting, '10.0.1.8')
  })

  test('when it comes after the claims', async () => {
    const world = await aWorld()
    const pool = aPool().withAddresses('10.0.1.7')
    const waiting: Stored[] = []
    for (const name of ['c', 'b', 'a']) {
      const claim = await world.create(aClaim().named(name).on(pool))
      await saysWhy(world, claim, 'PoolNotReady')
      waiting.push(claim)
      await world.pass(1_000)
    }
    await world.create(pool)
    await isServedFirst(world, waiting, '10.0.1.7')
  })

  test('also when more is held than it offers, and it grows by less than that', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.0.1.10-10.0.1.13'))
    for (let i = 0; i < 4; i++) await aServedClaim(world, aClaim().on(pool))
    await world.patch(pool, { spec: { addresses: ['10.0.1.10'] } })
    const late = aClaim().on(pool)
    await world.create(late)
    await saysWhy(world, late, 'PoolExhausted')
    await world.patch(pool, { spec: { addresses: ['10.0.1.10', '10.0.1.20'] } })
    await isServed(world, late, '10.0.1.20')
  })
})

describe('A pool that is being deleted', () => {
  test('stays while an address of it is held, and goes with the last claim', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool))
    await world.delete(pool)
    await world.always(async () => expect(await world.get(pool)).toBeDefined())
    await world.delete(claim)
    await isGone(world, claim)
    await isGone(world, pool)
  })

  test('serves no new claim, says so, and can finish', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool))
    await world.delete(pool)
    const late = aClaim().on(pool)
    await world.create(late)
    await saysWhy(world, late, 'PoolNotReady', 'being deleted')
    await world.delete(claim)
    await isGone(world, pool)
    await saysWhy(world, late, 'PoolNotReady', 'does not exist')
  })

  test('goes at once when claims only wait for it', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.0.1.7').without('10.0.1.7'))
    const claim = aClaim().on(pool)
    await world.create(claim)
    await saysWhy(world, claim, 'PoolExhausted')
    await world.delete(pool)
    await isGone(world, pool)
  })

  test('does not wait for the rest of an address', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().with({ addressReuseGracePeriodSeconds: 300 }))
    const claim = await aServedClaim(world, aClaim().on(pool))
    await world.delete(pool)
    await world.delete(claim)
    await isGone(world, claim)
    await reportIsGone(world, claim)
    await isGone(world, pool)
  })

  test('and made again under its name is served from like any other', async () => {
    const world = await aWorld()
    const draft = aPool()
    const pool = await world.create(draft)
    const claim = await aServedClaim(world, aClaim().on(pool))
    await world.delete(claim)
    await isGone(world, claim)
    await world.delete(pool)
    await isGone(world, pool)
    await world.create(draft)
    await aServedClaim(world, aClaim().on(draft), '10.0.1.1')
  })
})

/** Long enough to be seen by a test a moment later, on a server that has much else to do. */
const restSeconds = isInProcess ? 4 : 8
/** The same, by a process that was started meanwhile. */
const longRestSeconds = isInProcess ? 4 : 15

describe('A released address', () => {
  test('rests for as long as its pool says, while its claim and its IPAddress go at once', async () => {
    const world = await aWorld()
    const pool = await world.create(
      aPool().withAddresses('10.0.1.7').with({ addressReuseGracePeriodSeconds: restSeconds }),
    )
    const claim = await aServedClaim(world, aClaim().on(pool))
    await world.delete(claim)
    await isGone(world, claim)
    await reportIsGone(world, claim)
    const next = aClaim().on(pool)
    await world.create(next)
    await staysUnserved(world, next, 2_000)
    await isServed(world, next, '10.0.1.7')
  })

  test('rests on through a restart', async () => {
    const world = await aWorld()
    const pool = await world.create(
      aPool().withAddresses('10.0.1.7').with({ addressReuseGracePeriodSeconds: longRestSeconds }),
    )
    const claim = await aServedClaim(world, aClaim().on(pool))
    await world.delete(claim)
    await isGone(world, claim)
    await world.desk.stop()
    const next = aClaim().on(pool)
    await world.create(next)
    await world.desk.start()
    await staysUnserved(world, next, 1_500)
    await isServed(world, next, '10.0.1.7')
  })

  test('goes back at once to the claim of the same name', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().with({ addressReuseGracePeriodSeconds: 300 }))
    const others = await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    const draft = aClaim().on(pool)
    const claim = await aServedClaim(world, draft, '10.0.1.2')
    await world.delete(claim)
    await world.delete(others)
    await isGone(world, claim)
    await aServedClaim(world, draft, '10.0.1.2')
  })

  test('goes back at once to a claim of another name for the same machine', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().with({ addressReuseGracePeriodSeconds: 300 }))
    const machine = await world.create(aCluster())
    const others = await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    const claim = await aServedClaim(world, aClaim().on(pool).ownedBy(machine), '10.0.1.2')
    await world.delete(claim)
    await world.delete(others)
    await isGone(world, claim)
    await isGone(world, others)
    await aServedClaim(world, aClaim().on(pool).ownedBy(machine), '10.0.1.2')
  })

  test('without a rest is free at once, and nothing of it is left', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool))
    await world.delete(claim)
    await isGone(world, claim)
    await holdsBecome(world, pool, 0)
    await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
  })
})

describe('A claim that asks for an address', () => {
  test.each(['mooring.dev/requested-address', 'ipAddress'])(
    'by the annotation %s gets it when it is free',
    async annotation => {
      const world = await aWorld()
      const pool = await world.create(aPool())
      await aServedClaim(
        world,
        aClaim()
          .on(pool)
          .annotated({ [annotation]: '10.0.1.16' }),
        '10.0.1.16',
      )
    },
  )

  test('in any spelling gets it in the canonical one', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool().withAddresses('2001:db8::/64').withPrefix(64))
    await aServedClaim(world, aClaim().on(pool).asking('2001:0db8::0005'), '2001:db8::5')
  })

  test('that is taken says so, and gets it when it is free', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const first = await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    const claim = aClaim().on(pool).asking('10.0.1.1')
    await world.create(claim)
    await saysWhy(world, claim, 'AllocationFailed', '10.0.1.1 is held by claim')
    await staysUnserved(world, claim, 1_000)
    await world.delete(first)
    await isServed(world, claim, '10.0.1.1')
  })

  test.each([
    ['not of the pool', '10.9.9.9', 'is not among the addresses'],
    ['excluded', '10.0.1.66', 'is excluded'],
    ['the gateway', '10.0.1.1', 'is the gateway'],
    ['reserved', '10.0.1.255', 'is no address for a host'],
    ['of the other family', 'fd00::1', 'is not an IPv4 address'],
    ['none', 'not-a-valid-ip', 'not-a-valid-ip'],
  ])('which it cannot have (%s) is told so, and given no other', async (_, address, message) => {
    const world = await aWorld()
    const pool = await world.create(aPool().withGateway('10.0.1.1').without('10.0.1.66'))
    const claim = aClaim().on(pool).asking(address)
    await world.create(claim)
    await saysWhy(world, claim, 'AllocationFailed', message)
    await staysUnserved(world, claim, 1_000)
  })

  test('that the pool takes up later gets it then', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.0.1.10-10.0.1.20'))
    const claim = aClaim().on(pool).asking('10.0.1.30')
    await world.create(claim)
    await saysWhy(world, claim, 'AllocationFailed', 'is not among the addresses')
    await world.patch(pool, { spec: { addresses: ['10.0.1.10-10.0.1.30'] } })
    await isServed(world, claim, '10.0.1.30')
  })

  test('and takes its wish back gets another', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = aClaim().on(pool).asking('10.9.9.9')
    await world.create(claim)
    await saysWhy(world, claim, 'AllocationFailed')
    await world.patch(claim, { metadata: { annotations: { 'mooring.dev/requested-address': null } } })
    await isServed(world, claim, '10.0.1.1')
  })
})

describe('A pool whose gateway is changed', () => {
  test.each([
    ['of a namespace', anAddressPool],
    ['of the cluster', aClusterAddressPool],
    ['of the in-cluster provider', aPool],
  ])('gives the former one, of a pool %s, to no claim while a holder is told it', async (_, pool) => {
    const world = await aWorld()
    const made = await world.create(pool().withAddresses('10.0.1.0/29').withPrefix(29).withGateway('10.0.1.1'))
    const first = await aServedClaim(world, aClaim().on(made), '10.0.1.2')
    await world.patch(made, { spec: { gateway: '10.0.1.6' } })
    const next = await aServedClaim(world, aClaim().on(made), '10.0.1.3')
    expect((await world.report(next))?.spec.gateway).toBe('10.0.1.6')
    const wish = aClaim().on(made).asking('10.0.1.1')
    await world.create(wish)
    await saysWhy(world, wish, 'AllocationFailed', '10.0.1.1')
    await world.delete(first)
    await isServed(world, wish, '10.0.1.1')
  })
})

describe('A pool that keeps addresses for named claims', () => {
  const keeping = () => anAddressPool().with({ preAllocations: { database: '10.0.1.5' } })

  test('gives it to that claim, and to no other', async () => {
    const world = await aWorld()
    const pool = await world.create(keeping().withAddresses('10.0.1.5-10.0.1.6'))
    await aServedClaim(world, aClaim().on(pool), '10.0.1.6')
    const stranger = aClaim().on(pool).asking('10.0.1.5')
    await world.create(stranger)
    await saysWhy(world, stranger, 'AllocationFailed', 'is kept for another claim')
    await aServedClaim(world, aClaim().named('database').on(pool), '10.0.1.5')
  })

  test('refuses a claim that asks for another one than is kept for it', async () => {
    const world = await aWorld()
    const pool = await world.create(keeping())
    const claim = aClaim().named('database').on(pool).asking('10.0.1.9')
    await world.create(claim)
    await saysWhy(world, claim, 'AllocationFailed', 'keeps 10.0.1.5 for it')
    await world.patch(claim, { metadata: { annotations: { 'mooring.dev/requested-address': '10.0.1.5' } } })
    await isServed(world, claim, '10.0.1.5')
  })

  test('says so when what it keeps is none of its own, and gives no other', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool().with({ preAllocations: { database: '10.9.9.9' } }))
    const claim = aClaim().named('database').on(pool)
    await world.create(claim)
    await saysWhy(world, claim, 'AllocationFailed', '10.9.9.9 is not among the addresses')
  })

  test('of the cluster keeps them by namespace and name, and a plain name is no claim of any namespace', async () => {
    const world = await aWorld()
    const preAllocations = { database: '10.0.1.5', [`${world.home}/queue`]: '10.0.1.6' }
    const pool = await world.create(aClusterAddressPool().withAddresses('10.0.1.5-10.0.1.7').with({ preAllocations }))
    await aServedClaim(world, aClaim().named('database').on(pool), '10.0.1.7')
    await aServedClaim(world, aClaim().named('queue').on(pool), '10.0.1.6')
  })

  test('goes although no claim came for what it keeps', async () => {
    const world = await aWorld()
    const pool = await world.create(keeping())
    await world.eventually(async () => expect((await world.get(pool))?.metadata.finalizers).toBeDefined())
    await world.delete(pool)
    await isGone(world, pool)
  })
})

describe('A range that is drained', () => {
  test('stays with the claims that have it, and gives nothing new', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool().withAddresses('10.0.1.10-10.0.1.12'))
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.10')
    await world.patch(pool, { spec: { draining: ['10.0.1.10-10.0.1.11'] } })
    await world.heard(pool)
    await aServedClaim(world, aClaim().on(pool), '10.0.1.12')
    const late = aClaim().on(pool)
    await world.create(late)
    await saysWhy(world, late, 'PoolExhausted')
    expect(await addressOf(world, claim)).toBe('10.0.1.10')
    await world.delete(claim)
    await isGone(world, claim)
    await staysUnserved(world, late, 1_000)
  })
})

describe('Pools of one space', () => {
  test('that list the same addresses never give one to two claims', async () => {
    const world = await aWorld()
    const space = `s${Date.now().toString(36)}`
    const other = await world.create(aClusterAddressPool().withAddresses('10.0.1.7-10.0.1.8').with({ space }))
    const first = await aServedClaim(world, aClaim().on(other), '10.0.1.7')
    const one = await world.create(anAddressPool().withAddresses('10.0.1.7-10.0.1.8').with({ space }))
    await aServedClaim(world, aClaim().on(one), '10.0.1.8')
    const late = aClaim().on(other)
    await world.create(late)
    await saysWhy(world, late, 'PoolExhausted')
    await world.delete(first)
    await isServed(world, late, '10.0.1.7')
  })
})

describe('A pool of a namespace that names a space', () => {
  const entry = '10.0.1.7-10.0.1.8'

  test('shares it with the other pools of its namespace, and with no other namespace', async () => {
    const world = await aWorld()
    const space = 'Blue_wire.1'
    const there = await world.anotherNamespace()
    const one = await world.create(anAddressPool().withAddresses(entry).with({ space }))
    const other = await world.create(anAddressPool().withAddresses(entry).with({ space }))
    const elsewhere = await world.create(anAddressPool().withAddresses(entry).with({ space }).in(there))
    await aServedClaim(world, aClaim().on(one), '10.0.1.7')
    await aServedClaim(world, aClaim().on(other), '10.0.1.8')
    await aServedClaim(world, aClaim().on(elsewhere).in(there), '10.0.1.7')
  })

  test('joins one of the cluster only when that is offered to its namespace, whatever its status says', async () => {
    const world = await aWorld()
    const space = `s${Date.now().toString(36)}`
    const there = await world.anotherNamespace({ zone: 'green' })
    const allowedNamespaces = { matchLabels: { zone: 'blue' } }
    await world.create(aClusterAddressPool().withAddresses(entry).with({ space, allowedNamespaces }))
    // The desk has seen the pool when it serves a later one.
    await aServedClaim(world, aClaim().on(await world.create(aClusterAddressPool())))
    const pool = await world.create(anAddressPool().withAddresses(entry).with({ space }).in(there))
    const claim = aClaim().on(pool).in(there)
    await world.create(claim)
    await saysWhy(world, claim, 'PoolNotReady', 'is not offered to namespace')
    await world.patch(pool, { status: { space } }, 'status')
    const another = aClaim().on(pool).in(there)
    await world.create(another)
    await saysWhy(world, another, 'PoolNotReady', 'is not offered to namespace')
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: there } }
    await world.patch(namespace, { metadata: { labels: { zone: 'blue' } } })
    await isServed(world, claim, '10.0.1.7')
    await isServed(world, another, '10.0.1.8')
  })
})

describe('A quota', () => {
  test('of a namespace is not overdrawn by claims that come all at once, and others are served', async () => {
    const world = await aWorld()
    const pool = await world.create(aClusterAddressPool().with({ quota: { perNamespace: 3 } }))
    const made = Array.from({ length: 12 }, () => aClaim().on(pool))
    await Promise.all(made.map(claim => world.create(claim)))
    const there = await world.anotherNamespace()
    await aServedClaim(world, aClaim().on(pool).in(there))
    await world.always(async () => {
      const served = await Promise.all(made.map(claim => addressOf(world, claim)))
      expect(served.filter(address => address !== undefined).length).toBeLessThanOrEqual(3)
    }, 1_000)
    const served = await Promise.all(made.map(claim => addressOf(world, claim)))
    const [first] = made.filter((_, i) => served[i] !== undefined)
    expect(served.filter(address => address !== undefined)).toHaveLength(3)
    if (first !== undefined) await world.delete(first)
    await world.eventually(async () => {
      const now = await Promise.all(made.map(claim => addressOf(world, claim)))
      expect(now.filter(address => address !== undefined)).toHaveLength(3)
    })
  })
})

describe('A pool for certain namespaces', () => {
  test('serves a claim as soon as its namespace has the label', async () => {
    const world = await aWorld()
    const pool = await world.create(
      aClusterAddressPool().with({ allowedNamespaces: { matchLabels: { zone: 'blue' } } }),
    )
    const there = await world.anotherNamespace({ zone: 'green' })
    const claim = aClaim().on(pool).in(there)
    await world.create(claim)
    await saysWhy(world, claim, 'AllocationFailed', 'is not offered to namespace')
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: there } }
    await world.patch(namespace, { metadata: { labels: { zone: 'blue' } } })
    await isServed(world, claim, '10.0.1.1')
  })
})

describe('A small or a large pool', () => {
  test.each([
    ['10.0.1.6/31', 31, ['10.0.1.6', '10.0.1.7']],
    ['10.0.1.6/32', 32, ['10.0.1.6']],
    ['fd00::6/127', 127, ['fd00::6', 'fd00::7']],
    ['fd00::6/128', 128, ['fd00::6']],
    ['255.255.255.254-255.255.255.255', 31, ['255.255.255.254', '255.255.255.255']],
    ['10.0.1.4/30', 30, ['10.0.1.5', '10.0.1.6']],
  ])('of %s gives out all that hosts can use', async (entry, prefix, addresses) => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses(entry).withPrefix(prefix))
    for (const address of addresses) await aServedClaim(world, aClaim().on(pool), address)
    const late = aClaim().on(pool)
    await world.create(late)
    await saysWhy(world, late, 'PoolExhausted', 'no address available')
  })

  test('of 2^64 addresses serves like any other', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('2001:db8::/64').withPrefix(64).withGateway('2001:db8::1'))
    await aServedClaim(world, aClaim().on(pool), '2001:db8::2')
    const end = '2001:db8::ffff:ffff:ffff:ffff'
    await aServedClaim(world, aClaim().on(pool).asking(end), end)
  })

  test('without a prefix leaves out no network and no broadcast address', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('192.168.1.0', '192.168.1.255').withPrefix(0))
    for (const address of ['192.168.1.0', '192.168.1.255']) await aServedClaim(world, aClaim().on(pool), address)
  })

  test('that may give out reserved addresses gives out all but the gateway', async () => {
    const world = await aWorld()
    const pool = await world.create(
      aPool()
        .withAddresses('10.0.1.0/30')
        .withPrefix(30)
        .withGateway('10.0.1.1')
        .with({ allocateReservedIPAddresses: true }),
    )
    for (const address of ['10.0.1.0', '10.0.1.2', '10.0.1.3']) await aServedClaim(world, aClaim().on(pool), address)
  })

  test('gives random addresses where it says so, each once, until the last one', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool().withAddresses('10.0.1.16-10.0.1.23').with({ strategy: 'random' }))
    const given = new Set<string>()
    for (let i = 0; i < 8; i++) {
      const claim = await aServedClaim(world, aClaim().on(pool))
      given.add((await addressOf(world, claim)) ?? '')
    }
    expect(given.size).toBe(8)
    const late = aClaim().on(pool)
    await world.create(late)
    await saysWhy(world, late, 'PoolExhausted')
  })
})

describe('A pool that a user spoiled', () => {
  test('by an IPAddress out of its range serves on', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.0.1.10-10.0.1.20'))
    await world.create(anAddressFor(aClaim().on(pool), '172.16.0.1'))
    await aServedClaim(world, aClaim().on(pool), '10.0.1.10')
  })
})

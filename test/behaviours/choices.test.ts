import { describe, expect, test } from 'vitest'
import {
  aClaim,
  aClusterAddressPool,
  anAddressFor,
  anAddressPool,
  type ClaimDraft,
  ownerReferenceTo,
} from './builders.ts'
import { holds } from './kinds.ts'
import { aServedClaim, isGone, isServed, readyOf, saysWhy, staysUnserved } from './promises.ts'
import { aWorld, type Stored, type World } from './world.ts'

const choice = 'mooring.dev/address'
const subnet = 'mooring.dev/subnet'
const chose = (address: string) => ({ [choice]: address })

/** Offered to namespaces with this label alone. */
const offer = { allowedNamespaces: { matchLabels: { tier: 'prod' } } }

/** Whatever pool gave it. */
async function holdsOfClaim(world: World, claim: Stored): Promise<Stored[]> {
  const all = (await world.client.list(holds)).items as Stored[]
  return all.filter(({ spec }) => spec.claimRef.uid === claim.metadata.uid)
}

interface Case {
  readonly address: string
  readonly pool?: Readonly<Record<string, unknown>>
  /** What happens before the claim comes. */
  readonly before?: (world: World, pool: Stored) => Promise<unknown>
  readonly why: RegExp
}

const cases: readonly (readonly [string, Case])[] = [
  ['of a pool that is not offered to its namespace', { address: '10.0.1.7', pool: offer, why: /is not offered to/ }],
  [
    'beyond the quota of its namespace',
    {
      address: '10.0.1.7',
      pool: { quota: { perNamespace: 1 } },
      before: (world, pool) => aServedClaim(world, aClaim().on(pool)),
      why: /already holds its quota of 1 address/,
    },
  ],
  ['that its pool excludes', { address: '10.0.1.3', pool: { excludedAddresses: ['10.0.1.3'] }, why: /is excluded/ }],
  ['that is the gateway', { address: '10.0.1.1', pool: { gateway: '10.0.1.1' }, why: /is the gateway of/ }],
  ['that is the network itself', { address: '10.0.1.0', why: /is no address for a host/ }],
  ['that is the broadcast address', { address: '10.0.1.255', why: /is no address for a host/ }],
  ['that its pool does not list', { address: '192.0.2.7', why: /is not among the addresses of/ }],
  [
    'that is kept for another claim',
    { address: '10.0.1.5', pool: { preAllocations: { boss: '10.0.1.5' } }, why: /is kept for another claim/ },
  ],
  ['that is being drained', { address: '10.0.1.9', pool: { draining: ['10.0.1.9'] }, why: /is being drained/ }],
  [
    'of a pool that is being deleted',
    {
      address: '10.0.1.7',
      before: async (world, pool) => {
        await aServedClaim(world, aClaim().on(pool))
        await world.delete(pool)
      },
      why: /is being deleted and gives out nothing new/,
    },
  ],
]

async function aPoolFor(world: World, { pool: spec = {}, before }: Case): Promise<Stored> {
  const pool = await world.create(aClusterAddressPool().with(spec))
  await before?.(world, pool)
  return pool
}

async function isRefused(world: World, claim: ClaimDraft, why: RegExp): Promise<void> {
  await world.eventually(async () => expect(readyOf(await world.get(claim))?.message).toMatch(why))
  await staysUnserved(world, claim, 1_000)
  expect(await holdsOfClaim(world, (await world.get(claim)) as Stored)).toEqual([])
}

describe('A claim whose author writes that an address is its own', () => {
  test.each(cases)('%s is told why not, and takes nothing', async (_, what) => {
    const world = await aWorld()
    const pool = await aPoolFor(world, what)
    const claim = aClaim().on(pool).annotated(chose(what.address))
    await world.create(claim)
    await isRefused(world, claim, what.why)
  })

  test('waits for that very address, and has it when it may', async () => {
    const world = await aWorld()
    const pool = await world.create(aClusterAddressPool().with({ draining: ['10.0.1.9'] }))
    const claim = aClaim().on(pool).annotated(chose('10.0.1.9'))
    await world.create(claim)
    await saysWhy(world, claim, 'AllocationFailed', /is being drained/)
    await world.patch(pool, { spec: { draining: null } })
    await isServed(world, claim, '10.0.1.9')
  })

  test('learns nothing about the addresses of a pool that is not offered to it', async () => {
    const world = await aWorld()
    const prod = await world.anotherNamespace({ tier: 'prod' })
    const pool = await world.create(aClusterAddressPool().with({ ...offer, quarantineSeconds: 300 }))
    await aServedClaim(world, aClaim().in(prod).on(pool), '10.0.1.1')
    const left = await aServedClaim(world, aClaim().in(prod).on(pool), '10.0.1.2')
    await world.delete(left)
    await isGone(world, left)
    const told = new Set<string>()
    for (const address of ['10.0.1.1', '10.0.1.2', '10.0.1.3', '192.0.2.1']) {
      const claim = await world.create(aClaim().on(pool).annotated(chose(address)))
      await saysWhy(world, claim, 'AllocationFailed')
      told.add(readyOf(await world.get(claim))?.message ?? '')
    }
    expect([...told]).toEqual([expect.stringMatching(/is not offered to namespace/)])
  })

  test('never gets what a claim of another namespace leaves, of a pool that is not offered to it', async () => {
    const world = await aWorld()
    const prod = await world.anotherNamespace({ tier: 'prod' })
    const pool = await world.create(aClusterAddressPool().with(offer))
    const victim = await aServedClaim(world, aClaim().in(prod).on(pool), '10.0.1.1')
    const sniper = aClaim().on(pool).annotated(chose('10.0.1.1'))
    await world.create(sniper)
    await saysWhy(world, sniper, 'AllocationFailed', /is not offered to/)
    await world.delete(victim)
    await isGone(world, victim)
    await isRefused(world, sniper, /is not offered to/)
    await aServedClaim(world, aClaim().in(prod).on(pool), '10.0.1.1')
  })

  test('does not choose prefix length and gateway with it', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool().withGateway('10.0.1.254'))
    const evil = { [subnet]: '0 via 192.0.2.66' }
    const plain = await aServedClaim(world, aClaim().on(pool).annotated(evil))
    expect((await world.report(plain))?.spec).toMatchObject({ prefix: 24, gateway: '10.0.1.254' })
    expect((await world.get(plain))?.metadata.annotations?.[subnet]).toBe('24 via 10.0.1.254')
    const guard = 'ipam.cluster.x-k8s.io/ReleaseAddress'
    const chosen = aClaim()
      .on(pool)
      .annotated({ ...chose('10.0.1.9'), ...evil })
      .guardedBy(guard)
    await world.create(chosen)
    await isRefused(world, chosen, /says that the IPAddress of this claim said "0 via 192\.0\.2\.66"/)
    await world.patch(chosen, { metadata: { annotations: { [subnet]: null } } })
    await isServed(world, chosen, '10.0.1.9')
    expect((await world.report(chosen))?.spec).toMatchObject({ prefix: 24, gateway: '10.0.1.254' })
  })

  test('in more letters than a status can hold is told so', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool())
    const claim = aClaim()
      .on(pool)
      .annotated(chose('B'.repeat(200_000)))
    await world.create(claim)
    await saysWhy(
      world,
      claim,
      'AllocationFailed',
      /^the annotation mooring\.dev\/address says "B+"\.\.\. \(200000 char/,
    )
  })
})

describe('A claim that waits, and whose author then writes that an address is its own', () => {
  test.each(cases)('%s is told why not, and takes nothing', async (_, what) => {
    const world = await aWorld()
    const pool = await aPoolFor(world, what)
    const claim = aClaim().on(pool).asking('198.51.100.1')
    await world.create(claim)
    await world.eventually(async () => expect(readyOf(await world.get(claim))?.status).toBe('False'))
    await world.patch(claim, { metadata: { annotations: chose(what.address) } })
    await isRefused(world, claim, what.why)
  })
})

describe('A choice on a claim that is paused', () => {
  test('keeps its address from others as far as the claim could be given it, and the pool says so', async () => {
    const world = await aWorld()
    const pool = await world.create(
      aClusterAddressPool()
        .withAddresses('10.0.1.10-10.0.1.14')
        .with({ quota: { perNamespace: 2 } }),
    )
    for (const address of ['10.0.1.10', '10.0.1.11', '10.0.1.12', '10.0.1.13', '10.0.1.14']) {
      await world.create(aClaim().on(pool).paused().annotated(chose(address)))
    }
    await world.eventually(async () => {
      expect((await world.get(pool))?.status.addresses).toMatchObject({ total: 5, free: 3, held: 0, shown: 2 })
    })
    await aServedClaim(
      world,
      aClaim()
        .in(await world.anotherNamespace())
        .on(pool),
      '10.0.1.12',
    )
  })

  test('keeps no address of a pool that is not offered to its namespace', async () => {
    const world = await aWorld()
    const prod = await world.anotherNamespace({ tier: 'prod' })
    const pool = await world.create(aClusterAddressPool().withAddresses('10.0.1.10').with(offer))
    await world.create(aClaim().on(pool).paused().annotated(chose('10.0.1.10')))
    await aServedClaim(world, aClaim().in(prod).on(pool), '10.0.1.10')
  })
})

describe('A claim that arrives with its address and its IPAddress', () => {
  // The gateway of a pool of the cluster is in use, whatever an IPAddress says.
  test.each(cases.filter(([name]) => !name.includes('gateway')))('keeps one %s', async (_, what) => {
    const world = await aWorld()
    const pool = await aPoolFor(world, what)
    const draft = aClaim().on(pool).annotated(chose(what.address))
    const claim = await world.create(draft)
    await world.eventually(async () => expect(readyOf(await world.get(claim))?.message).toMatch(what.why))
    const { object } = anAddressFor(draft, what.address, { prefix: 23, gateway: '10.0.0.1' })
    await world.create({ ...object, metadata: { ...object.metadata, ownerReferences: [ownerReferenceTo(claim)] } })
    await isServed(world, claim, what.address)
    expect(await holdsOfClaim(world, claim)).toHaveLength(1)
    expect((await world.report(claim))?.spec).toMatchObject({ prefix: 23, gateway: '10.0.0.1' })
    expect((await world.get(claim))?.metadata.annotations?.[subnet]).toBe('23 via 10.0.0.1')
  })
})

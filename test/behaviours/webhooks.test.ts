import { beforeEach, describe, expect, test } from 'vitest'
import {
  aClaim,
  aClusterAddressPool,
  aGlobalPool,
  aGlobalPrefixPool,
  anAddressFor,
  anAddressPool,
  aPool,
  aPrefixPool,
  ownerReferenceTo,
  type PoolDraft,
} from './builders.ts'
import { coreVersion } from './definitions.ts'
import { claims } from './kinds.ts'
import { aServedClaim, isGone, isServed } from './promises.ts'
import { aWorld, type Stored, type Thing, type World } from './world.ts'

const aWorldWithWebhooks = () => aWorld({ hasWebhooks: true })

async function isRefused(attempt: Promise<unknown>, message: string | RegExp): Promise<void> {
  await expect(attempt).rejects.toThrow(message)
}

const aClaimInUse = (world: World, pool: Stored, address: string) => aServedClaim(world, aClaim().on(pool), address)

const both: readonly (readonly [string, () => PoolDraft])[] = [
  ['a pool', aPool],
  ['a global pool', aGlobalPool],
]

describe.each(both)('The webhook of %s', (_, pool) => {
  test('refuses its deletion while an address is held, and allows it then', async () => {
    const world = await aWorldWithWebhooks()
    const listed = await world.create(pool())
    const claim = await aClaimInUse(world, listed, '10.0.1.1')
    await isRefused(world.delete(listed), /still|in use|held|IPAddress/i)
    await world.delete(claim)
    await isGone(world, claim)
    await world.eventually(() => world.delete(listed))
    await isGone(world, listed)
  })

  test.each(['ipam.cluster.x-k8s.io/skip-validate-delete-webhook', 'clusterctl.cluster.x-k8s.io/delete-for-move'])(
    'allows its deletion under the annotation %s',
    async annotation => {
      const world = await aWorldWithWebhooks()
      const listed = await world.create(pool())
      await aClaimInUse(world, listed, '10.0.1.1')
      await world.patch(listed, { metadata: { annotations: { [annotation]: '' } } })
      await world.delete(listed)
    },
  )

  test('refuses to take away an address that is held', async () => {
    const world = await aWorldWithWebhooks()
    const listed = await world.create(pool().withAddresses('10.0.1.10-10.0.1.20'))
    await aClaimInUse(world, listed, '10.0.1.10')
    await isRefused(world.patch(listed, { spec: { addresses: ['10.0.1.15-10.0.1.20'] } }), '10.0.1.10')
    await isRefused(world.patch(listed, { spec: { excludedAddresses: ['10.0.1.10'] } }), '10.0.1.10')
    await world.patch(listed, { spec: { addresses: ['10.0.1.10', '10.0.1.15-10.0.1.20'] } })
  })

  test('lets everything but the addresses change although one is out of range', async () => {
    const world = await aWorldWithWebhooks()
    const listed = await world.create(pool().withAddresses('10.0.1.10-10.0.1.20'))
    const claim = aClaim().on(listed).paused()
    await world.create(claim)
    await world.create(anAddressFor(claim, '10.9.9.9'))
    await world.eventually(async () => expect((await world.get(listed))?.status.ipAddresses.outOfRange).toBe(1))
    await world.patch(listed, { metadata: { labels: { touched: 'yes' } } })
  })

  test.each([
    ['no addresses', { addresses: [] }, 'addresses is required'],
    ['a gateway that is none', { gateway: 'invalid' }, 'gateway'],
    ['an entry that is none', { addresses: ['garbage'] }, 'not a valid IP'],
    [
      'a range from high to low, and says how to write it',
      { addresses: ['10.0.1.30', '10.0.1.10-10.0.1.5'] },
      /spec\.addresses\[1\]: .* ends before it starts: write 10\.0\.1\.5-10\.0\.1\.10/,
    ],
    ['a CIDR with too many bits', { addresses: ['10.0.1.10/33'] }, 'not a valid IP'],
    ['a prefix below zero', { prefix: -1 }, 'prefix'],
    ['a prefix beyond all bits', { prefix: 9999 }, 'prefix'],
    ['a prefix beyond the bits of its family', { prefix: 33 }, 'write the length of the subnet, 0 to 32 for IPv4'],
    ['a range below its subnet', { addresses: ['10.0.1.10', '10.0.0.1-10.0.0.9'] }, 'subnet'],
    ['a range that leaves its subnet', { addresses: ['10.0.1.250-10.0.2.5'] }, 'subnet'],
    ['a gateway of the other family', { gateway: 'fd00::1' }, 'mixed'],
    ['addresses of both families', { addresses: ['10.0.1.1', 'fd00::1'] }, 'mixed'],
    ['exclusions of the other family', { excludedAddresses: ['fd00::1'] }, /famil/],
    ['a rest below zero', { addressReuseGracePeriodSeconds: -1 }, /negative|greater than or equal to 0/],
  ])('refuses %s', async (_, spec, message) => {
    const world = await aWorldWithWebhooks()
    await isRefused(world.create(pool().with(spec)), message)
  })

  test('accepts a pool that says nothing of its subnet', async () => {
    const world = await aWorldWithWebhooks()
    await world.create(pool().withAddresses('10.0.1.1', '172.16.0.1').withPrefix(0))
  })
})

describe('A namespace that is deleted', () => {
  test.each([
    ['an InClusterIPPool', aPool],
    ['an AddressPool', anAddressPool],
  ])(
    'goes, although a claim in it is bound to %s of its own, whose deletion the webhook refuses at first',
    async (_, pool) => {
      const world = await aWorldWithWebhooks()
      const there = await world.anotherNamespace()
      const own = await world.create(pool().in(there))
      await aServedClaim(world, aClaim().on(own).in(there))
      const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: there } }
      await world.delete(namespace)
      await isGone(world, namespace, 60_000)
    },
  )
})

describe('The webhook of AddressPools', () => {
  test('lets a range be retired by draining it, which leaving it out is not', async () => {
    const world = await aWorldWithWebhooks()
    const pool = await world.create(anAddressPool().withAddresses('10.0.1.10-10.0.1.20'))
    await aClaimInUse(world, pool, '10.0.1.10')
    await isRefused(world.patch(pool, { spec: { addresses: ['10.0.1.15-10.0.1.20'] } }), '10.0.1.10')
    await world.patch(pool, { spec: { draining: ['10.0.1.10-10.0.1.14'] } })
  })

  test('refuses an overlap where the pool says so', async () => {
    const world = await aWorldWithWebhooks()
    await world.create(anAddressPool().withAddresses('10.0.1.0/24'))
    await world.eventually(async () => {
      const overlapping = anAddressPool().withAddresses('10.0.1.128/25').with({ overlapPolicy: 'deny' })
      await isRefused(world.create(overlapping), /10\.0\.1\.128/)
    })
  })

  test('lets no tenant list what an administrator keeps apart, whatever their own pool says', async () => {
    const world = await aWorldWithWebhooks()
    await world.create(aClusterAddressPool().withAddresses('172.30.5.0/24').with({ overlapPolicy: 'deny' }))
    const quiet = anAddressPool().withAddresses('172.30.5.128/25').with({ overlapPolicy: 'off' })
    await world.eventually(() => isRefused(world.create(quiet), 'its overlapPolicy is deny'))
  })

  test('lets no tenant keep the authors of other pools from listing anything', async () => {
    const world = await aWorldWithWebhooks()
    const team = await world.anotherNamespace()
    const hog = await world.create(
      anAddressPool().in(team).withAddresses('172.30.6.0/24').with({ overlapPolicy: 'deny' }),
    )
    await world.heard(hog)
    await world.create(aClusterAddressPool().withAddresses('172.30.6.0/26'))
    await world.create(aPool().withAddresses('172.30.6.0/26').withPrefix(24))
    await isRefused(world.create(anAddressPool().in(team).withAddresses('172.30.6.0/26')), 'its overlapPolicy is deny')
  })

  test('tells a tenant of no pool that they cannot see more than that there is one', async () => {
    const world = await aWorldWithWebhooks()
    const team = await world.anotherNamespace()
    const hidden = [
      await world.create(aClusterAddressPool().withAddresses('172.30.7.16/28')),
      await world.create(anAddressPool().in(team).withAddresses('172.30.7.32/28')),
    ]
    for (const pool of hidden) await world.heard(pool)
    const nosy = anAddressPool().withAddresses('172.30.7.0/24')
    const said = await world.create(nosy.with({ overlapPolicy: 'deny' })).catch((error: Error) => error.message)
    expect(said).toContain('a pool of the cluster lists some of these addresses')
    expect(said).toContain('a pool of another namespace lists some of these addresses')
    const stored = await world.create(nosy)
    const condition = await world.eventually(async () => {
      const { conditions = [] } = (await world.get(stored))?.status ?? {}
      const found = conditions.find(({ type }: { type: string }) => type === 'Overlapping')
      expect(found).toMatchObject({ status: 'True', reason: 'AddressesShared' })
      return found
    })
    for (const { metadata } of hidden) {
      for (const text of [said, condition.message]) expect(text).not.toContain(metadata.name)
    }
    expect(`${said}${condition.message}`).not.toMatch(/172\.30\.7\.(16|31|32|47)/)
  })

  test('says which claims are in the way of a deletion', async () => {
    const world = await aWorldWithWebhooks()
    const pool = await world.create(anAddressPool())
    const { metadata } = await aClaimInUse(world, pool, '10.0.1.1')
    await isRefused(world.delete(pool), `1 claim holds addresses of it (${metadata.name}): delete the claims`)
  })

  test('refuses to keep one address for two claims, however it is written', async () => {
    const world = await aWorldWithWebhooks()
    const pool = anAddressPool().withAddresses('2001:db8::/64').withPrefix(64)
    const preAllocations = { a: '2001:db8::5', b: '2001:0db8::0005' }
    await isRefused(world.create(pool.with({ preAllocations })), 'preAllocations')
  })
})

const bothPrefix: readonly (readonly [string, (...prefixes: string[]) => PoolDraft])[] = [
  ['a prefix pool', aPrefixPool],
  ['a global prefix pool', aGlobalPrefixPool],
]

describe.each(bothPrefix)('The webhook of the prefixes of %s', (_, pool) => {
  test.each([
    ['no prefixes', [], {}],
    ['a host', ['fd00::1'], {}],
    ['a prefix with host bits', ['fd00::1/64'], {}],
    ['a prefix longer than what it gives out', ['fd00::/65'], { allocationPrefixLength: 64 }],
  ])('refuses %s', async (_, prefixes, spec) => {
    const world = await aWorldWithWebhooks()
    await isRefused(world.create(pool(...prefixes).with(spec)), /prefix/i)
  })

  test('refuses to take away or exclude a prefix that is held, or to give out another length', async () => {
    const world = await aWorldWithWebhooks()
    const listed = await world.create(pool('fd00::/62'))
    await aClaimInUse(world, listed, 'fd00::')
    await isRefused(world.patch(listed, { spec: { prefixes: ['fd00:0:0:1::/64'] } }), /fd00::/)
    await isRefused(world.patch(listed, { spec: { excludedPrefixes: ['fd00::/64'] } }), /fd00::/)
    await isRefused(world.patch(listed, { spec: { allocationPrefixLength: 63 } }), 'immutable')
  })
})

describe('The webhook of IPAddresses and claims', () => {
  beforeEach(({ skip }) => {
    skip(
      coreVersion !== 'v1beta2',
      'where v1beta1 is all there is, Cluster API is installed and has webhooks for its own kinds',
    )
  })

  test('accepts what fits its claim, and refuses another pool', async () => {
    const world = await aWorldWithWebhooks()
    const pool = await world.create(aPool().paused())
    const claim = aClaim().on(pool)
    await world.create(claim)
    const other = aClaim()
      .on(aPool())
      .named(claim.object.metadata.name ?? '')
    await world.eventually(() => isRefused(world.create(anAddressFor(other, '10.0.1.9')), 'poolRef'))
    await world.create(anAddressFor(claim, '10.0.1.9'))
  })

  test.each([
    ['10.0.1.9', 64],
    ['10.0.1.9', -1],
    ['fd00::9', 256],
  ])('refuses %s with a prefix of %i', async (address, prefix) => {
    const world = await aWorldWithWebhooks()
    const pool = await world.create(aPool().paused())
    const claim = aClaim().on(pool)
    await world.create(claim)
    await isRefused(world.create(anAddressFor(claim, address, { prefix })), 'prefix')
  })

  test('refuses every change of their spec, and nothing else', async () => {
    const world = await aWorldWithWebhooks()
    const pool = await world.create(aPool())
    const claim = await aClaimInUse(world, pool, '10.0.1.1')
    const report = (await world.report(claim)) as Thing
    await isRefused(world.patch(claim, { spec: { poolRef: { name: 'another' } } }), 'immutable')
    await isRefused(world.patch(report, { spec: { address: '10.0.1.9' } }), 'immutable')
    await world.patch(claim, { metadata: { labels: { touched: 'yes' } } })
    await world.patch(report, { metadata: { labels: { touched: 'yes' } } })
  })

  test('keeps a bound claim at its address, whatever is written to its annotation', async () => {
    const world = await aWorldWithWebhooks()
    const pool = await world.create(aPool())
    const claim = await aClaimInUse(world, pool, '10.0.1.1')
    const say = (address: string | null) =>
      world.patch(claim, { metadata: { annotations: { 'mooring.dev/address': address } } })
    await isRefused(say('10.0.1.9'), 'this claim is bound to 10.0.1.1 and does not move to 10.0.1.9')
    const moving = { 'mooring.dev/address': '10.0.1.9', 'clusterctl.cluster.x-k8s.io/delete-for-move': '' }
    await isRefused(world.patch(claim, { metadata: { annotations: moving } }), 'does not move to 10.0.1.9')
    await say(null)
    await world.eventually(async () => {
      expect((await world.get(claim))?.metadata.annotations).toMatchObject({ 'mooring.dev/address': '10.0.1.1' })
    })
  })

  test('lets a claim arrive with the address it has, by a user who may create holds', async () => {
    const world = await aWorldWithWebhooks()
    const pool = await world.create(aPool())
    const claim = aClaim().on(pool).annotated({ 'mooring.dev/address': '10.0.1.7' })
    await world.create(claim)
    await world.eventually(async () => expect((await world.report(claim))?.spec.address).toBe('10.0.1.7'))
  })
})

describe('A tenant, who may write claims and IPAddresses and no holds', () => {
  const tenant = 'tenant'
  const choice = { 'mooring.dev/address': '10.0.1.7' }
  const subnet = { 'mooring.dev/subnet': '0 via 192.0.2.66' }
  const annotations = 'are written by Mooring, and by users who may create holds'
  const addresses = 'says which address a claim has'

  async function aTenant(world: World): Promise<World> {
    const [apiGroup, name] = ['rbac.authorization.k8s.io', 'tenant']
    const rules = [
      { apiGroups: ['ipam.cluster.x-k8s.io'], resources: ['ipaddressclaims', 'ipaddresses'], verbs: ['*'] },
    ]
    const apiVersion = `${apiGroup}/v1`
    await world.create({ apiVersion, kind: 'Role', metadata: { name }, rules } as Thing)
    const subjects = [{ apiGroup, kind: 'User', name: tenant }]
    const roleRef = { apiGroup, kind: 'Role', name }
    await world.create({ apiVersion, kind: 'RoleBinding', metadata: { name }, subjects, roleRef } as Thing)
    const theirs = world.as(tenant)
    // A server learns of roles and policies a moment later.
    await world.eventually(async () => {
      const draft = aClaim().on(aPool()).annotated(choice).object
      const placed = { ...draft, metadata: { ...draft.metadata, namespace: world.home } }
      await isRefused(theirs.client.create(claims, placed, { isDryRun: true }), annotations)
    })
    return theirs
  }

  test('may not write that a claim has an address, or a gateway', async () => {
    const world = await aWorldWithWebhooks()
    const pool = await world.create(aPool())
    const theirs = await aTenant(world)
    for (const said of [choice, subnet]) {
      await isRefused(theirs.create(aClaim().on(pool).annotated(said)), annotations)
    }
    const claim = await theirs.create(aClaim().on(pool).asking('10.0.2.1'))
    for (const said of [choice, subnet]) {
      await isRefused(theirs.patch(claim, { metadata: { annotations: said } }), annotations)
    }
  })

  test('may write all else, and take off what Mooring wrote, which comes back', async () => {
    const world = await aWorldWithWebhooks()
    const pool = await world.create(aPool())
    const theirs = await aTenant(world)
    const claim = await theirs.create(aClaim().on(pool).asking('10.0.1.7'))
    await isServed(world, claim, '10.0.1.7')
    await theirs.patch(claim, { metadata: { labels: { touched: 'yes' }, annotations: choice } })
    await isRefused(theirs.patch(claim, { metadata: { annotations: subnet } }), annotations)
    await theirs.patch(claim, {
      metadata: { annotations: { 'mooring.dev/address': null, 'mooring.dev/subnet': null } },
    })
    await world.eventually(async () => {
      expect((await world.get(claim))?.metadata.annotations).toMatchObject({ ...choice, 'mooring.dev/subnet': '24' })
    })
    await theirs.delete(claim)
    await isGone(world, claim)
  })

  test('may not make an IPAddress of a pool, or give one to a claim', async () => {
    const world = await aWorldWithWebhooks()
    const pool = await world.create(aPool())
    const theirs = await aTenant(world)
    const draft = aClaim().on(pool)
    await isRefused(theirs.create(anAddressFor(draft, '10.0.1.7')), addresses)
    const made = await world.create(anAddressFor(draft, '10.0.1.7'))
    const claim = await theirs.create(aClaim().on(pool))
    const ownerReferences = [{ ...ownerReferenceTo(claim), blockOwnerDeletion: false }]
    await isRefused(theirs.patch(made, { metadata: { ownerReferences } }), addresses)
    await theirs.patch(made, { metadata: { labels: { touched: 'yes' } } })
    const elsewhere = { ...pool, apiVersion: 'elsewhere.example.com/v1', kind: 'Pool' }
    await theirs.create(anAddressFor(aClaim().on(elsewhere), '10.0.1.7'))
  })
})

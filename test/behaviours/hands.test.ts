import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../src/kube/object.ts'
import {
  aClaim,
  anAddressFor,
  anAddressPool,
  aPool,
  aPrefixPool,
  type ClaimDraft,
  ownerReferenceTo,
} from './builders.ts'
import { kindIn } from './definitions.ts'
import {
  addressOf,
  aServedClaim,
  eventsAbout,
  holdsBecome,
  holdsOf,
  isGone,
  isServed,
  reportIsGone,
  saysWhy,
  staysUnserved,
} from './promises.ts'
import { aWorld, type Stored, type World } from './world.ts'

const choice = 'mooring.dev/address'

describe('An IPAddress that was there before its claim', () => {
  test('is kept as it is, and gets its owners and our finalizer', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withGateway('10.0.1.1'))
    const claim = aClaim().on(pool)
    const before = await world.create(anAddressFor(claim, '10.0.1.77'))
    await aServedClaim(world, claim, '10.0.1.77')
    const after = await world.report(claim)
    expect(after?.spec).toEqual(before.spec)
    expect(after?.metadata.uid).toBe(before.metadata.uid)
    expect(after?.metadata.ownerReferences?.map(({ kind }) => kind)).toEqual(['IPAddressClaim', 'InClusterIPPool'])
    expect(after?.metadata.finalizers).toEqual(['ipam.cluster.x-k8s.io/ProtectAddress'])
  })

  test('is kept although the pool does not list it any more', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.0.1.10-10.0.1.20'))
    const claim = aClaim().on(pool)
    await world.create(anAddressFor(claim, '10.0.1.77'))
    await aServedClaim(world, claim, '10.0.1.77')
  })

  test('keeps its address from all other claims', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withAddresses('10.0.1.10-10.0.1.11'))
    await world.create(anAddressFor(aClaim().on(pool), '10.0.1.10'))
    await aServedClaim(world, aClaim().on(pool), '10.0.1.11')
    const late = aClaim().on(pool)
    await world.create(late)
    await saysWhy(world, late, 'PoolExhausted')
  })

  test('shares its address with another: neither claim is served until one of them is gone', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const [one, other] = [aClaim().on(pool), aClaim().on(pool)]
    await world.create(anAddressFor(one, '10.0.1.10'))
    const wrong = await world.create(anAddressFor(other, '10.0.1.10'))
    await world.create(one)
    await saysWhy(world, one, 'AllocationFailed', /10\.0\.1\.10.*shown by another/)
    await world.delete(wrong)
    await isServed(world, one, '10.0.1.10')
  })

  test('of a prefix pool is kept, also when it names an address inside the prefix', async () => {
    const world = await aWorld()
    const pool = await world.create(aPrefixPool('fd00::/60'))
    const claim = aClaim().on(pool)
    await world.create(anAddressFor(claim, 'fd00:0:0:5::1234', { prefix: 64 }))
    await aServedClaim(world, claim, 'fd00:0:0:5::1234')
    for (const prefix of ['fd00::', 'fd00:0:0:1::', 'fd00:0:0:2::', 'fd00:0:0:3::', 'fd00:0:0:4::', 'fd00:0:0:6::']) {
      await aServedClaim(world, aClaim().on(pool), prefix)
    }
  })

  test('that cannot be read does not stop the pool', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    await world.create(anAddressFor(aClaim().on(pool), 'fe80::1', { prefix: 64 }))
    await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
  })

  test('belongs to a claim of another name is left alone while that claim lives', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool))
    const { object } = anAddressFor(aClaim().on(pool), '10.0.1.9')
    const ownerReferences = [
      {
        apiVersion: claim.apiVersion ?? '',
        kind: 'IPAddressClaim',
        name: claim.metadata.name ?? '',
        uid: claim.metadata.uid ?? '',
      },
    ]
    const odd = await world.create({ ...object, metadata: { ...object.metadata, ownerReferences } })
    await world.always(async () => expect(await world.get(odd)).toEqual(odd))
  })

  test('names another pool than its claim: the claim says so, and nothing is touched', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = aClaim().on(pool)
    const made = await world.create(
      anAddressFor(
        aClaim()
          .on(aPool())
          .named(claim.object.metadata.name ?? ''),
        '10.0.1.9',
      ),
    )
    await world.create(claim)
    await saysWhy(world, claim, 'AllocationFailed')
    const said = await world.get(claim)
    await world.always(async () => {
      expect(await world.report(claim)).toEqual(made)
      expect(await world.get(claim)).toEqual(said)
      expect(await holdsOf(world, pool)).toEqual([])
    }, 1_000)
  })
})

describe('An IPAddress in use', () => {
  test('that a user deletes stays while its claim lives', async () => {
    const world = await aWorld()
    const claim = await aServedClaim(world, aClaim().on(await world.create(aPool())))
    await world.delete({ ...(await report(world, claim)) })
    await world.always(async () => expect(await addressOf(world, claim)).toBe('10.0.1.1'))
  })

  test('inside of a prefix, whose owners a user takes off, gets them back and stays what it is', async () => {
    const world = await aWorld()
    const pool = await world.create(aPrefixPool('fd00::/60'))
    const draft = aClaim().on(pool)
    await world.create(anAddressFor(draft, 'fd00:0:0:5::1234', { prefix: 64 }))
    const claim = await aServedClaim(world, draft, 'fd00:0:0:5::1234')
    const before = await report(world, claim)
    await world.patch(before, { metadata: { ownerReferences: null } })
    await world.eventually(async () => {
      const after = await report(world, claim)
      expect(after.metadata.ownerReferences).toEqual(before.metadata.ownerReferences)
      expect(after.metadata.uid).toBe(before.metadata.uid)
      expect(after.spec).toEqual(before.spec)
    })
  })

  test('that is removed by force comes back identical, also when lower addresses are free', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const first = await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.2')
    await world.delete(first)
    await isGone(world, first)
    const before = await report(world, claim)
    await world.delete(before)
    await world.patch(before, { metadata: { finalizers: null } })
    await world.eventually(async () => {
      const after = await report(world, claim)
      expect(after.metadata.uid).not.toBe(before.metadata.uid)
      expect(after.spec).toEqual(before.spec)
      expect(after.metadata.ownerReferences).toEqual(before.metadata.ownerReferences)
    })
  })

  test('that is removed by force comes back identical, although its pool has another gateway by now', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().withGateway('10.0.1.1'))
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.2')
    const before = await report(world, claim)
    await world.patch(pool, { spec: { gateway: '10.0.1.254' } })
    await world.delete(before)
    await world.patch(before, { metadata: { finalizers: null } })
    await world.eventually(async () => {
      const after = await report(world, claim)
      expect(after.metadata.uid).not.toBe(before.metadata.uid)
      expect(after.spec).toEqual(before.spec)
    })
  })

  test('that is removed by force while no controller runs comes back identical at the next start', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const first = await aServedClaim(world, aClaim().on(pool))
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.2')
    await world.delete(first)
    await isGone(world, first)
    await world.desk.stop()
    const before = await report(world, claim)
    await world.patch(before, { metadata: { finalizers: null } })
    await world.delete(before)
    await world.desk.start()
    await isServed(world, claim, '10.0.1.2')
  })

  test('that loses our finalizer or its owners gets them back', async () => {
    const world = await aWorld()
    const claim = await aServedClaim(world, aClaim().on(await world.create(aPool())))
    const before = await report(world, claim)
    await world.patch(before, { metadata: { finalizers: null } })
    await world.eventually(async () => {
      expect((await report(world, claim)).metadata.finalizers).toEqual(before.metadata.finalizers)
    })
  })
})

describe('A claim in use', () => {
  test('that loses its choice gets the same one back', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const first = await aServedClaim(world, aClaim().on(pool))
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.2')
    await world.delete(first)
    await world.patch(claim, { metadata: { annotations: { [choice]: null } } })
    await world.eventually(async () => {
      expect((await world.get(claim))?.metadata.annotations?.[choice]).toBe('10.0.1.2')
    })
    expect(await addressOf(world, claim)).toBe('10.0.1.2')
  })

  test('that loses its choice and its IPAddress at once gets the same address back', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const first = await aServedClaim(world, aClaim().on(pool))
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.2')
    await world.delete(first)
    await isGone(world, first)
    await world.desk.stop()
    await world.patch(claim, { metadata: { annotations: { [choice]: null } } })
    const shown = await report(world, claim)
    await world.patch(shown, { metadata: { finalizers: null } })
    await world.delete(shown)
    await world.desk.start()
    await isServed(world, claim, '10.0.1.2')
  })

  test('whose choice a user changes says so, keeps what its machine uses, and is written once', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    const [held] = await holdsOf(world, pool)
    const annotations = { [choice]: '10.0.1.20', 'clusterctl.cluster.x-k8s.io/delete-for-move': '' }
    await world.patch(claim, { metadata: { annotations } })
    await saysWhy(world, claim, 'AllocationFailed', /shows 10\.0\.1\.1 .* has 10\.0\.1\.20/)
    const ledger = await holdsOf(world, pool)
    await world.always(async () => expect(await holdsOf(world, pool)).toEqual(ledger))
    expect(ledger).toEqual([held])
    await world.patch(claim, { metadata: { annotations: { [choice]: '10.0.1.1' } } })
    await isServed(world, claim, '10.0.1.1')
  })

  test('that loses everything that says which address it had says so, and is given no other', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool))
    await world.desk.stop()
    await world.patch(claim, { metadata: { annotations: { [choice]: null } } })
    for (const left of [await report(world, claim), ...(await holdsOf(world, pool))]) {
      await world.patch(left, { metadata: { finalizers: null } })
      await world.delete(left)
    }
    await world.desk.start()
    await saysWhy(world, claim, 'AllocationFailed', 'nothing is left that says which')
    await world.always(async () => expect(await world.report(claim)).toBeUndefined())
  })

  test('that lost its choice and its IPAddress, and has two holds, says so and chooses neither', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool))
    await world.desk.stop()
    const [hold] = await holdsOf(world, pool)
    await world.patch(claim, { metadata: { annotations: { [choice]: null } } })
    const shown = await report(world, claim)
    await world.patch(shown, { metadata: { finalizers: null } })
    await world.delete(shown)
    await world.create(likeHold(hold, '10.0.1.9'))
    await world.desk.start()
    await saysWhy(world, claim, 'AllocationFailed', 'several addresses')
    await world.always(async () => expect(await holdsOf(world, pool)).toHaveLength(2))
    await world.patch(claim, { metadata: { annotations: { [choice]: '10.0.1.1' } } })
    await isServed(world, claim, '10.0.1.1')
    await world.eventually(async () => expect(await holdsOf(world, pool)).toHaveLength(1))
  })

  test('that loses our finalizer gets it back', async () => {
    const world = await aWorld()
    const claim = await aServedClaim(world, aClaim().on(await world.create(aPool())))
    await world.patch(claim, { metadata: { finalizers: null } })
    await world.eventually(async () => {
      expect((await world.get(claim))?.metadata.finalizers).toEqual(['ipam.cluster.x-k8s.io/ReleaseAddress'])
    })
  })

  test('that goes without our finalizer leaves nothing behind', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool))
    await world.desk.stop()
    await world.patch(claim, { metadata: { finalizers: null } })
    await world.delete(claim)
    expect(await world.get(claim)).toBeUndefined()
    await world.desk.start()
    await reportIsGone(world, claim)
    await holdsBecome(world, pool, 0)
  })

  test('whose name is taken by a new claim at once leaves that one a new address, or the one it had', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const draft = aClaim().on(pool)
    const old = await aServedClaim(world, draft)
    await world.desk.stop()
    await world.patch(old, { metadata: { finalizers: null } })
    await world.delete(old)
    await world.create(draft)
    await world.desk.start()
    await isServed(world, draft)
    const [now, shown] = [await world.get(draft), await world.report(draft)]
    expect(now?.metadata.uid).not.toBe(old.metadata.uid)
    const owners = shown?.metadata.ownerReferences?.filter(({ kind }) => kind === 'IPAddressClaim')
    expect(owners?.map(({ uid }) => uid)).toEqual([now?.metadata.uid])
    await world.eventually(async () => expect(await holdsOf(world, pool)).toHaveLength(1))
  })

  test('whose name is taken at once by a claim that asks for its very address leaves it that one', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = aClaim().on(pool)
    await aServedClaim(world, claim, '10.0.1.1')
    await world.desk.stop()
    await world.delete(claim)
    await world.patch(claim, { metadata: { finalizers: null } })
    await world.create(claim.asking('10.0.1.1'))
    await world.anotherDesk()
    await isServed(world, claim, '10.0.1.1')
  })

  test('that is deleted and made again under its name is a new claim', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const draft = aClaim().on(pool)
    const old = await aServedClaim(world, draft)
    await world.delete(old)
    await isGone(world, old)
    await aServedClaim(world, draft)
    const shown = await world.report(draft)
    expect(shown?.metadata.ownerReferences?.[0]?.uid).toBe((await world.get(draft))?.metadata.uid)
  })

  test('whose pool is deleted by force keeps its address and stays ready', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool))
    await world.delete(pool)
    await world.patch(pool, { metadata: { finalizers: null } })
    await isGone(world, pool)
    await world.always(async () => expect(await addressOf(world, claim)).toBe('10.0.1.1'))
    await world.delete(claim)
    await isGone(world, claim)
    await reportIsGone(world, claim)
  })

  test('that another controller still needs keeps its address until that one is done', async () => {
    const world = await aWorld()
    const claim = await aServedClaim(
      world,
      aClaim()
        .on(await world.create(aPool()))
        .guardedBy('example.com/vm'),
    )
    await world.delete(claim)
    await world.always(async () => expect((await world.report(claim))?.spec.address).toBe('10.0.1.1'))
    await world.patch(claim, { metadata: { finalizers: ['ipam.cluster.x-k8s.io/ReleaseAddress'] } })
    await isGone(world, claim)
    await reportIsGone(world, claim)
  })
})

describe('A hold', () => {
  test('that a user deletes goes on holding while its claim lives', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool))
    const [hold] = await holdsOf(world, pool)
    if (hold !== undefined) await world.delete(hold)
    await aServedClaim(world, aClaim().on(pool), '10.0.1.2')
    expect(await addressOf(world, claim)).toBe('10.0.1.1')
    await world.delete(claim)
    await isGone(world, claim)
    await holdsBecome(world, pool, 1)
    await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
  })

  test('that is removed by force comes back, and its address was never free', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    await aServedClaim(world, aClaim().on(pool))
    const [hold] = await holdsOf(world, pool)
    if (hold === undefined) throw new Error('nothing is held')
    await world.patch(hold, { metadata: { finalizers: null } })
    await world.delete(hold)
    await aServedClaim(world, aClaim().on(pool), '10.0.1.2')
    await world.eventually(async () => expect(await holdsOf(world, pool)).toHaveLength(2))
  })

  test('that loses its finalizer gets it back', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    await aServedClaim(world, aClaim().on(pool))
    const [hold] = await holdsOf(world, pool)
    if (hold === undefined) throw new Error('nothing is held')
    await world.patch(hold, { metadata: { finalizers: null } })
    await world.eventually(async () => {
      expect((await world.get(hold))?.metadata.finalizers).toEqual(['mooring.dev/hold'])
    })
  })

  test('whose claim never was is released', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    await aServedClaim(world, aClaim().on(pool))
    const [hold] = await holdsOf(world, pool)
    const stray = likeHold(hold, '10.0.1.9', { name: 'never-was', uid: 'never-was' })
    await world.create(stray)
    await isGone(world, stray)
  })

  test('of a claim that came with its choice keeps the address from a second claim with the same choice', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    await aServedClaim(
      world,
      aClaim()
        .on(pool)
        .annotated({ [choice]: '10.0.1.50' }),
      '10.0.1.50',
    )
    const twin = aClaim()
      .on(pool)
      .annotated({ [choice]: '10.0.1.50' })
    await world.create(twin)
    await saysWhy(world, twin, 'AllocationFailed', /^10\.0\.1\.50.* held by claim/)
    await staysUnserved(world, twin, 1_000)
  })
})

describe('Which claim a hold names', () => {
  const others = [
    ['name', { name: 'vm-b' }],
    ['namespace', { namespace: 'elsewhere' }],
    ['uid', { uid: 'another' }],
    ['kind', { kind: 'Dream' }],
    ['part', { part: 'eth1' }],
  ] as const

  test.each(others)('is not changed, by its %s, while the hold is held or rests', async (_, claimRef) => {
    const world = await aWorld()
    const pool = await world.create(aPool().with({ addressReuseGracePeriodSeconds: 300 }))
    const claim = await aServedClaim(world, aClaim().on(pool))
    const [hold] = await holdsOf(world, pool)
    if (hold === undefined) throw new Error('nothing is held')
    await expect(world.patch(hold, { spec: { claimRef } })).rejects.toThrow('claimRef')
    await world.delete(claim)
    await isGone(world, claim)
    await expect(world.patch(hold, { spec: { claimRef } })).rejects.toThrow('claimRef')
  })

  test('is told by its uid: a claim of the name that it has keeps nothing from the claim it is of', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool().with({ quarantineSeconds: 300 }))
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    await world.desk.stop()
    await replaceHold(world, pool, { name: 'vm-b' })
    await world.desk.start()
    const other = aClaim().named('vm-b').on(pool)
    await aServedClaim(world, other, '10.0.1.2')
    expect(await addressOf(world, claim)).toBe('10.0.1.1')
    await world.always(async () => {
      const state = (await holdsOf(world, pool)).find(({ spec }) => spec.address === '10.0.1.1')?.status.state
      expect(state).toBe('held')
    }, 1_000)
  })

  test('if it rests in the name of another, does not give that one what a bound claim shows', async () => {
    const world = await aWorld()
    const pool = await world.create(anAddressPool().with({ quarantineSeconds: 300 }))
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    await world.desk.stop()
    const now = new Date(world.clock.now()).toISOString()
    const until = new Date(world.clock.now() + 300_000).toISOString()
    await replaceHold(world, pool, { name: 'vm-b', uid: 'another' }, { state: 'quarantined', since: now, until })
    await world.desk.start()
    const other = aClaim().named('vm-b').on(pool)
    await aServedClaim(world, other, '10.0.1.2')
    await saysWhy(world, claim, 'AllocationFailed', 'was released by claim vm-b and rests')
    expect((await report(world, claim)).spec.address).toBe('10.0.1.1')
  })

  test('if it is a claim that never was, does not keep the claim that shows the address from its hold', async () => {
    const world = await aWorld({ define: all => all.map(withoutRules) })
    const pool = await world.create(anAddressPool())
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    const [edited] = await holdsOf(world, pool)
    if (edited !== undefined) await world.patch(edited, { spec: { claimRef: { name: 'vm-b', uid: 'another' } } })
    await world.eventually(async () => {
      const [hold] = await holdsOf(world, pool)
      expect(hold?.spec.claimRef.uid).toBe(claim.metadata.uid)
    })
    await isServed(world, claim, '10.0.1.1')
  })

  test('if it is an earlier one of the name, is not told to the claim as if that were itself', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    await world.desk.stop()
    await replaceHold(world, pool, { uid: 'another' })
    const hold = (await holdsOf(world, pool))[0]
    // The hold is not put to rest: what the claim says meanwhile is to be seen.
    world.desk.forbid(({ method, path }) => method === 'PATCH' && path.includes(hold?.metadata.name ?? '?'))
    await world.desk.start()
    await saysWhy(world, claim, 'AllocationFailed', /is held by an earlier claim of this name/)
    expect(await eventsAbout(world, claim.metadata.uid ?? '')).not.toContainEqual(
      expect.objectContaining({ reason: 'AddressContested' }),
    )
  })
})

/** The definition of holds as it would be if it let users do what they like. */
function withoutRules(definition: KubeObject): KubeObject {
  if (kindIn(definition) !== 'Hold') return definition
  const text = JSON.stringify(definition, (key, value) => (key === 'x-kubernetes-validations' ? undefined : value))
  return JSON.parse(text) as KubeObject
}

/** The one hold of the pool, as a user could have left it where no definition kept that user from it. */
async function replaceHold(world: World, pool: Stored, claimRef: object, status?: object): Promise<void> {
  const [hold] = await holdsOf(world, pool)
  if (hold === undefined) throw new Error('nothing is held')
  const other = likeHold(hold, hold.spec.address, claimRef)
  await world.patch(hold, { metadata: { finalizers: null } })
  await world.delete(hold)
  await isGone(world, hold)
  await world.create({ ...other, ...(status && { status }) })
}

/** Another hold like this one, on another address. */
function likeHold(hold: Stored | undefined, address: string, claim: object = {}): Stored {
  if (hold === undefined) throw new Error('nothing is held')
  const { uid: _, resourceVersion: __, ...metadata } = hold.metadata
  const [was, is] = [hold.spec.address, address].map(text => text.replaceAll('.', '-'))
  const name = metadata.name?.replace(was, is) ?? ''
  const spec = { ...hold.spec, address, claimRef: { ...hold.spec.claimRef, ...claim } }
  return { ...hold, metadata: { ...metadata, name }, spec }
}

async function report(world: World, claim: Stored): Promise<Stored> {
  const found = await world.report(claim)
  if (found === undefined) throw new Error('there is no IPAddress')
  return found
}

/** As the garbage collector leaves it when its claim is gone: the pool still owns it, so it stays. */
async function leftBehind(world: World, pool: Stored, claim: ClaimDraft, address: string): Promise<void> {
  const { object } = anAddressFor(claim, address)
  const ownerReferences = [{ ...ownerReferenceTo(pool), controller: false }]
  const finalizers = ['ipam.cluster.x-k8s.io/ProtectAddress']
  await world.create({ ...object, metadata: { ...object.metadata, finalizers, ownerReferences } })
}

describe('An IPAddress that a process wrote after a long sleep, for an earlier claim of the name', () => {
  test('goes, and the claim that has the name now is served as new', async () => {
    const world = await aWorld()
    await world.desk.stop()
    const pool = await world.create(aPool())
    const draft = aClaim().on(pool)
    await world.create(draft)
    await leftBehind(world, pool, draft, '10.0.1.9')
    await world.desk.start()
    await isServed(world, draft, '10.0.1.1')
    expect(await holdsOf(world, pool)).toHaveLength(1)
  })

  test('goes, and the claim that has the name now keeps what it chose', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const draft = aClaim().on(pool)
    const claim = await aServedClaim(world, draft, '10.0.1.1')
    await world.desk.stop()
    const report = (await world.report(claim)) as Stored
    await world.patch(report, { metadata: { finalizers: null } })
    await world.delete(report)
    await isGone(world, report)
    await leftBehind(world, pool, draft, '10.0.1.9')
    await world.desk.start()
    await world.eventually(async () => expect((await world.report(claim))?.spec.address).toBe('10.0.1.1'))
    await isServed(world, claim, '10.0.1.1')
    expect(await holdsOf(world, pool)).toHaveLength(1)
  })
})

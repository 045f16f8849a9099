import { describe, expect, onTestFinished, test } from 'vitest'
import { toMutatingConfiguration, toValidatingConfiguration } from '../../src/admission/registration.ts'
import { aClaim, aCluster, anAddressPool, aPool } from './builders.ts'
import { addressOf, aServedClaim, isGone, isServed, reportIsGone, saysWhy } from './promises.ts'
import { aWorld, isInProcess, type Stored, type Thing, type World } from './world.ts'

const deleteForMove = 'clusterctl.cluster.x-k8s.io/delete-for-move'

/** As clusterctl does it: no annotation but its own, then the delete, then no finalizers. */
async function leaves(world: World, object: Stored): Promise<void> {
  await says(world, object)
  await world.delete(object)
  if ((await world.get(object)) !== undefined) await world.patch(object, { metadata: { finalizers: null } })
}

async function says(world: World, object: Stored): Promise<void> {
  const others = Object.keys((await world.get(object))?.metadata.annotations ?? {}).map(key => [key, null])
  await world.patch(object, { metadata: { annotations: { ...Object.fromEntries(others), [deleteForMove]: '' } } })
}

async function reportOf(world: World, claim: Stored): Promise<Stored> {
  const report = await world.report(claim)
  if (report === undefined) throw new Error('it was served')
  return report
}

describe('A claim that clusterctl takes to another cluster', () => {
  test('gets no IPAddress back once clusterctl has deleted it', async () => {
    const world = await aWorld()
    const claim = await aServedClaim(world, aClaim().on(await world.create(aPool())))
    await leaves(world, await reportOf(world, claim))
    await world.always(async () => expect(await world.report(claim)).toBeUndefined())
    await leaves(world, claim)
    await isGone(world, claim)
  })

  test('gets nothing back either when it was annotated first', async () => {
    const world = await aWorld()
    const claim = await aServedClaim(world, aClaim().on(await world.create(aPool())))
    const report = await reportOf(world, claim)
    await world.desk.stop()
    await leaves(world, report)
    await says(world, claim)
    await world.desk.start()
    await world.always(async () => expect(await world.report(claim)).toBeUndefined())
    expect((await world.get(claim))?.metadata.annotations).toEqual({ [deleteForMove]: '' })
  })

  test('and comes back is served, under its old name and with its old address', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    const draft = aClaim().on(pool)
    const claim = await aServedClaim(world, draft, '10.0.1.2')
    await leaves(world, await reportOf(world, claim))
    await leaves(world, claim)
    await isGone(world, claim)
    await world.create(draft.annotated({ 'mooring.dev/address': '10.0.1.2' }))
    await isServed(world, draft, '10.0.1.2')
  })

  test('is served all the same where it arrives, though it still says that it leaves', async () => {
    const world = await aWorld()
    const claim = aClaim()
      .on(await world.create(aPool()))
      .annotated({ [deleteForMove]: '' })
    await world.create(claim)
    await isServed(world, claim, '10.0.1.1')
  })
})

describe('A move that was killed', () => {
  const aMovingClaim = async (world: World) => {
    const cluster = aCluster()
    await world.create(cluster)
    const draft = aClaim()
      .on(await world.create(aPool()))
      .forCluster(cluster.name)
    const claim = await aServedClaim(world, draft, '10.0.1.1')
    const paused = await world.patch(cluster, { spec: { paused: true } })
    await world.heard(paused)
    return { claim, cluster }
  }

  test('between the deletion of an IPAddress and its finalizer leaves nothing that stops the next', async () => {
    const world = await aWorld()
    const { claim } = await aMovingClaim(world)
    const report = await reportOf(world, claim)
    await says(world, report)
    await world.delete(report)
    await reportIsGone(world, claim)
    await world.always(async () => expect(await world.report(claim)).toBeUndefined())
  })

  test('between these two, and is given up, leaves the claim an IPAddress that nothing deletes', async () => {
    const world = await aWorld()
    const { claim, cluster } = await aMovingClaim(world)
    await world.patch(cluster, { spec: { paused: false } })
    const report = await reportOf(world, claim)
    await says(world, report)
    await world.delete(report)
    await world.eventually(async () => {
      const { uid, deletionTimestamp } = (await reportOf(world, claim)).metadata
      expect([uid === report.metadata.uid, deletionTimestamp]).toEqual([false, undefined])
    })
    await isServed(world, claim, '10.0.1.1')
  })

  test('and is given up leaves no claim without its IPAddress once its Cluster goes on', async () => {
    const world = await aWorld()
    const { claim, cluster } = await aMovingClaim(world)
    await leaves(world, await reportOf(world, claim))
    await world.always(async () => expect(await world.report(claim)).toBeUndefined(), 1_000)
    await world.patch(cluster, { spec: { paused: false } })
    await isServed(world, claim, '10.0.1.1')
  })

  test.for([
    ['and nothing more', async () => {}],
    ['and marked the claim, which then has no annotation of its own', says],
  ] as const)(
    'when it had deleted the IPAddress of a claim without a Cluster, %s: it is back within minutes',
    async ([, more], { skip }) => {
      skip(!isInProcess, 'on a server, minutes are minutes')
      const world = await aWorld()
      const claim = await aServedClaim(world, aClaim().on(await world.create(aPool())), '10.0.1.1')
      await leaves(world, await reportOf(world, claim))
      await more(world, claim)
      await world.always(async () => expect(await world.report(claim)).toBeUndefined(), 240_000)
      await world.idle(60_000)
      await isServed(world, claim, '10.0.1.1')
    },
  )
})

describe.each([
  ['An InClusterIPPool', aPool],
  ['An AddressPool', anAddressPool],
] as const)('%s that a killed move marked, or the next one copied with its mark,', (_, pool) => {
  const markedPool = async (world: World) => {
    const listed = await world.create(pool())
    const claim = await aServedClaim(world, aClaim().on(listed), '10.0.1.1')
    await says(world, listed)
    return { listed, claim }
  }

  test('loses the mark when nothing deletes it, and cannot be deleted from under its holders', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const { listed } = await markedPool(world)
    await world.eventually(async () => {
      expect((await world.get(listed))?.metadata.annotations ?? {}).not.toHaveProperty([deleteForMove])
    }, 60_000)
    await expect(world.delete(listed)).rejects.toThrow(/claims? holds? addresses of it/)
    expect((await world.get(listed))?.metadata.deletionTimestamp).toBeUndefined()
  })

  test('may be deleted before that, as clusterctl does it, and stays until its holders are gone', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const { listed, claim } = await markedPool(world)
    await world.delete(listed)
    await world.always(async () => expect(await world.get(listed)).toBeDefined(), 1_000)
    expect(await addressOf(world, claim)).toBe('10.0.1.1')
    await world.delete(claim)
    await isGone(world, listed)
  })
})

describe.each([
  ['An InClusterIPPool', aPool, 'inclusterippools'],
  ['An AddressPool', anAddressPool, 'addresspools'],
] as const)('%s that moves while no webhook is answered', (_, pool, resource) => {
  /** As in a cluster whose replicas are all away, for this kind and namespace. */
  async function noneAnswers(world: World): Promise<void> {
    const webhooks = world.desk.webhookSets().flatMap(set => set.webhooks)
    const address = { kind: 'url', base: 'https://127.0.0.1:1', caBundle: '' } as const
    const options = { address, namePrefix: `${world.home}-${resource}-` }
    const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': world.home } }
    for (const made of [toValidatingConfiguration(webhooks, options), toMutatingConfiguration(webhooks, options)]) {
      const ours = made.webhooks.filter(({ rules }) => rules.some(({ resources }) => resources.includes(resource)))
      const stored = await world.create({
        ...made,
        webhooks: ours.map(one => ({ ...one, namespaceSelector })),
      } as Thing)
      onTestFinished(() => world.delete(stored))
    }
  }

  test('is marked, deleted and gone, and is not changed otherwise', async () => {
    const world = await aWorld()
    const listed = await world.create(pool())
    await world.heard(listed)
    await noneAnswers(world)
    await world.desk.stop()
    const isUnanswered = /failed calling webhook/
    const changed = () => world.patch(listed, { spec: { addresses: ['10.0.1.7'] } })
    await world.eventually(() => expect(changed()).rejects.toThrow(isUnanswered))
    await expect(world.delete(listed)).rejects.toThrow(isUnanswered)
    await leaves(world, listed)
    await isGone(world, listed)
  })
})

describe('What a move leaves behind or brings along', () => {
  test('is an IPAddress that names the pool of another cluster: it gets its pool as its owner again', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool))
    const { ownerReferences: before = [] } = (await reportOf(world, claim)).metadata
    const [ofClaim, ofPool] = before
    const elsewhere = { ...ofPool, uid: '00000000-0000-4000-8000-000000000000' }
    await world.patch(await reportOf(world, claim), { metadata: { ownerReferences: [ofClaim, elsewhere] } })
    await world.eventually(async () => {
      expect((await reportOf(world, claim)).metadata.ownerReferences).toEqual(before)
    })
    await world.patch(await reportOf(world, claim), { metadata: { ownerReferences: [ofClaim] } })
    await world.eventually(async () => {
      expect((await reportOf(world, claim)).metadata.ownerReferences).toEqual(before)
    })
  })

  test('is a claim without its pool: it says when its IPAddress is lost, and has it again with the pool', async () => {
    const world = await aWorld()
    const draft = aPool()
    const pool = await world.create(draft)
    const claim = await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    await leaves(world, pool)
    await isGone(world, pool)
    await world.always(async () => expect(await addressOf(world, claim)).toBe('10.0.1.1'), 1_000)
    const report = await reportOf(world, claim)
    await world.delete(report)
    await world.patch(report, { metadata: { finalizers: null } })
    await saysWhy(world, claim, 'PoolNotReady', /IPAddress .* showed 10\.0\.1\.1.* is gone.* does not exist/)
    await world.create(draft)
    await isServed(world, claim, '10.0.1.1')
  })
})

import { describe, expect, test } from 'vitest'
import { aClaim, aPool } from './builders.ts'
import { aServedClaim, isGone, isServed } from './promises.ts'
import { aWorld, type Stored, type World } from './world.ts'

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

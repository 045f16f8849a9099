import { describe, expect, test } from 'vitest'
import { aClaim, aCluster, aPool } from './builders.ts'
import { aServedClaim, isGone, isServed, reportIsGone, staysUnserved } from './promises.ts'
import { aWorld } from './world.ts'

const resumed = { metadata: { annotations: { 'cluster.x-k8s.io/paused': null } } }
const unrelated = { metadata: { annotations: { unrelated: 'yes' } } }

describe('A claim whose Cluster', () => {
  test('does not exist yet waits for it, and goes on waiting when it comes paused', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const cluster = aCluster().pausedByAnnotation()
    const claim = aClaim().on(pool).forCluster(cluster.name)
    await world.create(claim)
    await staysUnserved(world, claim, 1_000)
    await world.create(cluster)
    await staysUnserved(world, claim)
  })

  test('does not exist yet is served when it comes', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const cluster = aCluster()
    const claim = aClaim().on(pool).forCluster(cluster.name)
    await world.create(claim)
    await staysUnserved(world, claim, 1_000)
    await world.create(cluster)
    await isServed(world, claim, '10.0.1.1')
  })

  test.each([
    ['its spec', aCluster().pausedBySpec()],
    ['its annotation', aCluster().pausedByAnnotation()],
    ['both', aCluster().pausedBySpec().pausedByAnnotation()],
  ])('is paused by %s gets nothing, whatever else changes on the Cluster', async (_, cluster) => {
    const world = await aWorld()
    await world.create(cluster)
    const pool = await world.create(aPool())
    const claim = aClaim().on(pool).forCluster(cluster.name)
    await world.create(claim)
    await world.patch(cluster, unrelated)
    await staysUnserved(world, claim)
  })

  test('is named by a label alone is served when its spec says it is no longer paused', async () => {
    const world = await aWorld()
    const cluster = aCluster().pausedBySpec()
    await world.create(cluster)
    const claim = aClaim()
      .on(await world.create(aPool()))
      .labelledForCluster(cluster.name)
    await world.create(claim)
    await staysUnserved(world, claim, 1_000)
    await world.patch(cluster, { spec: { paused: false } })
    await isServed(world, claim, '10.0.1.1')
  })

  test('is named by its spec is served when the annotation is removed', async () => {
    const world = await aWorld()
    const cluster = aCluster().pausedByAnnotation()
    await world.create(cluster)
    const claim = aClaim()
      .on(await world.create(aPool()))
      .forCluster(cluster.name)
    await world.create(claim)
    await staysUnserved(world, claim, 1_000)
    await world.patch(cluster, resumed)
    await isServed(world, claim, '10.0.1.1')
  })

  test('is named by a label alone waits when that Cluster comes paused', async () => {
    const world = await aWorld()
    const cluster = aCluster().pausedBySpec()
    const claim = aClaim()
      .on(await world.create(aPool()))
      .labelledForCluster(cluster.name)
    await world.create(claim)
    await world.create(cluster)
    await staysUnserved(world, claim)
  })

  test('is gone gives its address back all the same', async () => {
    const world = await aWorld()
    const cluster = aCluster()
    await world.create(cluster)
    const claim = await aServedClaim(
      world,
      aClaim()
        .on(await world.create(aPool()))
        .forCluster(cluster.name),
    )
    await world.delete(cluster)
    await world.delete(claim)
    await isGone(world, claim)
    await reportIsGone(world, claim)
  })

  test('is named by an empty label belongs to none, and is served', async () => {
    const world = await aWorld()
    const claim = await aServedClaim(
      world,
      aClaim()
        .on(await world.create(aPool()))
        .labelledForCluster(''),
    )
    await world.delete(claim)
    await isGone(world, claim)
  })

  test('is paused keeps what it has until the Cluster goes on', async () => {
    const world = await aWorld()
    const cluster = aCluster()
    await world.create(cluster)
    const claim = await aServedClaim(
      world,
      aClaim()
        .on(await world.create(aPool()))
        .forCluster(cluster.name),
    )
    await world.patch(cluster, { spec: { paused: true } })
    await world.heard(cluster)
    await world.delete(claim)
    await world.always(async () => expect((await world.report(claim))?.spec.address).toBe('10.0.1.1'))
    await world.patch(cluster, { spec: { paused: false } })
    await isGone(world, claim)
  })

  test('has a namesake in another namespace is woken by its own Cluster alone', async () => {
    const world = await aWorld()
    const there = await world.anotherNamespace()
    const here = aCluster().pausedBySpec()
    const away = here.in(there)
    await world.create(here)
    await world.create(away)
    const claim = aClaim()
      .on(await world.create(aPool()))
      .forCluster(here.name)
    const other = aClaim()
      .on(await world.create(aPool().in(there)))
      .in(there)
      .forCluster(here.name)
    await world.create(claim)
    await world.create(other)
    await staysUnserved(world, claim, 1_000)
    await world.patch(away, { spec: { paused: false } })
    await isServed(world, other)
    await staysUnserved(world, claim)
  })

  test('is named puts that name on its IPAddress, wherever the claim says it', async () => {
    const world = await aWorld()
    const cluster = aCluster()
    await world.create(cluster)
    const pool = await world.create(aPool())
    for (const claim of [
      aClaim().on(pool).forCluster(cluster.name),
      aClaim().on(pool).labelledForCluster(cluster.name),
    ]) {
      await aServedClaim(world, claim)
      expect((await world.report(claim))?.metadata.labels).toEqual({ 'cluster.x-k8s.io/cluster-name': cluster.name })
    }
  })
})

describe('A claim that is paused itself', () => {
  test('gets nothing, not even from a pool that comes or changes, until it goes on', async () => {
    const world = await aWorld()
    const pool = aPool()
    const claim = aClaim().on(pool).paused()
    const made = await world.create(claim)
    await world.create(pool)
    await world.patch(pool, { spec: { gateway: '10.0.1.1' } })
    await world.heard(pool)
    await world.always(async () => expect(await world.get(claim)).toEqual(made))
    await staysUnserved(world, claim, 0)
    await world.patch(claim, resumed)
    await isServed(world, claim, '10.0.1.2')
    expect((await world.report(claim))?.metadata.ownerReferences).toHaveLength(2)
  })

  test('is released only when it goes on', async () => {
    const world = await aWorld()
    const claim = await aServedClaim(world, aClaim().on(await world.create(aPool())))
    await world.patch(claim, { metadata: { annotations: { 'cluster.x-k8s.io/paused': 'true' } } })
    await world.delete(claim)
    await world.always(async () => expect(await world.report(claim)).toBeDefined())
    await world.patch(claim, resumed)
    await isGone(world, claim)
  })
})

describe('A pool that is paused', () => {
  test('serves no claim until it goes on', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool().paused())
    const claim = aClaim().on(pool)
    await world.create(claim)
    await staysUnserved(world, claim)
    await world.patch(pool, resumed)
    await isServed(world, claim, '10.0.1.1')
  })

  test('keeps claims that are deleted until it goes on', async () => {
    const world = await aWorld()
    const pool = await world.create(aPool())
    const claim = await aServedClaim(world, aClaim().on(pool))
    await world.patch(pool, { metadata: { annotations: { 'cluster.x-k8s.io/paused': '' } } })
    await world.heard(pool)
    await world.delete(claim)
    await world.always(async () => expect(await world.get(claim)).toBeDefined())
    await world.patch(pool, resumed)
    await isGone(world, claim)
  })
})

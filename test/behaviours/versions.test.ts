import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../src/kube/object.ts'
import { aClaim, aPool } from './builders.ts'
import { definitions, isOfClusterAPI, kindIn, withoutV1beta2 } from './definitions.ts'
import { aServedClaim, isGone, isServed, readyOf, saysWhy } from './promises.ts'
import { aWorld } from './world.ts'

/** As it was before that: conditions in one place alone. */
function withoutNewConditions(definition: KubeObject): KubeObject {
  const text = JSON.stringify(withoutV1beta2(definition), (key, value) => (key === 'v1beta2' ? undefined : value))
  return JSON.parse(text) as KubeObject
}

describe('Where Cluster API serves v1beta1 alone', () => {
  test.each([
    ['with conditions in both places', withoutV1beta2],
    ['with conditions in the old place', withoutNewConditions],
  ])('a claim is served and released, and nothing is said twice, %s', async (_, older) => {
    const world = await aWorld({ define: all => all.map(older) })
    const pool = await world.create(aPool().withAddresses('10.0.1.7'))
    const claim = await aServedClaim(world, aClaim('v1beta1').on(pool), '10.0.1.7')
    expect(claim.status.conditions).toMatchObject([{ type: 'Ready', status: 'True' }])
    expect((await world.report(claim))?.apiVersion).toBe('ipam.cluster.x-k8s.io/v1beta1')
    const late = await world.create(aClaim('v1beta1').on(pool))
    await saysWhy(world, late, 'PoolExhausted')
    expect((await world.get(late))?.status.conditions).toMatchObject([{ type: 'Ready', severity: 'Warning' }])
    await world.idle(5_000)
    const before = world.desk.writes.length
    await world.desk.stop()
    await world.desk.start()
    await world.idle(10_000)
    expect(world.desk.writes.slice(before)).toEqual([])
    await world.delete(claim)
    await isGone(world, claim)
    await isServed(world, late, '10.0.1.7')
  })
})

describe('A kind that is installed later', () => {
  test('is found, whichever it is, without a restart', async () => {
    const world = await aWorld({ define: all => all.filter(definition => !isOfClusterAPI(definition)) })
    const pool = await world.create(aPool())
    await world.idle(20_000)
    const states = () => world.desk.log.flatMap(({ desk, msg }) => (typeof desk === 'string' ? `${desk}: ${msg}` : []))
    expect(states()).toEqual(expect.arrayContaining(['office: the desk begins to work', 'capi: the desk waits']))
    for (const definition of definitions.filter(isOfClusterAPI)) await world.create(definition)
    const claim = aClaim().on(pool)
    await world.eventually(() => world.create(claim))
    await isServed(world, claim, '10.0.1.1')
    expect(states()).toContain('capi: the desk begins to work')
  })

  test('is not missed by claims that have nothing to do with it', async () => {
    const world = await aWorld({ define: all => all.filter(definition => kindIn(definition) !== 'Cluster') })
    const pool = await world.create(aPool())
    await aServedClaim(world, aClaim().on(pool), '10.0.1.1')
    const bound = await world.create(aClaim().on(pool).forCluster('not-yet'))
    await world.idle(10_000)
    expect(readyOf(await world.get(bound))).toBeUndefined()
  })
})

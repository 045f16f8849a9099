import { describe, expect, test } from 'vitest'
import { ok } from '../../../test/harness/client.ts'
import {
  aConfigMap,
  aPod,
  aWidget,
  configMaps,
  define,
  namespaces,
  pods,
  widgets,
} from '../../../test/harness/objects.ts'
import { aWorld } from '../../../test/harness/world.ts'

const hold = 'example.com/hold'

describe('deleting', () => {
  test('an object with nothing to wait for is gone at once, and the answer names it', async () => {
    const world = await aWorld()
    const made = ok(await world.admin.create(configMaps(), aConfigMap('one')))
    expect(await world.admin.delete(`${configMaps()}/one`)).toMatchObject({
      code: 200,
      body: { kind: 'Status', status: 'Success', details: { name: 'one', kind: 'configmaps', uid: made.metadata.uid } },
    })
    expect((await world.admin.get(`${configMaps()}/one`)).code).toBe(404)
    expect((await world.admin.delete(`${configMaps()}/one`)).code).toBe(404)
  })

  test('an object with finalizers waits for the last of them', async () => {
    const world = await aWorld()
    await define(world)
    const path = `${widgets()}/one`
    ok(await world.admin.create(widgets(), aWidget('one', {}, { finalizers: [hold, 'example.com/other'] })))
    const doomed = ok(await world.admin.delete(path))
    expect(doomed.metadata).toMatchObject({ deletionTimestamp: '2030-01-01T00:00:00Z', deletionGracePeriodSeconds: 0 })
    const again = ok(await world.admin.delete(path))
    expect(again.metadata.resourceVersion).toBe(doomed.metadata.resourceVersion)
    expect(await world.admin.patch(path, { metadata: { finalizers: [hold, 'example.com/new'] } })).toMatchObject({
      code: 422,
      body: { message: expect.stringContaining('no new finalizers can be added if the object is being deleted') },
    })
    ok(await world.admin.patch(path, { metadata: { finalizers: [hold] } }))
    expect((await world.admin.get(path)).code).toBe(200)
    expect((await world.admin.patch(path, { metadata: { finalizers: null } })).code).toBe(200)
    expect((await world.admin.get(path)).code).toBe(404)
  })

  test.each([
    ['uid', { uid: 'another' }],
    ['version', { resourceVersion: '1' }],
  ])('refuses when the %s is not the expected one', async (_, preconditions) => {
    const world = await aWorld()
    ok(await world.admin.create(configMaps(), aConfigMap('one')))
    expect(await world.admin.delete(`${configMaps()}/one`, { preconditions })).toMatchObject({
      code: 409,
      body: { reason: 'Conflict' },
    })
    expect((await world.admin.get(`${configMaps()}/one`)).code).toBe(200)
  })

  test('obeys preconditions that hold', async () => {
    const world = await aWorld()
    const { uid, resourceVersion } = ok(await world.admin.create(configMaps(), aConfigMap('one'))).metadata
    expect((await world.admin.delete(`${configMaps()}/one`, { preconditions: { uid, resourceVersion } })).code).toBe(
      200,
    )
  })

  test('of two at once both are told the truth', async () => {
    const world = await aWorld()
    ok(await world.admin.create(configMaps(), aConfigMap('one')))
    const replies = await Promise.all([1, 2].map(() => world.admin.delete(`${configMaps()}/one`)))
    expect(replies.map(reply => reply.code).sort()).toEqual([200, 404])
  })
})

describe('the grace of a pod', () => {
  const running = { nodeName: 'somewhere', terminationGracePeriodSeconds: 20 }

  test('one that runs somewhere is given the time it asked for', async () => {
    const world = await aWorld()
    ok(await world.admin.create(pods(), aPod('one', running)))
    const doomed = ok(await world.admin.delete(`${pods()}/one`))
    expect(doomed.metadata).toMatchObject({
      deletionTimestamp: '2030-01-01T00:00:20Z',
      deletionGracePeriodSeconds: 20,
    })
  })

  test('asking again can shorten it and never lengthen it', async () => {
    const world = await aWorld()
    const path = `${pods()}/one`
    ok(await world.admin.create(pods(), aPod('one', running)))
    ok(await world.admin.delete(path))
    expect(ok(await world.admin.delete(path, { gracePeriodSeconds: 5 })).metadata).toMatchObject({
      deletionTimestamp: '2030-01-01T00:00:05Z',
      deletionGracePeriodSeconds: 5,
    })
    expect(ok(await world.admin.delete(path, { gracePeriodSeconds: 60 })).metadata).toMatchObject({
      deletionGracePeriodSeconds: 5,
    })
    expect((await world.admin.delete(path, { gracePeriodSeconds: 0 })).code).toBe(200)
    expect((await world.admin.get(path)).code).toBe(404)
  })

  test('one that runs nowhere goes at once', async () => {
    const world = await aWorld()
    ok(await world.admin.create(pods(), aPod('one')))
    ok(await world.admin.delete(`${pods()}/one`))
    expect((await world.admin.get(`${pods()}/one`)).code).toBe(404)
  })
})

describe('deleting a collection', () => {
  test('deletes what the selector matches and answers with it', async () => {
    const world = await aWorld()
    for (const [name, side] of [
      ['a', 'left'],
      ['b', 'right'],
      ['c', 'left'],
    ] as const) {
      ok(await world.admin.create(configMaps('kube-public'), aConfigMap(name, {}, { labels: { side } })))
    }
    const gone = ok(await world.admin.delete(`${configMaps('kube-public')}?labelSelector=side%3Dleft`))
    expect(gone.items.map(item => item.metadata.name)).toEqual(['a', 'c'])
    const left = ok(await world.admin.get(`${configMaps('kube-public')}?labelSelector=side`))
    expect(left.items.map(item => item.metadata.name)).toEqual(['b'])
  })

  test('marks what has finalizers', async () => {
    const world = await aWorld()
    await define(world)
    ok(await world.admin.create(widgets(), aWidget('held', {}, { finalizers: [hold] })))
    ok(await world.admin.create(widgets(), aWidget('free')))
    ok(await world.admin.delete(widgets()))
    const left = ok(await world.admin.get(widgets())).items
    expect(left).toMatchObject([{ metadata: { name: 'held', deletionTimestamp: expect.any(String) } }])
  })

  test('is not offered across namespaces, nor for namespaces', async () => {
    const world = await aWorld()
    expect((await world.admin.delete('/api/v1/configmaps')).code).toBe(405)
    expect((await world.admin.delete(namespaces)).code).toBe(405)
    expect((await world.admin.get(`${configMaps()}/kube-root-ca.crt`)).code).toBe(200)
  })
})

import { describe, expect, test } from 'vitest'
import { ok } from '../../../test/harness/client.ts'
import {
  aConfigMap,
  aNamespace,
  aPod,
  aWidget,
  configMaps,
  define,
  namespaces,
  pods,
  widgets,
} from '../../../test/harness/objects.ts'
import { aWorld, refuseDeletes } from '../../../test/harness/world.ts'

const hold = 'example.com/hold'

describe('a namespace that is deleted', () => {
  test('is emptied, then gone', async () => {
    const world = await aWorld()
    await define(world)
    ok(await world.admin.create(namespaces, aNamespace('team')))
    ok(await world.admin.create(configMaps('team'), aConfigMap('one')))
    ok(await world.admin.create(widgets('team'), aWidget('one')))
    await world.settled()
    expect(ok(await world.admin.delete(`${namespaces}/team`)).status).toMatchObject({ phase: 'Terminating' })
    await world.settled()
    expect((await world.admin.get(`${namespaces}/team`)).code).toBe(404)
    expect(ok(await world.admin.get(widgets('team'))).items).toEqual([])
    expect(ok(await world.admin.get(configMaps('team'))).items).toEqual([])
    expect(world.store.list('/').entries.filter(entry => entry.key.includes('/team/'))).toEqual([])
    expect(world.faults).toEqual([])
  })

  test('waits for what has finalizers, says so, and takes nothing new in', async () => {
    const world = await aWorld()
    await define(world)
    ok(await world.admin.create(namespaces, aNamespace('team')))
    ok(await world.admin.create(widgets('team'), aWidget('held', {}, { finalizers: [hold] })))
    ok(await world.admin.delete(`${namespaces}/team`))
    await world.settled()
    const waiting = ok(await world.admin.get(`${namespaces}/team`))
    expect(waiting.status).toMatchObject({
      phase: 'Terminating',
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: 'NamespaceContentRemaining', status: 'True', reason: 'SomeResourcesRemain' }),
        expect.objectContaining({
          type: 'NamespaceFinalizersRemaining',
          status: 'True',
          reason: 'SomeFinalizersRemain',
        }),
      ]),
    })
    expect(await world.admin.create(configMaps('team'), aConfigMap('late'))).toMatchObject({
      code: 403,
      body: {
        message: expect.stringContaining(
          'unable to create new content in namespace team because it is being terminated',
        ),
        details: { causes: [{ reason: 'NamespaceTerminating' }] },
      },
    })
    ok(await world.admin.patch(`${widgets('team')}/held`, { metadata: { finalizers: null } }))
    await world.settled()
    expect((await world.admin.get(`${namespaces}/team`)).code).toBe(404)
  })

  test('loses its pods first, and keeps all else until those are gone', async () => {
    const world = await aWorld()
    ok(await world.admin.create(namespaces, aNamespace('team')))
    await world.settled()
    ok(await world.admin.create(pods('team'), aPod('held', {}, { finalizers: [hold] })))
    ok(await world.admin.create(pods('team'), aPod('running', { nodeName: 'node' })))
    ok(await world.admin.create(configMaps('team'), aConfigMap('used')))
    ok(await world.admin.delete(`${namespaces}/team`))
    await world.settled()
    for (const name of ['held', 'running']) {
      expect(ok(await world.admin.get(`${pods('team')}/${name}`)).metadata.deletionTimestamp).toBeTruthy()
    }
    expect(ok(await world.admin.get(`${namespaces}/team`)).status).toMatchObject({
      phase: 'Terminating',
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: 'NamespaceContentRemaining', status: 'False', reason: 'ContentRemoved' }),
      ]),
    })
    ok(await world.admin.delete(`${pods('team')}/running`, { gracePeriodSeconds: 0 }))
    await world.settled()
    expect((await world.admin.get(`${configMaps('team')}/used`)).code).toBe(200)
    ok(await world.admin.patch(`${pods('team')}/held`, { metadata: { finalizers: null } }))
    await world.settled()
    expect((await world.admin.get(`${namespaces}/team`)).code).toBe(404)
  })

  test('is emptied of all else when the delete of its pods is refused', async () => {
    const world = await aWorld()
    ok(await world.admin.create(namespaces, aNamespace('team')))
    await world.settled()
    ok(await world.admin.create(pods('team'), aPod('kept')))
    ok(await world.admin.create(configMaps('team'), aConfigMap('gone')))
    refuseDeletes(world, ({ call }) => call.resource.plural === 'pods', 'in use')
    ok(await world.admin.delete(`${namespaces}/team`))
    await world.settled()
    expect((await world.admin.get(`${configMaps('team')}/gone`)).code).toBe(404)
    expect((await world.admin.get(`${pods('team')}/kept`)).code).toBe(200)
  })

  test('is emptied of all else while the delete of one kind is refused, says why, and goes when it no longer is', async () => {
    const world = await aWorld()
    await define(world)
    ok(await world.admin.create(namespaces, aNamespace('team')))
    ok(await world.admin.create(configMaps('team'), aConfigMap('kept')))
    ok(await world.admin.create(widgets('team'), aWidget('gone')))
    const refusal = 'admission webhook "example.com" denied the request: in use'
    const allow = refuseDeletes(world, ({ call }) => call.resource.plural === 'configmaps', refusal)
    ok(await world.admin.delete(`${namespaces}/team`))
    await world.settled()
    expect((await world.admin.get(`${widgets('team')}/gone`)).code).toBe(404)
    expect((await world.admin.get(`${configMaps('team')}/kept`)).code).toBe(200)
    expect(ok(await world.admin.get(`${namespaces}/team`)).status).toMatchObject({
      phase: 'Terminating',
      conditions: expect.arrayContaining([
        expect.objectContaining({
          type: 'NamespaceDeletionContentFailure',
          status: 'True',
          reason: 'ContentDeletionFailed',
          message: `Failed to delete all resource types, 1 remaining: ${refusal}`,
        }),
      ]),
    })
    await world.pass(10 * 60_000)
    expect(world.faults.map(({ what }) => what)).toEqual(['namespace team'])
    allow()
    await world.pass(60_000)
    expect((await world.admin.get(`${namespaces}/team`)).code).toBe(404)
  })

  test('may be made anew, and is another one', async () => {
    const world = await aWorld()
    const first = ok(await world.admin.create(namespaces, aNamespace('team')))
    ok(await world.admin.delete(`${namespaces}/team`))
    await world.settled()
    const second = ok(await world.admin.create(namespaces, aNamespace('team')))
    expect(second.metadata.uid).not.toBe(first.metadata.uid)
    await world.settled()
    expect((await world.admin.get(`${namespaces}/team/serviceaccounts/default`)).code).toBe(200)
  })

  test.each([['default'], ['kube-system'], ['kube-public']])('cannot be %s', async name => {
    const world = await aWorld()
    expect(await world.admin.delete(`${namespaces}/${name}`)).toMatchObject({ code: 403 })
  })
})

describe('every living namespace', () => {
  test('has its default service account and its certificate, and gets them back', async () => {
    const world = await aWorld()
    ok(await world.admin.create(namespaces, aNamespace('team')))
    await world.settled()
    const account = `${namespaces}/team/serviceaccounts/default`
    const root = `${configMaps('team')}/kube-root-ca.crt`
    const { data } = ok(await world.admin.get(root))
    expect(data).toMatchObject({ 'ca.crt': expect.stringContaining('BEGIN CERTIFICATE') })
    ok(await world.admin.delete(account))
    ok(await world.admin.delete(root))
    await world.settled()
    expect((await world.admin.get(account)).code).toBe(200)
    expect(ok(await world.admin.get(root)).data).toEqual(data)
    ok(await world.admin.patch(root, { data: { 'ca.crt': 'forged' } }))
    await world.settled()
    expect(ok(await world.admin.get(root)).data).toEqual(data)
  })
})

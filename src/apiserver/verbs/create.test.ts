import { describe, expect, test } from 'vitest'
import { ok } from '../../../test/harness/client.ts'
import { aConfigMap, aPod, aWidget, configMaps, define, pods, widgets } from '../../../test/harness/objects.ts'
import { aWorld } from '../../../test/harness/world.ts'

describe('creating', () => {
  test('gives an object its uid, its version, its creation time and, if custom, its first generation', async () => {
    const world = await aWorld()
    await define(world)
    const made = ok(await world.admin.create(widgets(), aWidget('one', { size: 1 })))
    expect(made.metadata).toMatchObject({
      name: 'one',
      namespace: 'default',
      uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      resourceVersion: String(world.store.revision),
      creationTimestamp: '2030-01-01T00:00:00Z',
      generation: 1,
    })
    expect(world.faults).toEqual([])
  })

  test('refuses a name that is taken, and leaves what is there alone', async () => {
    const world = await aWorld()
    const first = ok(await world.admin.create(configMaps(), aConfigMap('one', { a: '1' })))
    expect(await world.admin.create(configMaps(), aConfigMap('one', { a: '2' }))).toMatchObject({
      code: 409,
      body: { reason: 'AlreadyExists', message: 'configmaps "one" already exists' },
    })
    expect(ok(await world.admin.get(`${configMaps()}/one`))).toEqual(first)
  })

  test('a hundred generated names are all different', async () => {
    const world = await aWorld()
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'many-' } }
    const made = await Promise.all(Array.from({ length: 100 }, () => world.admin.create(configMaps(), object)))
    expect(new Set(made.map(reply => ok(reply).metadata.name)).size).toBe(100)
    expect(made[0]?.body.metadata.name).toMatch(/^many-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
  })

  test.each([
    ['a version', { resourceVersion: '5' }, 400, 'resourceVersion should not be set on objects to be created'],
    ['no name at all', { name: undefined }, 422, 'name or generateName is required'],
    ['another namespace than the path', { namespace: 'kube-system' }, 400, 'does not match the namespace'],
    ['a name with a slash', { name: 'a/b' }, 422, 'metadata.name'],
  ])('refuses an object that brings %s', async (_, metadata, code, message) => {
    const world = await aWorld()
    const before = world.store.revision
    const object = { ...aConfigMap('one'), metadata: { name: 'one', ...metadata } }
    const reply = await world.admin.create(configMaps(), object)
    expect(reply).toMatchObject({ code, body: { message: expect.stringContaining(message) } })
    expect(world.store.revision).toBe(before)
  })

  test('what only the server may say is not taken from the client', async () => {
    const world = await aWorld()
    const lies = {
      uid: 'mine',
      creationTimestamp: '1999-01-01T00:00:00Z',
      deletionTimestamp: '1999-01-01T00:00:00Z',
      generation: 77,
      selfLink: '/here',
    }
    await define(world)
    const { metadata } = ok(await world.admin.create(widgets(), aWidget('one', {}, lies)))
    expect(metadata).toMatchObject({ generation: 1, creationTimestamp: '2030-01-01T00:00:00Z' })
    expect(metadata.uid).not.toBe('mine')
    expect(metadata.deletionTimestamp).toBeUndefined()
    expect(metadata.selfLink).toBeUndefined()
  })

  test('a status that comes along with a new object is dropped where status is a subresource', async () => {
    const world = await aWorld()
    await define(world, { subresources: { status: {} } })
    const made = ok(await world.admin.create(widgets(), { ...aWidget('one'), status: { ready: true } }))
    expect(made.status).toBeUndefined()
    const pod = ok(await world.admin.create(pods(), { ...aPod('one'), status: { phase: 'Running' } }))
    expect(pod.status).toMatchObject({ phase: 'Pending' })
  })

  test('refuses to create into a namespace that does not exist', async () => {
    const world = await aWorld()
    expect(await world.admin.create(configMaps('nowhere'), aConfigMap('one'))).toMatchObject({
      code: 404,
      body: { message: 'namespaces "nowhere" not found' },
    })
  })
})

describe('a dry run', () => {
  test('answers as the real thing would and leaves no trace', async () => {
    const world = await aWorld()
    await define(world)
    ok(await world.admin.create(widgets(), aWidget('there', { size: 1 })))
    const before = world.store.revision
    const all = 'dryRun=All'
    expect(await world.admin.create(`${widgets()}?${all}`, aWidget('new'))).toMatchObject({
      code: 201,
      body: { metadata: { name: 'new', uid: expect.any(String) } },
    })
    expect((await world.admin.create(`${widgets()}?${all}`, aWidget('there'))).code).toBe(409)
    expect(await world.admin.patch(`${widgets()}/there?${all}`, { spec: { size: 2 } })).toMatchObject({
      code: 200,
      body: { spec: { size: 2 }, metadata: { generation: 2 } },
    })
    expect(ok(await world.admin.apply(`${widgets()}/applied?${all}`, aWidget('applied'))).metadata.name).toBe('applied')
    expect((await world.admin.delete(`${widgets()}/there?${all}`)).code).toBe(200)
    expect((await world.admin.delete(`${widgets()}?${all}`)).code).toBe(200)
    await world.settled()
    expect(world.store.revision).toBe(before)
    expect(ok(await world.admin.get(widgets())).items).toMatchObject([{ spec: { size: 1 } }])
  })
})

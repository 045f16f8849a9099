import { describe, expect, test } from 'vitest'
import { ok } from '../../../test/harness/client.ts'
import { aConfigMap, aPod, aWidget, configMaps, define, pods, widgets } from '../../../test/harness/objects.ts'
import { aWorld } from '../../../test/harness/world.ts'

describe('updating', () => {
  test('refuses a version that is not the stored one, and changes nothing', async () => {
    const world = await aWorld()
    const first = ok(await world.admin.create(configMaps(), aConfigMap('one', { a: '1' })))
    ok(await world.admin.update(`${configMaps()}/one`, { ...first, data: { a: '2' } }))
    const before = world.store.revision
    expect(await world.admin.update(`${configMaps()}/one`, { ...first, data: { a: '3' } })).toMatchObject({
      code: 409,
      body: {
        reason: 'Conflict',
        message:
          'Operation cannot be fulfilled on configmaps "one": the object has been modified; please apply your changes to the latest version and try again',
      },
    })
    expect(world.store.revision).toBe(before)
  })

  test('of ten writers that saw the same version one wins', async () => {
    const world = await aWorld()
    await define(world)
    const seen = ok(await world.admin.create(widgets(), aWidget('one')))
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, writer) => world.admin.update(`${widgets()}/one`, { ...seen, spec: { writer } })),
    )
    const codes = replies.map(reply => reply.code)
    expect(codes.filter(code => code === 200)).toHaveLength(1)
    expect(codes.filter(code => code === 409)).toHaveLength(9)
    const winner = replies.findIndex(reply => reply.code === 200)
    expect(ok(await world.admin.get(`${widgets()}/one`)).spec).toEqual({ writer: winner })
  })

  test('ten patches without a version all arrive', async () => {
    const world = await aWorld()
    await define(world)
    ok(await world.admin.create(widgets(), aWidget('one')))
    const patches = Array.from({ length: 10 }, (_, i) => ({ spec: { [`field${i}`]: i } }))
    const replies = await Promise.all(patches.map(patch => world.admin.patch(`${widgets()}/one`, patch)))
    expect(replies.map(reply => reply.code)).toEqual(patches.map(() => 200))
    const { spec, metadata } = ok(await world.admin.get(`${widgets()}/one`))
    expect(Object.keys(spec as object)).toHaveLength(10)
    expect(metadata.generation).toBe(11)
  })

  test('a built-in kind may be overwritten without a version, a custom one may not', async () => {
    const world = await aWorld()
    await define(world)
    ok(await world.admin.create(configMaps(), aConfigMap('one', { a: '1' })))
    ok(await world.admin.create(widgets(), aWidget('one')))
    expect(ok(await world.admin.update(`${configMaps()}/one`, aConfigMap('one', { a: '2' }))).data).toEqual({ a: '2' })
    expect(await world.admin.update(`${widgets()}/one`, aWidget('one', { size: 2 }))).toMatchObject({
      code: 422,
      body: { message: expect.stringContaining('metadata.resourceVersion: Invalid value: 0: must be specified') },
    })
  })

  test('that changes nothing writes nothing', async () => {
    const world = await aWorld()
    const first = ok(await world.admin.create(configMaps(), aConfigMap('one', { a: '1' })))
    const before = world.store.revision
    const again = ok(await world.admin.update(`${configMaps()}/one`, first))
    expect(again.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    ok(await world.admin.patch(`${configMaps()}/one`, { data: { a: '1' } }))
    expect(world.store.revision).toBe(before)
  })

  test('refuses an object of another uid', async () => {
    const world = await aWorld()
    const first = ok(await world.admin.create(configMaps(), aConfigMap('one')))
    ok(await world.admin.delete(`${configMaps()}/one`))
    ok(await world.admin.create(configMaps(), aConfigMap('one')))
    const { resourceVersion: _, ...metadata } = first.metadata
    expect(await world.admin.update(`${configMaps()}/one`, { ...first, metadata })).toMatchObject({
      code: 409,
      body: { reason: 'Conflict' },
    })
  })

  test('refuses another name than the path says, and a thing that is not there', async () => {
    const world = await aWorld()
    expect((await world.admin.update(`${configMaps()}/one`, aConfigMap('two'))).code).toBe(400)
    expect((await world.admin.update(`${configMaps()}/one`, aConfigMap('one'))).code).toBe(404)
    expect((await world.admin.patch(`${configMaps()}/one`, {})).code).toBe(404)
  })

  test('keeps creation time, uid and deletion time, whatever the client sends', async () => {
    const world = await aWorld()
    await define(world)
    const made = ok(await world.admin.create(widgets(), aWidget('one', {}, { finalizers: ['example.com/hold'] })))
    ok(await world.admin.delete(`${widgets()}/one`))
    const doomed = ok(await world.admin.get(`${widgets()}/one`))
    const { deletionTimestamp: _, ...rest } = doomed.metadata
    const asked = { ...rest, creationTimestamp: '1999-01-01T00:00:00Z', labels: { a: 'b' } }
    const after = ok(await world.admin.update(`${widgets()}/one`, { ...doomed, metadata: asked }))
    expect(after.metadata).toMatchObject({
      uid: made.metadata.uid,
      creationTimestamp: made.metadata.creationTimestamp,
      deletionTimestamp: doomed.metadata.deletionTimestamp,
      labels: { a: 'b' },
    })
  })
})

describe('status', () => {
  test('the status subresource changes the status, the main resource the rest', async () => {
    const world = await aWorld()
    await define(world, { subresources: { status: {} } })
    ok(await world.admin.create(widgets(), aWidget('one', { size: 1 })))
    const path = `${widgets()}/one`
    const both = { spec: { size: 2 }, status: { ready: true } }
    const bySpec = ok(await world.admin.patch(path, both))
    expect(bySpec).toMatchObject({ spec: { size: 2 }, metadata: { generation: 2 } })
    expect(bySpec.status).toBeUndefined()
    const byStatus = ok(
      await world.admin.patch(`${path}/status`, {
        ...both,
        spec: { size: 3 },
        metadata: { labels: { a: 'b' }, annotations: { a: 'b' } },
      }),
    )
    expect(byStatus).toMatchObject({ spec: { size: 2 }, status: { ready: true }, metadata: { generation: 2 } })
    expect(byStatus.metadata.labels).toBeUndefined()
    expect(byStatus.metadata.annotations).toBeUndefined()
  })

  test('that is no subresource is a field like any other', async () => {
    const world = await aWorld()
    await define(world)
    ok(await world.admin.create(widgets(), { ...aWidget('one'), status: { ready: false } }))
    const after = ok(await world.admin.patch(`${widgets()}/one`, { status: { ready: true } }))
    expect(after).toMatchObject({ status: { ready: true }, metadata: { generation: 2 } })
    expect((await world.admin.patch(`${widgets()}/one/status`, { status: {} })).code).toBe(404)
  })

  test('of a pod cannot be changed through the main resource, nor its spec through the status', async () => {
    const world = await aWorld()
    ok(await world.admin.create(pods(), aPod('one')))
    const path = `${pods()}/one`
    expect(ok(await world.admin.patch(path, { status: { phase: 'Running' } })).status).toMatchObject({
      phase: 'Pending',
    })
    const after = ok(
      await world.admin.patch(`${path}/status`, { spec: { nodeName: 'x' }, status: { phase: 'Running' } }),
    )
    expect(after.status).toMatchObject({ phase: 'Running' })
    expect((after.spec as { nodeName?: string }).nodeName).toBeUndefined()
  })
})

describe('generation', () => {
  test('grows with the content, not with metadata or status', async () => {
    const world = await aWorld()
    await define(world, { subresources: { status: {} } })
    ok(await world.admin.create(widgets(), aWidget('one', { size: 1 })))
    const path = `${widgets()}/one`
    const generationAfter = async (at: string, patch: object) =>
      ok(await world.admin.patch(at, patch)).metadata.generation
    expect(await generationAfter(path, { metadata: { labels: { a: 'b' } } })).toBe(1)
    expect(await generationAfter(path, { spec: { size: 2 } })).toBe(2)
    expect(await generationAfter(`${path}/status`, { status: { ready: true } })).toBe(2)
    expect(await generationAfter(path, { other: 1 })).toBe(3)
    expect(await generationAfter(path, { metadata: { generation: 40 } })).toBe(3)
  })

  test('a deletion that must wait counts as a change', async () => {
    const world = await aWorld()
    await define(world)
    ok(await world.admin.create(widgets(), aWidget('one', {}, { finalizers: ['example.com/hold'] })))
    ok(await world.admin.delete(`${widgets()}/one`))
    expect(ok(await world.admin.get(`${widgets()}/one`)).metadata.generation).toBe(2)
  })
})

describe('applying', () => {
  test('creates what is not there, then owns what it said and gives up what it no longer says', async () => {
    const world = await aWorld()
    await define(world)
    const path = `${widgets()}/one`
    expect((await world.admin.apply(path, aWidget('one', { a: 1, b: 1 }), 'first')).code).toBe(201)
    expect(await world.admin.apply(path, aWidget('one', { a: 2 }), 'second')).toMatchObject({
      code: 409,
      body: { reason: 'Conflict', message: expect.stringContaining('conflict with "first"') },
    })
    const after = ok(await world.admin.apply(path, aWidget('one', { a: 1 }), 'first'))
    expect(after.spec).toEqual({ a: 1 })
    expect(ok(await world.admin.apply(`${path}?force=true`, aWidget('one', { a: 2 }), 'second')).spec).toEqual({ a: 2 })
  })

  test('the same again changes nothing', async () => {
    const world = await aWorld()
    await define(world)
    const first = ok(await world.admin.apply(`${widgets()}/one`, aWidget('one', { a: 1 })))
    await world.pass(10_000)
    const before = world.store.revision
    expect(ok(await world.admin.apply(`${widgets()}/one`, aWidget('one', { a: 1 })))).toEqual(first)
    expect(world.store.revision).toBe(before)
  })

  test('twenty at once on nothing make one object', async () => {
    const world = await aWorld()
    await define(world)
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => world.admin.apply(`${widgets()}/one`, aWidget('one', { a: 1 }))),
    )
    expect(replies.filter(reply => reply.code === 201)).toHaveLength(1)
    expect(replies.filter(reply => reply.code === 200)).toHaveLength(19)
  })
})

import { describe, expect, test } from 'vitest'
import { ok } from '../../test/harness/client.ts'
import { aConfigMap, aPod, aWidget, configMaps, define, pods, widgets } from '../../test/harness/objects.ts'
import { aWorld } from '../../test/harness/world.ts'

const asConfigMap = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal'

describe('a body that is no object of the asked kind', () => {
  test.each([
    [
      { apiVersion: 'apps/v1', kind: 'Deployment' },
      'Deployment in version "v1" cannot be handled as a ConfigMap: converting (v1.Deployment) to (core.ConfigMap): unknown conversion',
    ],
    [
      { apiVersion: 'none/v1', kind: 'Thing' },
      'Thing in version "v1" cannot be handled as a ConfigMap: no kind "Thing" is registered for version "none/v1" in scheme "pkg/runtime/scheme.go:111"',
    ],
    [{ metadata: { name: 5 } }, `${asConfigMap} number into Go struct field ObjectMeta.metadata.name of type string`],
    [
      { metadata: { labels: 'x' } },
      `${asConfigMap} string into Go struct field ObjectMeta.metadata.labels of type map[string]string`,
    ],
    [
      { metadata: { labels: { a: 1 } } },
      `${asConfigMap} number into Go struct field ObjectMeta.metadata.labels of type string`,
    ],
    [{ metadata: [] }, `${asConfigMap} array into Go struct field ConfigMap.metadata of type v1.ObjectMeta`],
  ])('%j is refused in the words of Go', async (body, message) => {
    const world = await aWorld()
    expect(await world.admin.create(configMaps(), body)).toMatchObject({ code: 400, body: { message } })
    expect(world.faults).toEqual([])
  })

  test('a custom object says itself what it is', async () => {
    const world = await aWorld()
    await define(world)
    const { kind: _, ...nameless } = aWidget('one')
    expect(await world.admin.create(widgets(), nameless)).toMatchObject({
      code: 400,
      body: { message: expect.stringContaining("Object 'Kind' is missing in '{") },
    })
    const { apiVersion: __, ...unversioned } = aWidget('one')
    expect(await world.admin.create(widgets(), unversioned)).toMatchObject({
      code: 400,
      body: { message: expect.stringContaining('the API version in the data () does not match') },
    })
    expect(await world.admin.create(widgets(), { ...aWidget('one'), kind: 'Other' })).toMatchObject({
      code: 422,
      body: { message: expect.stringContaining('kind: Invalid value: "Other": must be Widget') },
    })
    const odd = { ...aWidget('one'), metadata: { name: 'one', labels: { a: 1 } } }
    expect(await world.admin.create(widgets(), odd)).toMatchObject({
      code: 400,
      body: { message: expect.stringContaining('number into Go struct field ObjectMeta.labels of type string') },
    })
  })
})

describe('a patch', () => {
  test('cannot mark an object for deletion', async () => {
    const world = await aWorld()
    const made = ok(await world.admin.create(configMaps(), aConfigMap('one')))
    const reply = await world.admin.patch(`${configMaps()}/one`, {
      metadata: { deletionTimestamp: '2020-01-01T00:00:00Z' },
    })
    expect(reply).toMatchObject({
      code: 422,
      body: {
        message:
          'ConfigMap "one" is invalid: metadata.deletionTimestamp: Invalid value: "2020-01-01T00:00:00Z": field is immutable',
      },
    })
    expect(ok(await world.admin.get(`${configMaps()}/one`))).toEqual(made)
  })

  test('cannot give a built-in object a finalizer without a domain', async () => {
    const world = await aWorld()
    ok(await world.admin.create(configMaps(), aConfigMap('one')))
    const why = 'name is neither a standard finalizer name nor is it fully qualified'
    const message = `ConfigMap "one" is invalid: metadata.finalizers[0]: Invalid value: "x": ${why}`
    const reply = await world.admin.patch(`${configMaps()}/one`, { metadata: { finalizers: ['x'] } })
    expect(reply).toMatchObject({ code: 422, body: { message } })
    ok(await world.admin.patch(`${configMaps()}/one`, { metadata: { finalizers: ['example.com/x'] } }))
  })

  test('cannot make another kind of an object', async () => {
    const world = await aWorld()
    await define(world)
    ok(await world.admin.create(configMaps(), aConfigMap('one')))
    ok(await world.admin.create(widgets(), aWidget('one')))
    expect(await world.admin.patch(`${configMaps()}/one`, { kind: 'Secret' })).toMatchObject({
      code: 422,
      body: { message: expect.stringContaining('converting (v1.Secret) to (core.ConfigMap): unknown conversion') },
    })
    expect(await world.admin.patch(`${widgets()}/one`, { kind: 'Other' })).toMatchObject({
      code: 422,
      body: { message: expect.stringContaining('must be Widget') },
    })
  })
})

describe('the subresources of a pod', () => {
  test('a binding neither grows the generation nor owns where the pod runs', async () => {
    const world = await aWorld()
    const made = ok(await world.admin.create(pods(), aPod('one')))
    const binding = { apiVersion: 'v1', kind: 'Binding', target: { kind: 'Node', name: 'n' } }
    expect(await world.admin.create(`${pods()}/one/binding`, { ...binding, metadata: {} })).toMatchObject({
      code: 400,
      body: { message: 'name in URL does not match name in Binding object' },
    })
    expect((await world.admin.create(`${pods()}/one/binding`, { ...binding, metadata: { name: 'one' } })).code).toBe(
      201,
    )
    const bound = ok(await world.admin.get(`${pods()}/one`))
    expect(bound.spec).toMatchObject({ nodeName: 'n' })
    expect(bound.metadata.generation).toBe(made.metadata.generation)
    expect(bound.metadata.managedFields).toEqual(made.metadata.managedFields)
  })

  test('an eviction names the pod it is sent to', async () => {
    const world = await aWorld()
    ok(await world.admin.create(pods(), aPod('one')))
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'other' } }
    expect(await world.admin.create(`${pods()}/one/eviction`, eviction)).toMatchObject({
      code: 400,
      body: { message: 'name in URL does not match name in Eviction object' },
    })
    expect((await world.admin.get(`${pods()}/one`)).code).toBe(200)
  })

  test('a pod that is on no node has printed nothing', async () => {
    const world = await aWorld()
    ok(await world.admin.create(pods(), aPod('one')))
    expect((await world.admin.get(`${pods()}/one/log`)).code).toBe(204)
    expect((await world.admin.get(`${pods()}/none/log`)).code).toBe(404)
    expect(await world.admin.get(`${pods()}/one/log?container=none`)).toMatchObject({
      code: 400,
      body: { message: 'container none is not valid for pod one' },
    })
  })
})

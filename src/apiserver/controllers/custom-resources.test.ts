import { describe, expect, test } from 'vitest'
import { type Body, ok } from '../../../test/harness/client.ts'
import {
  aConfigMap,
  anything,
  aVersion,
  aWidget,
  aWidgetDefinition,
  configMaps,
  define,
  definitions,
  widgets,
} from '../../../test/harness/objects.ts'
import { aWorld, refuseDeletes } from '../../../test/harness/world.ts'

const hold = 'example.com/hold'
const at = `${definitions}/widgets.example.com`

function condition(definition: Body, type: string) {
  const { conditions } = (definition.status ?? {}) as { conditions?: { type: string }[] | null }
  return (conditions ?? []).find(one => one.type === type)
}

describe('a definition', () => {
  test('that says Established is served at that moment', async () => {
    const world = await aWorld()
    const watch = await world.admin.watch(definitions)
    ok(await world.admin.create(definitions, aWidgetDefinition()))
    for (;;) {
      const event = await watch.next()
      if (event === undefined) throw new Error('the watch ended')
      const established = condition(event.object, 'Established')
      if (established === undefined) continue
      expect(established).toMatchObject({ status: 'True', reason: 'InitialNamesAccepted' })
      break
    }
    // The shortest way a client can have: one turn of the loop.
    await new Promise(resolve => setImmediate(resolve))
    expect((await world.admin.create(widgets(), aWidget('at-once'))).code).toBe(201)
  })

  test('whose names are taken is not served, and takes them over when they are free', async () => {
    const world = await aWorld()
    await define(world)
    ok(
      await world.admin.create(
        definitions,
        aWidgetDefinition({ plural: 'gadgets', names: { singular: 'widget', kind: 'Widget', listKind: 'WidgetList' } }),
      ),
    )
    await world.settled()
    const other = `${definitions}/gadgets.example.com`
    const waiting = ok(await world.admin.get(other))
    expect(condition(waiting, 'NamesAccepted')).toMatchObject({ status: 'False' })
    expect(condition(waiting, 'Established')).toMatchObject({ status: 'False', reason: 'NotAccepted' })
    expect((await world.admin.get('/apis/example.com/v1/gadgets')).code).toBe(404)
    ok(await world.admin.delete(at))
    await world.settled()
    expect(condition(ok(await world.admin.get(other)), 'Established')).toMatchObject({ status: 'True' })
    expect((await world.admin.get('/apis/example.com/v1/gadgets')).code).toBe(200)
  })

  test('gets a short name when another one gives it up', async () => {
    const world = await aWorld()
    await define(world, { names: { shortNames: ['w'] } })
    await define(world, { plural: 'gadgets', names: { kind: 'Gadget', listKind: 'GadgetList', shortNames: ['w'] } })
    const other = `${definitions}/gadgets.example.com`
    expect(condition(ok(await world.admin.get(other)), 'NamesAccepted')).toMatchObject({ status: 'False' })
    ok(await world.admin.patch(at, { spec: { names: { shortNames: null } } }))
    await world.settled()
    expect(condition(ok(await world.admin.get(other)), 'NamesAccepted')).toMatchObject({ status: 'True' })
  })

  test('that is deleted takes its objects along', async () => {
    const world = await aWorld()
    await define(world)
    ok(await world.admin.create(widgets(), aWidget('one')))
    ok(await world.admin.create(widgets('kube-public'), aWidget('two')))
    ok(await world.admin.delete(at))
    await world.settled()
    expect((await world.admin.get(at)).code).toBe(404)
    expect((await world.admin.get(widgets())).code).toBe(404)
    expect(world.store.count('/example.com/')).toBe(0)
    await define(world)
    expect(ok(await world.admin.get(widgets())).items).toEqual([])
  })

  test('waits for objects with finalizers, which can still be changed but not made', async () => {
    const world = await aWorld()
    await define(world)
    ok(await world.admin.create(widgets(), aWidget('held', {}, { finalizers: [hold] })))
    ok(await world.admin.delete(at))
    await world.settled()
    expect(condition(ok(await world.admin.get(at)), 'Terminating')).toMatchObject({
      status: 'True',
      reason: 'InstanceDeletionInProgress',
      message: `CustomResource deletion is in progress: 1 instance remains, held by ${hold}`,
    })
    expect((await world.admin.create(widgets(), aWidget('late'))).code).toBe(403)
    ok(await world.admin.patch(`${widgets()}/held`, { metadata: { finalizers: null } }))
    await world.settled()
    expect((await world.admin.get(at)).code).toBe(404)
  })

  test('says which delete is refused, logs it once, and goes when it no longer is', async () => {
    const world = await aWorld()
    await define(world)
    ok(await world.admin.create(widgets(), aWidget('kept')))
    ok(await world.admin.create(widgets('kube-public'), aWidget('free')))
    const allow = refuseDeletes(
      world,
      ({ object, oldObject }) => (object ?? oldObject)?.metadata.name === 'kept',
      'in use',
    )
    ok(await world.admin.delete(at))
    await world.settled()
    expect((await world.admin.get(`${widgets('kube-public')}/free`)).code).toBe(404)
    expect(condition(ok(await world.admin.get(at)), 'Terminating')).toMatchObject({
      status: 'True',
      reason: 'InstanceDeletionFailed',
      message: 'could not issue all deletes: in use',
    })
    await world.pass(10 * 60_000)
    expect(world.faults.map(({ what }) => what)).toEqual(['definition widgets.example.com'])
    allow()
    await world.pass(60_000)
    expect((await world.admin.get(at)).code).toBe(404)
  })

  test('is served again after a restart before anything can ask', async () => {
    const world = await aWorld()
    await define(world)
    const made = ok(await world.admin.create(widgets(), aWidget('one', { a: 1 })))
    const next = await world.restart()
    expect(ok(await next.admin.get(`${widgets()}/one`))).toEqual(made)
    next.stop()
  })
})

describe('a schema that changes', () => {
  const withDefault = {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { size: { type: 'integer', default: 3 }, kept: { type: 'string' } } },
    },
  }

  test('completes what was stored before, in reads, lists and watches alike', async () => {
    const world = await aWorld()
    await define(world)
    ok(await world.admin.create(widgets(), aWidget('old', { kept: 'yes', unknown: 'gone' })))
    ok(
      await world.admin.patch(
        at,
        [{ op: 'replace', path: '/spec/versions/0/schema/openAPIV3Schema', value: withDefault }],
        'json',
      ),
    )
    await world.settled()
    const expected = { kept: 'yes', size: 3 }
    expect(ok(await world.admin.get(`${widgets()}/old`)).spec).toEqual(expected)
    expect(ok(await world.admin.get(widgets())).items[0]?.spec).toEqual(expected)
    const watch = await world.admin.watch(widgets())
    expect((await watch.next())?.object.spec).toEqual(expected)
  })

  test('never leaves an object half-way, however the writes fall', async () => {
    const world = await aWorld()
    await define(world)
    const path = '/spec/versions/0/schema/openAPIV3Schema'
    const write = (name: string) => world.admin.create(widgets(), aWidget(name, { kept: 'yes' }))
    const before = Array.from({ length: 5 }, (_, i) => write(`before${i}`))
    ok(await world.admin.patch(at, [{ op: 'replace', path, value: withDefault }], 'json'))
    const after = Array.from({ length: 5 }, (_, i) => write(`after${i}`))
    await Promise.all([...before, ...after])
    await world.settled()
    const { items } = ok(await world.admin.get(widgets()))
    expect(items).toHaveLength(10)
    expect(new Set(items.map(item => JSON.stringify(item.spec)))).toEqual(new Set(['{"kept":"yes","size":3}']))
  })

  test('a new storage version is remembered, and old objects are read through it', async () => {
    const world = await aWorld()
    await define(world, { versions: [aVersion('v1'), aVersion('v2', { storage: false })] })
    ok(await world.admin.create(widgets(), aWidget('old', { a: 1 })))
    const versions = [aVersion('v1', { storage: false }), aVersion('v2')]
    ok(await world.admin.patch(at, { spec: { versions } }))
    await world.settled()
    expect(ok(await world.admin.get(at)).status).toMatchObject({ storedVersions: ['v1', 'v2'] })
    for (const version of ['v1', 'v2']) {
      expect(ok(await world.admin.get(`${widgets('default', version)}/old`))).toMatchObject({
        apiVersion: `example.com/${version}`,
        spec: { a: 1 },
      })
    }
    ok(await world.admin.patch(`${widgets('default', 'v2')}/old`, { spec: { a: 2 } }))
    expect(world.store.get('/example.com/widgets/default/old')?.value.toString()).toContain('example.com/v2')
  })
})

test('an object under way while its kind is deleted does not outlive it', async () => {
  const world = await aWorld()
  await define(world, { schema: anything })
  const writes = Array.from({ length: 10 }, (_, i) => world.admin.create(widgets(), aWidget(`w${i}`)))
  const gone = world.admin.delete(at)
  const more = Array.from({ length: 10 }, (_, i) => world.admin.create(widgets(), aWidget(`x${i}`)))
  await Promise.all([gone, ...writes, ...more])
  await world.settled()
  expect(world.store.count('/example.com/')).toBe(0)
  ok(await world.admin.create(configMaps(), aConfigMap('still-alive')))
})

test.each([
  ['is gone', () => at, 404],
  ['has another schema', () => undefined, 422],
])('an object that was checked before its kind %s is judged by what is now', async (_, gone, code) => {
  const world = await aWorld()
  await define(world)
  const schema = { type: 'object', properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } } }
  const path = '/spec/versions/0/schema/openAPIV3Schema'
  world.meanwhile(
    request => request.operation === 'CREATE' && request.name === 'late',
    async () => {
      const doomed = gone()
      if (doomed === undefined) ok(await world.admin.patch(at, [{ op: 'replace', path, value: schema }], 'json'))
      else ok(await world.admin.delete(doomed))
      await world.settled()
    },
  )
  expect((await world.admin.create(widgets(), aWidget('late', { size: 'large' }))).code).toBe(code)
  expect(world.store.count('/example.com/')).toBe(0)
})

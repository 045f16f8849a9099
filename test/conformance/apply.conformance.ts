// Server-side apply: which manager owns which field, conflicts between two managers, and how fields are removed.

import { describe, expect } from 'vitest'
import type { Body } from './client.ts'
import {
  configMap,
  configMaps,
  conforms,
  customKind,
  namespace,
  namespaceForPods,
  ok,
  pod,
  server,
  specSchema,
} from './world.ts'

const managers = (object: Body): string[] =>
  object.metadata.managedFields.map(
    entry => `${entry.manager} ${entry.operation}${entry.subresource ? ` ${entry.subresource}` : ''}`,
  )

const fieldsOf = (object: Body, manager: string): unknown =>
  object.metadata.managedFields.find(entry => entry.manager === manager)?.fieldsV1

async function place(): Promise<string> {
  return `${configMaps(await namespace())}/one`
}

describe('server-side apply', () => {
  conforms('creates what is not there and records its owner', async () => {
    const path = await place()
    const answer = await server.apply(path, 'alice', configMap('one', { a: '1' }, { labels: { x: 'y' } }))
    expect(answer.code).toBe(201)
    expect(answer.body.metadata.managedFields).toEqual([
      {
        manager: 'alice',
        operation: 'Apply',
        apiVersion: 'v1',
        time: expect.stringMatching(/Z$/),
        fieldsType: 'FieldsV1',
        fieldsV1: { 'f:data': { 'f:a': {} }, 'f:metadata': { 'f:labels': { 'f:x': {} } } },
      },
    ])
  })

  conforms('takes YAML', async () => {
    const path = await place()
    const answer = await server.apply(
      path,
      'alice',
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\ndata:\n  a: "1"\n',
    )
    expect(answer.code).toBe(201)
    expect(answer.body.data).toEqual({ a: '1' })
  })

  conforms('of the same again changes nothing, not even the version', async () => {
    const path = await place()
    const first = ok(await server.apply(path, 'alice', configMap('one', { a: '1' })))
    const again = await server.apply(path, 'alice', configMap('one', { a: '1' }))
    expect(again.code).toBe(200)
    expect(again.body).toEqual(first)
  })

  conforms('removes the fields its manager no longer mentions', async () => {
    const path = await place()
    ok(await server.apply(path, 'alice', configMap('one', { a: '1', b: '2' })))
    ok(await server.apply(path, 'bob', configMap('one', { c: '3' })))
    const after = ok(await server.apply(path, 'alice', configMap('one', { b: '2' })))
    expect(after.data).toEqual({ b: '2', c: '3' })
    expect(managers(after).toSorted()).toEqual(['alice Apply', 'bob Apply'])
  })

  conforms('keeps a field that another manager owns too', async () => {
    const path = await place()
    ok(await server.apply(path, 'alice', configMap('one', { a: '1' })))
    ok(await server.apply(path, 'bob', configMap('one', { a: '1' })))
    const after = ok(await server.apply(path, 'alice', configMap('one', {})))
    expect(after.data).toEqual({ a: '1' })
    expect(fieldsOf(after, 'bob')).toEqual({ 'f:data': { 'f:a': {} } })
  })

  conforms('answers a conflict with all fields and owners', async () => {
    const path = await place()
    ok(await server.apply(path, 'alice', configMap('one', { a: '1', b: '2' })))
    const answer = await server.apply(path, 'bob', configMap('one', { a: 'x', b: 'y' }))
    expect(answer.code).toBe(409)
    expect(answer.body).toMatchObject({
      reason: 'Conflict',
      message: 'Apply failed with 2 conflicts: conflicts with "alice":\n- .data.a\n- .data.b',
      details: {
        causes: [
          { reason: 'FieldManagerConflict', message: 'conflict with "alice"', field: '.data.a' },
          { reason: 'FieldManagerConflict', message: 'conflict with "alice"', field: '.data.b' },
        ],
      },
    })
  })

  conforms('names one conflict in the singular, and an updater by version and time', async () => {
    const path = await place()
    ok(await server.create(`${path.replace(/\/one$/, '')}?fieldManager=carol`, configMap('one', { a: '1' })))
    const answer = await server.apply(path, 'bob', configMap('one', { a: 'x' }))
    expect(answer.code).toBe(409)
    expect(answer.body.message).toMatch(
      /^Apply failed with 1 conflict: conflict with "carol" using v1( at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)?: \.data\.a$/,
    )
  })

  conforms('takes over by force', async () => {
    const path = await place()
    ok(await server.apply(path, 'alice', configMap('one', { a: '1', b: '2' })))
    const after = ok(await server.apply(path, 'bob', configMap('one', { a: 'x' }), '&force=true'))
    expect(after.data).toEqual({ a: 'x', b: '2' })
    expect(fieldsOf(after, 'alice')).toEqual({ 'f:data': { 'f:b': {} } })
    expect(fieldsOf(after, 'bob')).toEqual({ 'f:data': { 'f:a': {} } })
  })

  conforms('shares a field that both give the same value', async () => {
    const path = await place()
    ok(await server.apply(path, 'alice', configMap('one', { a: '1' })))
    const shared = await server.apply(path, 'bob', configMap('one', { a: '1' }))
    expect(shared.code).toBe(200)
    expect(managers(shared.body).toSorted()).toEqual(['alice Apply', 'bob Apply'])
  })

  conforms('loses fields to a plain update', async () => {
    const path = await place()
    const mine = ok(await server.apply(path, 'alice', configMap('one', { a: '1', b: '2' })))
    const theirs = ok(await server.update(`${path}?fieldManager=bob`, { ...mine, data: { a: 'x', b: '2' } }))
    expect(fieldsOf(theirs, 'alice')).toEqual({ 'f:data': { 'f:b': {} } })
    expect(fieldsOf(theirs, 'bob')).toEqual({ 'f:data': { 'f:a': {} } })
    expect(managers(theirs).toSorted()).toEqual(['alice Apply', 'bob Update'])
  })

  conforms('tracks plain writers by their user agent', async () => {
    const ns = await namespace()
    const made = ok(
      await server.create(configMaps(ns), configMap('one', { a: '1' }), {
        headers: { 'user-agent': 'tester/1.2 (x)' },
      }),
    )
    expect(managers(made)).toEqual(['tester Update'])
    expect(fieldsOf(made, 'tester')).toEqual({ 'f:data': { '.': {}, 'f:a': {} } })
  })

  conforms('refuses managedFields in an applied body', async () => {
    const path = await place()
    const answer = await server.apply(path, 'alice', configMap('one', {}, { managedFields: [{ manager: 'x' }] }))
    expect(answer.code).toBe(400)
    expect(answer.body.message).toContain('metadata.managedFields must be nil')
  })

  conforms('lets a writer reset all ownership with an empty list', async () => {
    const path = await place()
    ok(await server.apply(path, 'alice', configMap('one', { a: '1' })))
    const after = ok(await server.merge(path, { metadata: { managedFields: [{}] } }))
    expect(after.metadata.managedFields).toBeUndefined()
  })

  conforms('needs apiVersion and kind', async () => {
    const path = await place()
    const answer = await server.apply(path, 'alice', { metadata: { name: 'one' } })
    expect(answer.code).toBe(400)
    expect(answer.body.reason).toBe('BadRequest')
  })

  conforms('refuses an unknown field with its path', async () => {
    const path = await place()
    const answer = await server.apply(path, 'alice', { ...configMap('one'), dta: { a: '1' } })
    expect(answer.code).toBe(500)
    expect(answer.body.message).toContain('.dta: field not declared in schema')
  })

  conforms('merges a list of containers by name', async () => {
    const ns = await namespaceForPods()
    const path = `/api/v1/namespaces/${ns}/pods/one`
    const made = ok(await server.apply(path, 'alice', pod('one')))
    expect(fieldsOf(made, 'alice')).toEqual({
      'f:spec': { 'f:containers': { 'k:{"name":"main"}': { '.': {}, 'f:image': {}, 'f:name': {} } } },
    })
    const image = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'one' },
      spec: { containers: [{ name: 'main', image: 'x:2' }] },
    }
    expect((await server.apply(path, 'bob', image)).code).toBe(409)
    expect(ok(await server.apply(path, 'bob', image, '&force=true')).spec.containers).toMatchObject([
      { name: 'main', image: 'x:2' },
    ])
  })

  conforms('follows list types of a custom kind', async () => {
    const kind = await customKind({
      scope: 'Cluster',
      schema: specSchema({
        properties: {
          ports: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['name'],
            items: {
              type: 'object',
              required: ['name'],
              properties: { name: { type: 'string' }, port: { type: 'integer' } },
            },
          },
          tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
          whole: { type: 'array', items: { type: 'string' } },
        },
      }),
    })
    const path = `${kind.at()}/one`
    const spec = (ports: object[], tags: string[], whole: string[]) =>
      kind.object('one', { spec: { ports, tags, whole } })
    ok(await server.apply(path, 'alice', spec([{ name: 'a', port: 1 }], ['x'], ['w'])))
    const after = ok(
      await server.apply(path, 'bob', kind.object('one', { spec: { ports: [{ name: 'b', port: 2 }], tags: ['y'] } })),
    )
    expect(after.spec).toEqual({
      ports: [
        { name: 'a', port: 1 },
        { name: 'b', port: 2 },
      ],
      tags: ['x', 'y'],
      whole: ['w'],
    })
    expect(fieldsOf(after, 'bob')).toEqual({
      'f:spec': {
        'f:ports': { 'k:{"name":"b"}': { '.': {}, 'f:name': {}, 'f:port': {} } },
        'f:tags': { 'v:"y"': {} },
      },
    })
    const atomic = await server.apply(path, 'bob', kind.object('one', { spec: { whole: ['z'] } }))
    expect(atomic.code).toBe(409)
    expect(atomic.body.message).toBe('Apply failed with 1 conflict: conflict with "alice": .spec.whole')
  })

  conforms('to status owns status only, and is a manager of its own', async () => {
    const kind = await customKind({ scope: 'Cluster', subresources: { status: {} } })
    const path = `${kind.at()}/one`
    ok(await server.apply(path, 'alice', kind.object('one', { spec: { a: 1 } })))
    const after = ok(await server.apply(`${path}/status`, 'alice', kind.object('one', { status: { ready: true } })))
    expect(after.status).toEqual({ ready: true })
    expect(after.spec).toEqual({ a: 1 })
    expect(managers(after).toSorted()).toEqual(['alice Apply', 'alice Apply status'])
  })

  conforms('to the status of nothing answers 404', async () => {
    const kind = await customKind({ scope: 'Cluster', subresources: { status: {} } })
    const answer = await server.apply(`${kind.at()}/none/status`, 'alice', kind.object('none', { status: {} }))
    expect(answer.code).toBe(404)
  })

  conforms('with an outdated resourceVersion is a conflict', async () => {
    const path = await place()
    const first = ok(await server.apply(path, 'alice', configMap('one', { a: '1' })))
    ok(await server.apply(path, 'alice', configMap('one', { a: '2' })))
    const { resourceVersion } = first.metadata
    const answer = await server.apply(path, 'alice', configMap('one', { a: '3' }, { resourceVersion }))
    expect(answer.code).toBe(409)
    expect(answer.body.message).toContain('the object has been modified')
  })

  conforms('with a uid never creates', async () => {
    const path = await place()
    const answer = await server.apply(
      path,
      'alice',
      configMap('one', {}, { uid: '11111111-1111-4111-8111-111111111111' }),
    )
    expect(answer.code).toBe(409)
    expect(answer.body.message).toContain(
      'uid mismatch: the provided object specified uid 11111111-1111-4111-8111-111111111111, and no existing object was found',
    )
  })

  conforms('adds and removes finalizers as a set', async () => {
    const path = await place()
    const bare = (metadata: object = {}) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'one', ...metadata },
    })
    ok(await server.apply(path, 'alice', bare({ finalizers: ['example.com/a'] })))
    const both = ok(await server.apply(path, 'bob', bare({ finalizers: ['example.com/b'] })))
    expect(both.metadata.finalizers).toEqual(['example.com/a', 'example.com/b'])
    const left = ok(await server.apply(path, 'alice', bare()))
    expect(left.metadata.finalizers).toEqual(['example.com/b'])
  })
})

// Fields a server does not know and keys that appear twice: ignored, warned about or refused, as the client asks.

import { describe, expect } from 'vitest'
import { mergePatch } from './client.ts'
import {
  type CustomKind,
  configMap,
  configMaps,
  conforms,
  customKind,
  namespace,
  ok,
  server,
  specSchema,
} from './world.ts'

const yaml = 'application/yaml'

async function strictKind(): Promise<CustomKind> {
  return customKind({ scope: 'Cluster', schema: specSchema({ properties: { a: { type: 'integer' } } }) })
}

describe('unknown fields of built-in kinds', () => {
  conforms('are refused under Strict, all at once', async () => {
    const ns = await namespace()
    const answer = await server.create(`${configMaps(ns)}?fieldValidation=Strict`, {
      ...configMap('one', {}, { odd: 1 }),
      more: 2,
    })
    expect(answer.code).toBe(400)
    expect(answer.body).toMatchObject({
      reason: 'BadRequest',
      message:
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.odd", unknown field "more"',
    })
  })

  conforms('are warned about under Warn, and by default', async () => {
    const ns = await namespace()
    for (const [name, query] of [
      ['one', '?fieldValidation=Warn'],
      ['two', ''],
    ] as const) {
      const answer = await server.create(configMaps(ns) + query, { ...configMap(name), more: 2 })
      expect(answer.code).toBe(201)
      expect(answer.warnings).toEqual(['unknown field "more"'])
      expect(answer.body.more).toBeUndefined()
    }
  })

  conforms('are dropped in silence under Ignore', async () => {
    const ns = await namespace()
    const answer = await server.create(`${configMaps(ns)}?fieldValidation=Ignore`, { ...configMap('one'), more: 2 })
    expect(answer.code).toBe(201)
    expect(answer.warnings).toEqual([])
  })

  conforms('count as mistakes in the query too', async () => {
    const ns = await namespace()
    const answer = await server.create(`${configMaps(ns)}?fieldValidation=Sometimes`, configMap('one'))
    expect(answer.code).toBe(422)
    expect(answer.body.message).toBe(
      'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Sometimes": supported values: "", "Ignore", "Strict", "Warn"',
    )
  })

  conforms('are found in YAML and in patches', async () => {
    const ns = await namespace()
    const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\nmore: 2\n'
    const created = await server.create(`${configMaps(ns)}?fieldValidation=Strict`, text, { contentType: yaml })
    expect(created.code).toBe(400)
    expect(created.body.message).toContain('unknown field "more"')
    ok(await server.create(configMaps(ns), configMap('one')))
    const patched = await server.patch(`${configMaps(ns)}/one?fieldValidation=Strict`, mergePatch, { more: 2 })
    expect(patched.code).toBe(422)
    expect(patched.body.message).toContain('strict decoding error: unknown field "more"')
    const warned = await server.merge(`${configMaps(ns)}/one`, { more: 2 })
    expect(warned.code).toBe(200)
    expect(warned.warnings).toEqual(['unknown field "more"'])
  })
})

describe('repeated keys', () => {
  const twice = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":{"a":"1","a":"2"}}'

  conforms('are refused under Strict', async () => {
    const ns = await namespace()
    const answer = await server.create(`${configMaps(ns)}?fieldValidation=Strict`, twice)
    expect(answer.code).toBe(400)
    expect(answer.body.message).toContain('strict decoding error: duplicate field "data.a"')
  })

  conforms('are warned about by default, and the last one counts', async () => {
    const ns = await namespace()
    const answer = await server.create(configMaps(ns), twice)
    expect(answer.code).toBe(201)
    expect(answer.warnings).toEqual(['duplicate field "data.a"'])
    expect(answer.body.data).toEqual({ a: '2' })
  })

  conforms('in YAML are found as well', async () => {
    const ns = await namespace()
    const text = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\ndata:\n  a: "1"\n  a: "2"\n'
    const answer = await server.create(`${configMaps(ns)}?fieldValidation=Strict`, text, { contentType: yaml })
    expect(answer.code).toBe(400)
    expect(answer.body.message).toContain('key "a" already set in map')
    const loose = await server.create(configMaps(ns), text, { contentType: yaml })
    expect(loose.code).toBe(201)
    expect(loose.warnings).toEqual(['line 7: key "a" already set in map'])
  })
})

describe('unknown fields of custom kinds', () => {
  conforms('are refused under Strict with their paths', async () => {
    const kind = await strictKind()
    const answer = await server.create(
      `${kind.at()}?fieldValidation=Strict`,
      kind.object('one', { spec: { a: 1, b: 2 }, other: 3 }),
    )
    expect(answer.code).toBe(400)
    expect(answer.body.message).toBe(
      `Widget in version "v1" cannot be handled as a Widget: strict decoding error: unknown field "other", unknown field "spec.b"`,
    )
  })

  conforms('are warned about by default', async () => {
    const kind = await strictKind()
    const answer = await server.create(kind.at(), kind.object('one', { spec: { a: 1, b: 2 } }))
    expect(answer.code).toBe(201)
    expect(answer.warnings).toEqual(['unknown field "spec.b"'])
    expect(answer.body.spec).toEqual({ a: 1 })
  })

  conforms('are refused in patches and updates under Strict', async () => {
    const kind = await strictKind()
    const body = ok(await server.create(kind.at(), kind.object('one', { spec: { a: 1 } })))
    const patched = await server.patch(`${kind.at()}/one?fieldValidation=Strict`, mergePatch, { spec: { b: 2 } })
    expect(patched.code).toBe(422)
    expect(patched.body.message).toContain('strict decoding error: unknown field "spec.b"')
    const updated = await server.update(`${kind.at()}/one?fieldValidation=Strict`, { ...body, spec: { b: 2 } })
    expect(updated.code).toBe(400)
  })

  conforms('that appear twice are refused under Strict', async () => {
    const kind = await strictKind()
    const text = JSON.stringify(kind.object('one', { spec: { a: 1 } })).replace('"a":1', '"a":1,"a":2')
    const answer = await server.create(`${kind.at()}?fieldValidation=Strict`, text)
    expect(answer.code).toBe(400)
    expect(answer.body.message).toContain('duplicate field "spec.a"')
  })
})

// Input that is invalid, too large, or meant to do harm: the answer is precise, and the server goes on.

import { afterEach, describe, expect } from 'vitest'
import { configMap, configMaps, conforms, customKind, namespace, ok, server } from './world.ts'

afterEach(async () => {
  expect((await server.get('/readyz')).code).toBe(200)
})

describe('bad bodies', () => {
  conforms('that are not JSON are answered 400 with what is wrong', async () => {
    const ns = await namespace()
    const answer = await server.create(configMaps(ns), '{"kind":"ConfigMap",')
    expect(answer.code).toBe(400)
    expect(answer.body).toMatchObject({
      reason: 'BadRequest',
      message: expect.stringContaining("couldn't get version/kind; json parse error: unexpected end of JSON input"),
    })
  })

  conforms('that are empty are answered 400', async () => {
    const ns = await namespace()
    const answer = await server.create(configMaps(ns), '')
    expect(answer.code).toBe(400)
    expect(answer.body.reason).toBe('BadRequest')
  })

  for (const [what, body] of [
    ['an array', '[]'],
    ['a number', '42'],
    ['a string', '"text"'],
  ] as const) {
    conforms(`that are ${what} are answered 400`, async () => {
      const ns = await namespace()
      expect((await server.create(configMaps(ns), body)).code).toBe(400)
    })
  }

  conforms('with a field of the wrong type name the field', async () => {
    const ns = await namespace()
    const answer = await server.create(configMaps(ns), { ...configMap('one'), data: { a: 1 } })
    expect(answer.code).toBe(400)
    expect(answer.body.message).toBe(
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
    )
  })

  conforms('of more than 3 MiB are answered 413', async () => {
    const ns = await namespace()
    const body = JSON.stringify(configMap('one', { a: 'x'.repeat(3 * 1024 * 1024) }))
    const answer = await server.create(configMaps(ns), body)
    expect(answer.code).toBe(413)
    expect(answer.body).toMatchObject({
      reason: 'RequestEntityTooLarge',
      message: 'Request entity too large: limit is 3145728',
    })
  })

  conforms('with a config map over 1 MiB are answered 422', async () => {
    const ns = await namespace()
    const answer = await server.create(configMaps(ns), configMap('one', { a: 'x'.repeat(1024 * 1024 + 1) }))
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain('Too long: may not be more than 1048576 bytes')
  })

  conforms('nested thousands deep are refused', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    const depth = 20_000
    const deep = `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
    const answer = await server.create(
      kind.at(),
      `{"apiVersion":"${kind.apiVersion}","kind":"Widget","metadata":{"name":"deep"},"spec":${deep}}`,
    )
    expect(answer.code).toBe(400)
    expect(answer.body.reason).toBe('BadRequest')
  })

  conforms('with keys like __proto__ and constructor keep them as plain data', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    const text = `{"apiVersion":"${kind.apiVersion}","kind":"Widget","metadata":{"name":"odd"},"spec":{"__proto__":{"polluted":"yes"},"constructor":{"prototype":1},"toString":"x","hasOwnProperty":false}}`
    const answer = await server.create(kind.at(), text)
    expect(answer.code).toBe(201)
    for (const path of [`${kind.at()}/odd`, kind.at()]) {
      const { text: stored } = await server.get(path)
      expect(stored).toContain('"__proto__":{"polluted":"yes"}')
      expect(stored).toContain('"constructor":{"prototype":1}')
      expect(stored).toContain('"hasOwnProperty":false')
    }
    const labels = await server.create(
      kind.at(),
      `{"apiVersion":"${kind.apiVersion}","kind":"Widget","metadata":{"name":"two","labels":{"__proto__":"x"}}}`,
    )
    expect(labels.code).toBe(422)
    ok(await server.merge(`${kind.at()}/odd`, JSON.parse('{"spec":{"__proto__":{"more":1}}}')))
    const merged = await server.get(`${kind.at()}/odd`)
    expect(merged.text).toMatch(/"__proto__":\{("more":1,"polluted":"yes"|"polluted":"yes","more":1)\}/)
  })

  conforms('in YAML work, and aliases cannot blow up', async () => {
    const ns = await namespace()
    const yaml = { contentType: 'application/yaml' }
    const fine = await server.create(
      configMaps(ns),
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: "1"}\n',
      yaml,
    )
    expect(fine.code).toBe(201)
    let bomb = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: bomb\na: &a ["x","x","x","x","x","x","x","x","x"]\n'
    for (const [to, from] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf', 'hg', 'ih']) {
      bomb += `${to}: &${to} [${Array.from({ length: 9 }, () => `*${from}`).join(',')}]\n`
    }
    const answer = await server.create(configMaps(ns), bomb, yaml)
    expect(answer.code).toBe(400)
    const broken = await server.create(configMaps(ns), 'a: [unclosed', yaml)
    expect(broken.code).toBe(400)
  })
})

describe('bad types', () => {
  conforms('of content are answered 415', async () => {
    const ns = await namespace()
    const answer = await server.create(configMaps(ns), 'hello', { contentType: 'text/plain' })
    expect(answer.code).toBe(415)
    expect(answer.body).toMatchObject({
      reason: 'UnsupportedMediaType',
      message: expect.stringMatching(/415: Unsupported Media Type|the body of the request was in an unknown format/),
    })
  })

  conforms('of answers are answered 406', async () => {
    for (const accept of ['text/plain', 'application/xml', 'nonsense', 'application/json;as=Nothing;g=x;v=y']) {
      expect((await server.get('/api/v1/namespaces/default', { accept })).code).toBe(406)
    }
  })

  conforms('with parameters of charset are fine', async () => {
    const ns = await namespace()
    const answer = await server.create(configMaps(ns), configMap('one'), {
      contentType: 'application/json; charset=utf-8',
    })
    expect(answer.code).toBe(201)
  })
})

describe('bad paths', () => {
  for (const path of [
    '/api/v1/nothings',
    '/api/v2/pods',
    '/apis/apps/v9/deployments',
    '/api/v1/namespaces/default/pods/x/nothing',
    '/nothing',
    '/apis/constructor/v1/x',
    '/api/v1/__proto__',
    '/apis/apps/v1/toString',
    '/api/v1/namespaces/default/namespaces',
    '/api/v1/namespaces/default/namespaces/default',
    '/api/v1/namespaces/default/namespaces/kube-system',
    '/api/v1/namespaces/default/namespaces/default/status',
  ]) {
    conforms(`answer 404 at ${path}`, async () => {
      expect((await server.get(path)).code).toBe(404)
    })
  }

  conforms('with escapes stay names', async () => {
    const ns = await namespace()
    for (const name of ['..%2f..%2fsecrets', 'a%00b', 'a%20b', '%C3%A9', '%F0%9F%98%80']) {
      const answer = await server.get(`${configMaps(ns)}/${name}`)
      expect([400, 404]).toContain(answer.code)
    }
  })

  conforms('with broken escapes are refused', async () => {
    const answer = await server.get('/api/v1/namespaces/default/configmaps/%zz')
    expect(answer.code).toBe(400)
  })

  conforms('with methods that do not exist there are answered 405', async () => {
    const answer = await server.request('PUT', '/api/v1/namespaces/default/configmaps', { body: {} })
    expect(answer.code).toBe(405)
    expect(answer.body.reason).toBe('MethodNotAllowed')
  })

  conforms('with query parameters of the wrong type are answered 400', async () => {
    expect((await server.get('/api/v1/namespaces?limit=abc')).code).toBe(400)
    expect((await server.get('/api/v1/namespaces?timeoutSeconds=x')).code).toBe(400)
    const negative = await server.get('/api/v1/namespaces?limit=-1')
    expect([200, 400, 422]).toContain(negative.code)
  })

  conforms('of a thousand characters are just not found', async () => {
    expect([404, 414, 431]).toContain(
      (await server.get(`/api/v1/namespaces/default/configmaps/${'x'.repeat(1000)}`)).code,
    )
  })
})

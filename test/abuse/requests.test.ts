import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { bodyBytesMax } from '../../src/limits.ts'
import { aConfigMap, aWidgetDefinition, configMaps, definitions } from '../harness/objects.ts'
import { aTarget, http2, type Target } from './target.ts'

let target: Target
beforeAll(async () => {
  target = await aTarget()
})
afterEach(() => target.expectUnharmed())
afterAll(() => target.close())

const N = configMaps()

describe('bodies', () => {
  const deep = 100_000
  test.each<[string, string | Buffer, string, number]>([
    ['half an object', '{', 'application/json', 400],
    ['nothing', '', 'application/json', 400],
    ['null', 'null', 'application/json', 422],
    ['a list', '[]', 'application/json', 400],
    ['a string', '"x"', 'application/json', 400],
    ['bytes that are no text', Buffer.from([0xff, 0xfe]), 'application/json', 400],
    ['a number too many', '{"apiVersion":1e999999}', 'application/json', 400],
    ['a number too large to be kept', '{"metadata":{"name":"a"},"extra":1e999}', 'application/json', 400],
    ['lists in lists', '['.repeat(deep), 'application/json', 400],
    ['objects in objects', '{"a":'.repeat(deep), 'application/json', 400],
    [
      'deep data that is well formed',
      `{"metadata":{"name":"a"},"data":${'['.repeat(deep)}${']'.repeat(deep)}}`,
      'application/json',
      400,
    ],
    ['deep YAML', '['.repeat(deep), 'application/yaml', 400],
    ['half YAML', 'a: [', 'application/yaml', 400],
    ['a protobuf envelope around garbage', 'k8s\0garbage', 'application/vnd.kubernetes.protobuf', 400],
    ['garbage as protobuf', 'garbage', 'application/vnd.kubernetes.protobuf', 400],
    [
      'protobuf that promises gigabytes',
      Buffer.from([0x6b, 0x38, 0x73, 0, 0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f]),
      'application/vnd.kubernetes.protobuf',
      400,
    ],
    ['plain text', '{}', 'text/plain', 415],
    ['the type constructor', '{}', 'constructor', 415],
    ['the type __proto__', '{}', '__proto__', 415],
  ])('%s', async (_, body, type, code) => {
    expect((await target.send('POST', N, body, { 'content-type': type })).code).toBe(code)
  })

  test.each([['constructor'], ['__proto__'], ['toString'], ['']])('a patch in the language %j', async type => {
    const reply = await target.send('PATCH', `${N}/kube-root-ca.crt`, '{}', { 'content-type': type })
    expect(reply.code).toBe(415)
  })

  test('aliases that multiply are refused', async () => {
    const levels = Array.from({ length: 12 }, (_, i) => `l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(',')}]`)
    const bomb = ['l0: &l0 [x,x,x,x,x,x,x,x,x]', ...levels].join('\n')
    expect((await target.send('POST', N, bomb, { 'content-type': 'application/yaml' })).code).toBe(400)
    const applied = await target.send('PATCH', `${N}/bomb?fieldManager=x`, bomb, {
      'content-type': 'application/apply-patch+yaml',
    })
    expect(applied.code).toBe(400)
  })

  test.each([
    ['that say so', {}],
    ['that do not', { 'transfer-encoding': 'chunked' }],
  ])('over the limit, %s, are refused with 413', async (_, headers) => {
    const body = JSON.stringify(aConfigMap('large', { a: 'x'.repeat(bodyBytesMax) }))
    expect((await target.send('POST', N, body, headers)).code).toBe(413)
  })

  test('over the limit are refused on HTTP/2 as well', async () => {
    const body = 'x'.repeat(bodyBytesMax + 1)
    const headers = { ':method': 'POST', ':path': N, 'content-type': 'application/json' }
    expect((await http2(target, headers, body)).code).toBe(413)
  })

  test('keys with a meaning in JavaScript are keys like any other', async () => {
    const hostile = '{"__proto__":"a","constructor":"b","toString":"c","hasOwnProperty":"d"}'
    const body = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"hostile","annotations":${hostile}},"data":${hostile}}`
    // An annotation may not begin with an underscore, and is told so; data may.
    const refused = await target.send('POST', N, body)
    expect(refused.code).toBe(422)
    const made = await target.send('POST', N, body.replace(`,"annotations":${hostile}`, ''))
    expect(made.code).toBe(201)
    const read = await target.send('GET', `${N}/hostile`)
    for (const key of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(Object.getOwnPropertyDescriptor(read.body.data, key)?.value, key).toEqual(expect.any(String))
    }
    const patched = await target.send('PATCH', `${N}/hostile`, '{"data":{"__proto__":null,"constructor":"e"}}', {
      'content-type': 'application/merge-patch+json',
    })
    expect(Object.hasOwn(patched.body.data as object, '__proto__')).toBe(false)
    expect(patched.body.data).toMatchObject({ constructor: 'e' })
  })

  test.each([
    ['merge', 'application/merge-patch+json', '{"__proto__":{"polluted":1},"metadata":{"__proto__":{"polluted":1}}}'],
    ['strategic', 'application/strategic-merge-patch+json', '{"__proto__":{"polluted":1},"data":{"__proto__":"x"}}'],
    ['json', 'application/json-patch+json', '[{"op":"add","path":"/__proto__/polluted","value":1}]'],
    ['json', 'application/json-patch+json', '[{"op":"add","path":"/constructor/prototype/polluted","value":1}]'],
    ['apply', 'application/apply-patch+yaml', '{"apiVersion":"v1","kind":"ConfigMap","data":{"__proto__":"x"}}'],
  ])('a %s patch pollutes nothing', async (_, type, body) => {
    const reply = await target.send('PATCH', `${N}/kube-root-ca.crt?fieldManager=x&force=true`, body, {
      'content-type': type,
    })
    expect(reply.code).toBeLessThan(500)
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })
})

describe('paths and queries', () => {
  test.each<[string, number]>([
    ['/api//v1/namespaces', 404],
    ['//api/v1/namespaces', 404],
    ['/api/v1/../v1/namespaces', 404],
    ['/api/v1/namespaces/default/../kube-system/configmaps', 404],
    [`${N}/a%2Fb`, 400],
    [`${N}/a%00b`, 404],
    [`${N}/%2e%2e`, 400],
    [`${N}/..`, 400],
    [`${N}/%zz`, 400],
    [`${N}/${'a'.repeat(5_000)}`, 404],
    [`${N}/__proto__`, 404],
    [`${N}/constructor`, 404],
    ['/api/v1/namespaces/__proto__/configmaps', 200],
    ['/api/v1/__proto__', 404],
    ['/apis/constructor/v1/toString', 404],
    ['/apis/__proto__', 404],
    ['/openapi/v3/constructor', 404],
    ['/openapi/v3/apis/__proto__/v1', 404],
    ['/healthz/constructor', 404],
    [`${N}/kube-root-ca.crt/__proto__`, 404],
    [`${N}/kube-root-ca.crt/constructor`, 404],
    ['/api/v1/namespaces/default/pods/a/b/c/d', 404],
    ['/apis/apps/v1/namespaces/default/configmaps', 404],
    ['/api/v1/configmaps/x', 404],
    ['/api/v1/namespaces/default/nodes', 404],
    [`${N}?limit=-1`, 200],
    [`${N}?limit=99999999999999999999`, 400],
    [`${N}?limit=abc`, 400],
    [`${N}?limit=1e3`, 400],
    [`${N}?timeoutSeconds=abc`, 400],
    [`${N}?resourceVersion=-1`, 400],
    [`${N}?resourceVersion=99999999999999999999999`, 400],
    [`${N}?resourceVersion=abc`, 400],
    [`${N}?labelSelector=%21%21`, 400],
    [`${N}?labelSelector=__proto__`, 400],
    [`${N}?labelSelector=constructor`, 200],
    [`${N}?fieldSelector=constructor%3Da`, 400],
    [`${N}?fieldSelector=__proto__%3Da`, 400],
    [`${N}?continue=abc`, 400],
    [`${N}?dryRun=__proto__`, 200],
    ['http://elsewhere.example/api/v1/namespaces', 200],
  ])('GET %s is %d', async (path, code) => {
    expect((await target.send('GET', path)).code).toBe(code)
  })

  test.each([
    ['OPTIONS', N],
    ['TRACE', N],
    ['PROPFIND', N],
    ['HEAD', N],
    ['PUT', N],
    ['PATCH', N],
    ['POST', `${N}/x`],
    ['DELETE', '/api/v1/configmaps'],
    ['POST', '/api/v1/configmaps'],
    ['POST', '/version'],
    ['DELETE', '/api/v1/watch/configmaps'],
  ])('%s %s is not allowed', async (method, path) => {
    expect((await target.send(method, path, method === 'POST' ? '{}' : undefined)).code).toBe(405)
  })

  test.each([['constructor'], ['__proto__'], ['toString'], ['BREW']])('the method %s means nothing', async method => {
    expect((await http2(target, { ':method': method, ':path': N })).code).toBe(405)
  })

  test('a selector of 60 KB is read or refused, and quickly', async () => {
    const many = Array.from({ length: 4_000 }, (_, i) => `key${i}!=v`).join(',')
    expect((await target.send('GET', `${N}?labelSelector=${encodeURIComponent(many)}`)).code).toBeLessThan(500)
    expect((await target.send('GET', `${N}?labelSelector=${'a,'.repeat(30_000)}`)).code).toBeLessThan(500)
    expect((await target.send('GET', `${N}?labelSelector=${'('.repeat(50_000)}`)).code).toBeLessThan(500)
    expect((await target.send('GET', `${N}?fieldSelector=${'%5C'.repeat(15_000)}`)).code).toBeLessThan(500)
  })

  test.each([['constructor'], ['__proto__'], ['text/html'], ['application/json;as=constructor;g=meta.k8s.io;v=v1']])(
    'a client that accepts only %s is told 406',
    async accept => {
      expect((await target.send('GET', N, undefined, { accept })).code).toBe(406)
    },
  )

  test.each([
    ['another resource', { v: 'meta.k8s.io/v1', rv: -1, start: 'kube-system/secret\0' }, 200],
    ['a huge revision', { v: 'meta.k8s.io/v1', rv: 2 ** 53, start: 'a\0' }, 400],
    ['a version that is an object', { v: {}, rv: 1, start: 'a' }, 400],
    ['a place that is an object', { v: 'meta.k8s.io/v1', rv: 1, start: { length: 1 } }, 400],
  ])('a token forged with %s opens nothing', async (_, token, code) => {
    const forged = Buffer.from(JSON.stringify(token)).toString('base64url')
    const reply = await target.send('GET', `${N}?limit=5&continue=${forged}`)
    expect(reply.code).toBe(code)
    const namespaces = ((reply.body.items ?? []) as { metadata: { namespace: string } }[]).map(
      i => i.metadata.namespace,
    )
    expect(namespaces.every(namespace => namespace === 'default')).toBe(true)
  })
})

describe('headers', () => {
  const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
  const review = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' })
  const identity = {
    'impersonate-user': 'ann',
    'impersonate-group': ['blue', 'red, green'],
    'impersonate-extra-scopes': ['view', 'edit, delete'],
  }
  const expected = {
    groups: ['blue', 'red, green', 'system:authenticated'],
    extra: { scopes: ['view', 'edit, delete'] },
  }
  const userIn = (text: string) => (JSON.parse(text) as { status: { userInfo: object } }).status.userInfo

  test('of one name stay as many values as were sent, in HTTP/1', async () => {
    expect(userIn((await target.send('POST', path, review, identity)).text)).toMatchObject(expected)
  })

  test('of one name stay as many values as were sent, in HTTP/2', async () => {
    const headers = { ':method': 'POST', ':path': path, 'content-type': 'application/json', ...identity }
    expect(userIn((await http2(target, headers, review)).text)).toMatchObject(expected)
  })
})

describe('texts that turn around what stands beside them', () => {
  test.each(['application/json', 'application/yaml'])(
    'are shown as escapes where a refusal of %s repeats them',
    async type => {
      const name = 'a\u202egpj.exe\u2066\u200b'
      const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels: { [name]: name } } })
      const { code, text } = await target.send('POST', N, body, { 'content-type': type })
      expect(code).toBe(422)
      const { message, details } = JSON.parse(text) as { message: string; details: { causes: object[] } }
      expect(message).toContain('a\\u202egpj.exe\\u2066\\u200b')
      expect(message + JSON.stringify(details.causes)).not.toMatch(/[\u202e\u2066\u200b]/)
    },
  )
})

describe('definitions that mean harm', () => {
  const post = (schema: object, group: string) =>
    target.send('POST', definitions, JSON.stringify(aWidgetDefinition({ schema, group })))
  const widget = (group: string, spec: object) =>
    JSON.stringify({ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { generateName: 'w-' }, spec })
  const served = async (group: string) => {
    for (;;) if ((await target.send('GET', `/apis/${group}/v1`)).code === 200) return
  }

  test('a pattern that backtracks for ever takes no time', async () => {
    const schema = {
      type: 'object',
      properties: { spec: { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } } },
    }
    expect((await post(schema, 'bomb.example.com')).code).toBe(201)
    await served('bomb.example.com')
    const reply = await target.send(
      'POST',
      '/apis/bomb.example.com/v1/namespaces/default/widgets',
      widget('bomb.example.com', { a: `${'a'.repeat(50_000)}!` }),
    )
    expect(reply.code).toBe(422)
  })

  test('a rule that would run for ever is refused or cut short', async () => {
    const rule = 'self.list.all(a, self.list.all(b, self.list.all(c, self.list.all(d, a + b + c + d >= 0))))'
    const schema = {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: { list: { type: 'array', maxItems: 100, items: { type: 'integer' } } },
          'x-kubernetes-validations': [{ rule }],
        },
      },
    }
    const made = await post(schema, 'loop.example.com')
    if (made.code !== 201) return expect(made.code).toBe(422)
    await served('loop.example.com')
    const list = Array.from({ length: 100 }, (_, i) => i)
    const reply = await target.send(
      'POST',
      '/apis/loop.example.com/v1/namespaces/default/widgets',
      widget('loop.example.com', { list }),
    )
    expect(reply.code).toBe(422)
  })

  test('properties called like JavaScript’s own are properties', async () => {
    const text = JSON.stringify(
      aWidgetDefinition({
        schema: {
          type: 'object',
          properties: {
            spec: {
              type: 'object',
              properties: { P: { type: 'integer', default: 7 }, constructor: { type: 'string' } },
            },
          },
        },
        group: 'proto.example.com',
      }),
    )
    expect((await target.send('POST', definitions, text.replace('"P"', '"__proto__"'))).code).toBe(201)
    await served('proto.example.com')
    const path = '/apis/proto.example.com/v1/namespaces/default/widgets'
    const made = await target.send('POST', path, widget('proto.example.com', { constructor: 'a' }))
    expect(made.code).toBe(201)
    expect(Object.getOwnPropertyDescriptor(made.body.spec, '__proto__')?.value).toBe(7)
    expect((await target.send('POST', path, widget('proto.example.com', { constructor: 1 }))).code).toBe(422)
  })

  test('names of JavaScript’s own are no names of groups, kinds or objects', async () => {
    for (const name of ['__proto__', 'constructor.', 'toString']) {
      const definition = JSON.stringify(aWidgetDefinition({ group: name }))
      expect((await target.send('POST', definitions, definition)).code).toBe(422)
      expect((await target.send('POST', N, JSON.stringify(aConfigMap(name)))).code).toBe(422)
    }
    expect((await target.send('POST', N, JSON.stringify(aConfigMap('constructor')))).code).toBe(201)
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'constructor' } }
    expect((await target.send('POST', '/api/v1/namespaces', JSON.stringify(namespace))).code).toBe(201)
    expect((await target.send('POST', configMaps('constructor'), JSON.stringify(aConfigMap('valueof')))).code).toBe(201)
  })
})

describe('anything at all', () => {
  const safely = (code: number) => expect(code, 'a refusal or an answer, never a fault').toBeLessThan(500)

  test('random targets are answered', async () => {
    const piece = fc.oneof(
      fc.constantFrom(
        'api',
        'apis',
        'v1',
        'namespaces',
        'default',
        'configmaps',
        'pods',
        'status',
        'watch',
        '..',
        '.',
        '',
      ),
      fc.constantFrom(
        '__proto__',
        'constructor',
        '%2f',
        '%00',
        '%ff',
        '%',
        'é',
        '?',
        '&watch=0',
        '=',
        '~',
        '*',
        ';a=b',
      ),
      fc.string({ maxLength: 8 }).map(encodeURIComponent),
    )
    const path = fc.array(piece, { maxLength: 9 }).map(pieces => `/${pieces.join('/')}`.replace(/[^\x21-\x7e]/g, 'x'))
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'OPTIONS'), path, async (method, where) => {
        if (/watch/.test(where)) return
        safely((await target.send(method, where, method === 'GET' ? undefined : '{}')).code)
      }),
      { numRuns: 150 },
    )
  })

  test('random bodies are answered', async () => {
    const types = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map(bytes => Buffer.from(bytes)),
      fc.uint8Array({ maxLength: 100 }).map(bytes => Buffer.concat([Buffer.from('k8s\0'), bytes])),
      fc.json().map(text => Buffer.from(text)),
      fc.json().map(text => Buffer.from(`{"metadata":{"generateName":"a"},"data":${text},"x":${text}}`)),
      fc.json().map(text => Buffer.from(`{"metadata":${text}}`)),
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...types), body, async (type, bytes) => {
        safely((await target.send('POST', N, bytes, { 'content-type': type })).code)
      }),
      { numRuns: 200 },
    )
  })
})

// Custom kinds: how they come, what their schemas do to objects, and how they go.

import { describe, expect } from 'vitest'
import { asTable } from './client.ts'
import {
  conforms,
  crdFor,
  crds,
  customKind,
  eventually,
  made,
  namespace,
  ok,
  served,
  server,
  specSchema,
} from './world.ts'

const preserving = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

describe('a custom resource definition', () => {
  conforms('is accepted, named and established', async () => {
    const { crd, kind } = crdFor({ names: { shortNames: ['wg'], categories: ['all'] } })
    const answer = await server.create(crds, crd)
    made.push(kind.crdPath)
    expect(answer.code).toBe(201)
    expect(answer.body.spec).toMatchObject({ conversion: { strategy: 'None' } })
    const established = await eventually(async () => {
      const body = ok(await server.get(kind.crdPath))
      expect(body.status).toMatchObject({
        acceptedNames: {
          plural: 'widgets',
          singular: 'widget',
          kind: 'Widget',
          listKind: 'WidgetList',
          shortNames: ['wg'],
          categories: ['all'],
        },
        storedVersions: ['v1'],
        conditions: [
          { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' },
          {
            type: 'Established',
            status: 'True',
            reason: 'InitialNamesAccepted',
            message: 'the initial names have been accepted',
          },
        ],
      })
      return body
    })
    expect(established.metadata.generation).toBe(1)
    await served(kind)
    const discovered = await eventually(async () => {
      const body = ok(await server.get(`/apis/${kind.group}/v1`))
      expect(body.resources).toHaveLength(1)
      return body
    })
    expect(discovered.resources).toEqual([
      {
        name: 'widgets',
        singularName: 'widget',
        namespaced: true,
        kind: 'Widget',
        verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
        shortNames: ['wg'],
        categories: ['all'],
        storageVersionHash: expect.any(String),
      },
    ])
  })

  conforms('fills in singular and list kind', async () => {
    const { crd, kind } = crdFor()
    const bare = { ...crd, spec: { ...(crd.spec as object), names: { plural: 'widgets', kind: 'Widget' } } }
    const body = ok(await server.create(crds, bare))
    made.push(kind.crdPath)
    expect(body.spec.names).toMatchObject({ singular: 'widget', listKind: 'WidgetList' })
  })

  conforms('must be named after plural and group', async () => {
    const { crd } = crdFor()
    const answer = await server.create(crds, { ...crd, metadata: { name: 'wrong' } })
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain(
      'metadata.name: Invalid value: "wrong": must be spec.names.plural+"."+spec.group',
    )
  })

  conforms('must have exactly one stored version', async () => {
    const version = (name: string, storage: boolean) => ({
      name,
      served: true,
      storage,
      schema: { openAPIV3Schema: preserving },
    })
    const none = await server.create(crds, crdFor({ versions: [version('v1', false)] }).crd)
    expect(none.code).toBe(422)
    expect(none.body.message).toContain('must have exactly one version marked as storage version')
    const two = await server.create(crds, crdFor({ versions: [version('v1', true), version('v2', true)] }).crd)
    expect(two.code).toBe(422)
    expect(two.body.message).toContain('must have exactly one version marked as storage version')
  })

  conforms('must have a structural schema', async () => {
    const missing = await server.create(crds, crdFor({ versions: [{ name: 'v1', served: true, storage: true }] }).crd)
    expect(missing.code).toBe(422)
    expect(missing.body.message).toContain('spec.versions[0].schema.openAPIV3Schema: Required value')
    const untyped = await server.create(crds, crdFor({ schema: specSchema({ properties: { a: { minimum: 1 } } }) }).crd)
    expect(untyped.code).toBe(422)
    expect(untyped.body.message).toContain(
      'spec.validation.openAPIV3Schema.properties[spec].properties[a].type: Required value: must not be empty for specified object fields',
    )
  })

  conforms('must not have a default that its own schema refuses', async () => {
    const schema = specSchema({ properties: { a: { type: 'integer', minimum: 5, default: 1 } } })
    const answer = await server.create(crds, crdFor({ schema }).crd)
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain('.properties[a].default: Invalid value: 1: ')
    expect(answer.body.message).toContain('should be greater than or equal to 5')
  })

  conforms('must not have a rule that does not compile', async () => {
    const schema = specSchema({
      properties: { a: { type: 'integer' } },
      'x-kubernetes-validations': [{ rule: 'self.nothing > 3' }],
    })
    const answer = await server.create(crds, crdFor({ schema }).crd)
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain('compilation failed')
    expect(answer.body.message).toContain("undefined field 'nothing'")
  })

  conforms('says in its conditions when its names are taken', async () => {
    const first = await customKind()
    const crd = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `others.${first.group}` },
      spec: {
        group: first.group,
        scope: 'Namespaced',
        names: { plural: 'others', kind: 'Widget', listKind: 'OtherList' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: preserving } }],
      },
    }
    ok(await server.create(crds, crd))
    made.push(`${crds}/others.${first.group}`)
    await eventually(async () => {
      expect(ok(await server.get(`${crds}/others.${first.group}`)).status).toMatchObject({
        conditions: [
          { type: 'NamesAccepted', status: 'False', reason: 'KindConflict', message: '"Widget" is already in use' },
          { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' },
        ],
      })
    })
  })

  conforms('takes its objects along when deleted', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    ok(await server.create(kind.at(), kind.object('one')))
    const answer = await server.delete(kind.crdPath)
    expect(answer.code).toBe(200)
    await eventually(async () => expect((await server.get(kind.crdPath)).code).toBe(404))
    await eventually(async () => expect((await server.get(kind.at())).code).toBe(404))
  })

  conforms('waits for finalizers of its objects when deleted', async () => {
    const kind = await customKind({ scope: 'Cluster' })
    ok(await server.create(kind.at(), kind.object('held', {}, { finalizers: ['example.com/hold'] })))
    ok(await server.delete(kind.crdPath))
    await eventually(async () =>
      expect(ok(await server.get(`${kind.at()}/held`)).metadata.deletionTimestamp).toBeTruthy(),
    )
    expect(ok(await server.get(kind.crdPath)).metadata.finalizers).toEqual([
      'customresourcecleanup.apiextensions.k8s.io',
    ])
    const late = await server.create(kind.at(), kind.object('late'))
    expect(late.code).toBe(403)
    expect(late.body.message).toBe(
      `widgets.${kind.group} "late" is forbidden: create not allowed while custom resource definition is terminating`,
    )
    ok(await server.merge(`${kind.at()}/held`, { metadata: { finalizers: null } }))
    await eventually(async () => expect((await server.get(kind.crdPath)).code).toBe(404))
  })

  conforms('may not change its scope or group', async () => {
    const kind = await customKind()
    const answer = await server.merge(kind.crdPath, { spec: { scope: 'Cluster' } })
    expect(answer.code).toBe(422)
    expect(answer.body.message).toContain('spec.scope: Invalid value: "Cluster": field is immutable')
  })
})

describe('a schema', () => {
  conforms('fills in defaults, also in what is already stored', async () => {
    const { crd, kind } = crdFor({ scope: 'Cluster', schema: specSchema({ properties: { a: { type: 'string' } } }) })
    ok(await server.create(crds, crd))
    made.push(kind.crdPath)
    await served(kind)
    ok(await server.create(kind.at(), kind.object('one', { spec: {} })))
    const schema = specSchema({
      default: {},
      properties: {
        a: { type: 'string', default: 'x' },
        n: { type: 'object', properties: { d: { type: 'integer', default: 3 } } },
      },
    })
    ok(
      await server.patch(kind.crdPath, 'application/json-patch+json', [
        { op: 'replace', path: '/spec/versions/0/schema/openAPIV3Schema', value: schema },
      ]),
    )
    await eventually(async () => expect(ok(await server.get(`${kind.at()}/one`)).spec).toEqual({ a: 'x' }))
    const two = ok(await server.create(kind.at(), kind.object('two', { spec: { n: {} } })))
    expect(two.spec).toEqual({ a: 'x', n: { d: 3 } })
    expect(ok(await server.create(kind.at(), kind.object('three'))).spec).toEqual({ a: 'x' })
  })

  conforms('drops what it does not know, except where told to keep it', async () => {
    const kind = await customKind({
      scope: 'Cluster',
      schema: specSchema({
        properties: {
          known: { type: 'string' },
          open: preserving,
          map: { type: 'object', additionalProperties: { type: 'string' } },
        },
      }),
    })
    const body = ok(
      await server.create(
        kind.at(),
        kind.object('one', { spec: { known: 'a', unknown: 'b', open: { any: 1 }, map: { k: 'v' } }, more: 1 }),
      ),
    )
    expect(body.spec).toEqual({ known: 'a', open: { any: 1 }, map: { k: 'v' } })
    expect(body.more).toBeUndefined()
  })

  conforms('reports all faults at once, each with path and words', async () => {
    const kind = await customKind({
      scope: 'Cluster',
      schema: specSchema({
        required: ['must'],
        properties: {
          must: { type: 'string' },
          small: { type: 'integer', minimum: 1, maximum: 5 },
          word: { type: 'string', maxLength: 5 },
          code: { type: 'string', pattern: '^[a-z]+$' },
          choice: { type: 'string', enum: ['a', 'b'] },
          list: { type: 'array', maxItems: 2, items: { type: 'integer' } },
          flag: { type: 'boolean' },
        },
      }),
    })
    const spec = { small: 9, word: 'UPPERCASE', code: 'UPPER', choice: 'c', list: [1, 'x', 3], flag: 'yes' }
    const answer = await server.create(kind.at(), kind.object('one', { spec }))
    expect(answer.code).toBe(422)
    expect(answer.body.reason).toBe('Invalid')
    expect(answer.body.details).toMatchObject({ name: 'one', group: kind.group, kind: 'Widget' })
    const causes = (answer.body.details.causes ?? []).map(cause => `${cause.field} ${cause.reason} ${cause.message}`)
    expect(causes.toSorted()).toEqual(
      [
        'spec.must FieldValueRequired Required value',
        'spec.small FieldValueInvalid Invalid value: 9: spec.small in body should be less than or equal to 5',
        'spec.word FieldValueTooLong Too long: may not be more than 5 bytes',
        `spec.code FieldValueInvalid Invalid value: "UPPER": spec.code in body should match '^[a-z]+$'`,
        'spec.choice FieldValueNotSupported Unsupported value: "c": supported values: "a", "b"',
        'spec.list FieldValueTooMany Too many: 3: must have at most 2 items',
        'spec.list[1] FieldValueTypeInvalid Invalid value: "string": spec.list[1] in body must be of type integer: "string"',
        'spec.flag FieldValueTypeInvalid Invalid value: "string": spec.flag in body must be of type boolean: "string"',
      ].toSorted(),
    )
    expect(answer.body.message).toMatch(/^Widget\.g[0-9a-f]+\.example\.com "one" is invalid: \[/)
  })

  for (const [format, good, bad] of [
    ['ipv4', '10.0.0.1', '10.0.0'],
    ['ipv6', 'fd00::1', 'fd00:::1'],
    ['cidr', '10.0.0.0/8', '10.0.0.0/99'],
    ['date-time', '2024-01-01T00:00:00Z', 'yesterday'],
    ['uuid', '11111111-1111-4111-8111-111111111111', 'no-uuid'],
    ['byte', 'aGk=', '***'],
    ['mac', '02:00:00:00:00:01', '02:00'],
  ] as const) {
    conforms(`checks the format ${format}`, async () => {
      const kind = await customKind({
        scope: 'Cluster',
        schema: specSchema({ properties: { f: { type: 'string', format } } }),
      })
      expect((await server.create(kind.at(), kind.object('good', { spec: { f: good } }))).code).toBe(201)
      const answer = await server.create(kind.at(), kind.object('bad', { spec: { f: bad } }))
      expect(answer.code).toBe(422)
      expect(answer.body.details.causes).toEqual([
        {
          reason: 'FieldValueTypeInvalid',
          message: `Invalid value: "${bad}": spec.f in body must be of type ${format}: "${bad}"`,
          field: 'spec.f',
        },
      ])
    })
  }

  conforms('takes int-or-string, nullable and embedded objects', async () => {
    const kind = await customKind({
      scope: 'Cluster',
      schema: specSchema({
        properties: {
          port: { 'x-kubernetes-int-or-string': true },
          maybe: { type: 'string', nullable: true },
          never: { type: 'string' },
          template: {
            type: 'object',
            'x-kubernetes-embedded-resource': true,
            'x-kubernetes-preserve-unknown-fields': true,
          },
        },
      }),
    })
    const template = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' }, extra: 1 }
    const body = ok(
      await server.create(
        kind.at(),
        kind.object('one', { spec: { port: 'http', maybe: null, never: null, template } }),
      ),
    )
    expect(body.spec).toEqual({ port: 'http', maybe: null, template })
    expect((await server.create(kind.at(), kind.object('two', { spec: { port: 80 } }))).code).toBe(201)
    expect((await server.create(kind.at(), kind.object('three', { spec: { port: 1.5 } }))).code).toBe(422)
    const bad = await server.create(kind.at(), kind.object('four', { spec: { template: { kind: 'Pod' } } }))
    expect(bad.code).toBe(422)
    expect(bad.body.details.causes?.[0]?.field).toBe('spec.template.apiVersion')
  })

  conforms('refuses repeated keys in lists that are sets or maps', async () => {
    const kind = await customKind({
      scope: 'Cluster',
      schema: specSchema({
        properties: {
          set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
          map: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['k'],
            items: { type: 'object', required: ['k'], properties: { k: { type: 'string' } } },
          },
        },
      }),
    })
    const answer = await server.create(
      kind.at(),
      kind.object('one', { spec: { set: ['a', 'a'], map: [{ k: 'x' }, { k: 'x' }] } }),
    )
    expect(answer.code).toBe(422)
    expect((answer.body.details.causes ?? []).map(cause => `${cause.field} ${cause.message}`).toSorted()).toEqual([
      'spec.map[1] Duplicate value: {"k":"x"}',
      'spec.set[1] Duplicate value: "a"',
    ])
  })

  conforms('keeps integers beyond 2^53 exact', async () => {
    const kind = await customKind({
      scope: 'Cluster',
      schema: specSchema({ properties: { big: { type: 'integer', format: 'int64' } } }),
    })
    const text = JSON.stringify(kind.object('one', { spec: { big: 0 } })).replace('"big":0', '"big":9007199254740993')
    const answer = await server.create(kind.at(), text)
    expect(answer.code).toBe(201)
    expect(answer.text).toContain('"big":9007199254740993')
    ok(await server.merge(`${kind.at()}/one`, { metadata: { labels: { a: 'b' } } }))
    expect((await server.get(`${kind.at()}/one`)).text).toContain('"big":9007199254740993')
    expect((await server.get(kind.at())).text).toContain('"big":9007199254740993')
    expect((await server.get(`${kind.at()}/one`, { accept: 'application/yaml' })).text).toContain(
      'big: 9007199254740993',
    )
  })

  conforms('accepts an old fault while its field does not change', async () => {
    const { crd, kind } = crdFor({
      scope: 'Cluster',
      schema: specSchema({ properties: { a: { type: 'string' }, b: { type: 'string' } } }),
    })
    ok(await server.create(crds, crd))
    made.push(kind.crdPath)
    await served(kind)
    ok(await server.create(kind.at(), kind.object('one', { spec: { a: 'long long', b: 'x' } })))
    ok(
      await server.patch(kind.crdPath, 'application/json-patch+json', [
        { op: 'add', path: '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/a/maxLength', value: 3 },
      ]),
    )
    await eventually(async () =>
      expect((await server.create(`${kind.at()}?dryRun=All`, kind.object('two', { spec: { a: 'long' } }))).code).toBe(
        422,
      ),
    )
    expect((await server.merge(`${kind.at()}/one`, { spec: { b: 'y' } })).code).toBe(200)
    expect((await server.merge(`${kind.at()}/one`, { spec: { a: 'also long' } })).code).toBe(422)
  })
})

describe('validation rules', () => {
  conforms('refuse with their own message, path and reason', async () => {
    const kind = await customKind({
      scope: 'Cluster',
      schema: specSchema({
        properties: { min: { type: 'integer' }, max: { type: 'integer' }, name: { type: 'string', maxLength: 100 } },
        'x-kubernetes-validations': [
          { rule: 'self.min <= self.max', message: 'min must not exceed max' },
          {
            rule: '!has(self.name) || self.name.startsWith("x")',
            messageExpression: '"name was " + self.name',
            fieldPath: '.name',
            reason: 'FieldValueForbidden',
          },
        ],
      }),
    })
    const answer = await server.create(kind.at(), kind.object('one', { spec: { min: 5, max: 1, name: 'abc' } }))
    expect(answer.code).toBe(422)
    expect(
      (answer.body.details.causes ?? []).map(cause => `${cause.field} ${cause.reason} ${cause.message}`).toSorted(),
    ).toEqual(
      [
        'spec FieldValueInvalid Invalid value: min must not exceed max',
        'spec.name FieldValueForbidden Forbidden: name was abc',
      ].toSorted(),
    )
    expect((await server.create(kind.at(), kind.object('two', { spec: { min: 1, max: 5, name: 'xyz' } }))).code).toBe(
      201,
    )
  })

  conforms('show the rule when there is no message', async () => {
    const kind = await customKind({
      scope: 'Cluster',
      schema: specSchema({
        properties: { a: { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self % 2 == 0' }] } },
      }),
    })
    const answer = await server.create(kind.at(), kind.object('one', { spec: { a: 3 } }))
    expect(answer.body.details.causes).toEqual([
      { reason: 'FieldValueInvalid', message: 'Invalid value: 3: failed rule: self % 2 == 0', field: 'spec.a' },
    ])
  })

  conforms('compare with the old object on update only', async () => {
    const kind = await customKind({
      scope: 'Cluster',
      schema: specSchema({
        properties: {
          fixed: {
            type: 'string',
            'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'fixed is immutable' }],
          },
        },
      }),
    })
    ok(await server.create(kind.at(), kind.object('one', { spec: { fixed: 'a' } })))
    const answer = await server.merge(`${kind.at()}/one`, { spec: { fixed: 'b' } })
    expect(answer.code).toBe(422)
    expect(answer.body.message).toBe(
      `Widget.${kind.group} "one" is invalid: spec.fixed: Invalid value: "b": fixed is immutable`,
    )
    expect((await server.merge(`${kind.at()}/one`, { metadata: { labels: { a: 'b' } } })).code).toBe(200)
  })

  conforms('know addresses and networks', async () => {
    const kind = await customKind({
      scope: 'Cluster',
      schema: specSchema({
        properties: {
          net: { type: 'string', maxLength: 50 },
          addresses: { type: 'array', maxItems: 10, items: { type: 'string', maxLength: 50 } },
        },
        'x-kubernetes-validations': [
          { rule: 'isCIDR(self.net)', message: 'net must be a CIDR' },
          {
            rule: '!isCIDR(self.net) || self.addresses.all(a, isIP(a) && cidr(self.net).containsIP(ip(a)))',
            message: 'addresses must be in net',
          },
          { rule: 'self.addresses.all(a, !isIP(a) || ip(a).family() == 4)', message: 'IPv4 only' },
        ],
      }),
    })
    const tell = async (net: string, ...addresses: string[]): Promise<string[]> => {
      const answer = await server.create(`${kind.at()}?dryRun=All`, kind.object('one', { spec: { net, addresses } }))
      return (answer.body.details?.causes ?? []).map(cause => cause.message ?? '')
    }
    expect(await tell('10.0.0.0/24', '10.0.0.1', '10.0.0.254')).toEqual([])
    expect(await tell('10.0.0.0/24', '10.0.1.1')).toEqual(['Invalid value: addresses must be in net'])
    expect(await tell('10.0.0.0', '10.0.1.1')).toEqual(['Invalid value: net must be a CIDR'])
    expect(await tell('fd00::/64', 'fd00::1')).toEqual(['Invalid value: IPv4 only'])
  })

  conforms('see metadata.name at the root and quantities, regexes and lists', async () => {
    const kind = await customKind({
      scope: 'Cluster',
      schema: specSchema(
        {
          properties: {
            size: { type: 'string', maxLength: 20 },
            tags: { type: 'array', maxItems: 5, items: { type: 'string', maxLength: 20 } },
          },
        },
        undefined,
        {
          'x-kubernetes-validations': [
            { rule: 'self.metadata.name.matches("^w-[0-9]+$")', message: 'name must be w-N' },
            {
              rule: '!has(self.spec.size) || quantity(self.spec.size).isLessThan(quantity("10Gi"))',
              message: 'too big',
            },
            { rule: '!has(self.spec.tags) || self.spec.tags.exists_one(t, t == "main")', message: 'one main tag' },
          ],
        },
      ),
    })
    const tell = async (name: string, spec: object): Promise<string[]> => {
      const answer = await server.create(`${kind.at()}?dryRun=All`, kind.object(name, { spec }))
      return (answer.body.details?.causes ?? []).map(cause => cause.message ?? '')
    }
    expect(await tell('w-1', { size: '5Gi', tags: ['main', 'x'] })).toEqual([])
    expect(await tell('x-1', {})).toEqual(['Invalid value: name must be w-N'])
    expect(await tell('w-1', { size: '50Gi' })).toEqual(['Invalid value: too big'])
    expect(await tell('w-1', { tags: [] })).toEqual(['Invalid value: one main tag'])
  })
})

describe('several versions', () => {
  conforms('show the same object under each, converted by name only', async () => {
    const version = (name: string, storage: boolean) => ({
      name,
      served: true,
      storage,
      schema: { openAPIV3Schema: preserving },
    })
    const { crd, kind } = crdFor({
      scope: 'Cluster',
      versions: [version('v1', false), version('v2', true), version('v1beta1', false)],
    })
    ok(await server.create(crds, crd))
    made.push(kind.crdPath)
    await served(kind)
    const first = ok(await server.create(kind.at(), kind.object('one', { spec: { a: 1 } })))
    expect(first.apiVersion).toBe(`${kind.group}/v1`)
    const second = ok(await server.get(`${kind.at(undefined, 'v2')}/one`))
    expect(second).toMatchObject({ apiVersion: `${kind.group}/v2`, spec: { a: 1 } })
    expect(second.metadata.uid).toBe(first.metadata.uid)
    expect(ok(await server.get(kind.crdPath)).status).toMatchObject({ storedVersions: ['v2'] })
    const group = await eventually(async () => {
      const body = ok(await server.get(`/apis/${kind.group}`))
      expect(body.versions).toHaveLength(3)
      return body
    })
    expect(group).toMatchObject({
      kind: 'APIGroup',
      preferredVersion: { version: 'v2' },
      versions: [{ version: 'v2' }, { version: 'v1' }, { version: 'v1beta1' }],
    })
  })

  conforms('that are deprecated warn, and that are not served answer 404', async () => {
    const { crd, kind } = crdFor({
      scope: 'Cluster',
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: preserving } },
        { name: 'v1beta1', served: true, storage: false, deprecated: true, schema: { openAPIV3Schema: preserving } },
        { name: 'v1alpha1', served: false, storage: false, schema: { openAPIV3Schema: preserving } },
      ],
    })
    ok(await server.create(crds, crd))
    made.push(kind.crdPath)
    await served(kind)
    const old = await eventually(async () => {
      const answer = await server.get(kind.at(undefined, 'v1beta1'))
      expect(answer.code).toBe(200)
      return answer
    })
    expect(old.warnings).toEqual([`${kind.group}/v1beta1 Widget is deprecated; use ${kind.group}/v1 Widget`])
    expect((await server.get(kind.at(undefined, 'v1alpha1'))).code).toBe(404)
  })

  conforms('show what they know of an object, and a change by one of them keeps no more', async () => {
    const knowing = (...fields: string[]) => ({
      type: 'object',
      properties: {
        spec: { type: 'object', properties: Object.fromEntries(fields.map(field => [field, { type: 'string' }])) },
      },
    })
    const { crd, kind } = crdFor({
      scope: 'Cluster',
      versions: [
        { name: 'v2', served: true, storage: true, schema: { openAPIV3Schema: knowing('name', 'colour') } },
        { name: 'v1', served: true, storage: false, schema: { openAPIV3Schema: knowing('name') } },
      ],
    })
    ok(await server.create(crds, crd))
    made.push(kind.crdPath)
    const path = await eventually(async () => {
      const object = { ...kind.object('one', { spec: { name: 'a', colour: 'red' } }), apiVersion: `${kind.group}/v2` }
      ok(await server.create(kind.at(undefined, 'v2'), object))
      return `${kind.at(undefined, 'v1')}/one`
    })
    expect(ok(await server.get(path)).spec).toEqual({ name: 'a' })
    expect(ok(await server.get(kind.at(undefined, 'v1'))).items.map(({ spec }) => spec)).toEqual([{ name: 'a' }])
    ok(await server.merge(`${path}?fieldValidation=Strict`, { spec: { name: 'b' } }))
    expect(ok(await server.get(`${kind.at(undefined, 'v2')}/one`)).spec).toEqual({ name: 'b' })
  })
})

describe('printing and selecting', () => {
  conforms('shows the columns a kind declares', async () => {
    const kind = await customKind({
      scope: 'Cluster',
      columns: [
        { name: 'Size', type: 'integer', jsonPath: '.spec.size', description: 'how big' },
        { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
        { name: 'Since', type: 'date', jsonPath: '.metadata.creationTimestamp' },
        { name: 'Deep', type: 'string', jsonPath: '.spec.deep.value', priority: 1 },
      ],
    })
    ok(
      await server.create(
        kind.at(),
        kind.object('one', {
          spec: { size: 5, deep: { value: 'x' } },
          status: {
            conditions: [
              { type: 'Other', status: 'False' },
              { type: 'Ready', status: 'True' },
            ],
          },
        }),
      ),
    )
    ok(await server.create(kind.at(), kind.object('two', { spec: {} })))
    const table = ok(await server.get(kind.at(), { accept: asTable }))
    expect(table.columnDefinitions).toMatchObject([
      { name: 'Name', type: 'string', format: 'name', priority: 0 },
      { name: 'Size', type: 'integer', description: 'how big', priority: 0 },
      { name: 'Ready', type: 'string', priority: 0 },
      { name: 'Since', type: 'date', priority: 0 },
      { name: 'Deep', type: 'string', priority: 1 },
    ])
    expect(table.rows[0]?.cells).toEqual(['one', 5, 'True', expect.stringMatching(/^\d+s$/), 'x'])
    expect(table.rows[1]?.cells).toEqual(['two', null, null, expect.stringMatching(/^\d+s$/), null])
  })

  conforms('selects by the fields a kind declares', async () => {
    const kind = await customKind({
      scope: 'Cluster',
      schema: specSchema({ properties: { colour: { type: 'string' }, size: { type: 'integer' } } }),
      selectableFields: [{ jsonPath: '.spec.colour' }, { jsonPath: '.spec.size' }],
    })
    ok(await server.create(kind.at(), kind.object('a', { spec: { colour: 'red', size: 1 } })))
    ok(await server.create(kind.at(), kind.object('b', { spec: { colour: 'blue', size: 2 } })))
    const red = ok(await server.get(`${kind.at()}?fieldSelector=spec.colour%3Dred`))
    expect(red.items.map(item => item.metadata.name)).toEqual(['a'])
    const two = ok(await server.get(`${kind.at()}?fieldSelector=spec.size%3D2,spec.colour%21%3Dred`))
    expect(two.items.map(item => item.metadata.name)).toEqual(['b'])
    const unknown = await server.get(`${kind.at()}?fieldSelector=spec.other%3Dx`)
    expect(unknown.code).toBe(400)
    expect(unknown.body.message).toContain('field label not supported: spec.other')
  })
})

describe('paths of custom kinds', () => {
  conforms('answer 404 for a kind that is not defined', async () => {
    const answer = await server.get('/apis/none.example.com/v1/widgets')
    expect(answer.code).toBe(404)
    expect(answer.text).toBe('404 page not found\n')
  })

  conforms('insist on a namespace for a namespaced kind', async () => {
    const kind = await customKind()
    const ns = await namespace()
    ok(await server.create(kind.at(ns), kind.object('one')))
    const answer = await server.create(`/apis/${kind.group}/v1/${kind.plural}`, kind.object('two'))
    expect(answer.code).toBe(404)
    expect((await server.get(`/apis/${kind.group}/v1/${kind.plural}/one`)).code).toBe(404)
  })
})

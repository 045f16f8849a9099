// What a server says about itself: health, version, groups, resources, and schemas.

import { once } from 'node:events'
import { connect } from 'node:http2'
import { describe, expect, inject } from 'vitest'
import { readKubeconfig } from '../../scripts/real/kubeconfig.ts'
import { conforms, customKind, eventually, ok, server, specSchema } from './world.ts'

interface Resource {
  name: string
  kind: string
  namespaced: boolean
  singularName: string
  verbs: string[]
  shortNames?: string[]
  categories?: string[]
  group?: string
  version?: string
}

describe('health and version', () => {
  conforms('says its version to anonymous clients', async () => {
    const answer = await server.withToken(undefined).get('/version')
    expect(answer.code).toBe(200)
    expect(answer.body).toMatchObject({
      major: '1',
      minor: expect.stringMatching(/^\d+/),
      gitVersion: expect.stringMatching(/^v1\.\d+\.\d+/),
      gitCommit: expect.any(String),
      platform: expect.any(String),
    })
  })

  conforms('says ok in plain text when healthy', async () => {
    for (const path of ['/healthz', '/livez', '/readyz']) {
      const answer = await server.get(path)
      expect(answer.code).toBe(200)
      expect(answer.text).toBe('ok')
      expect(answer.headers['content-type']).toMatch(/^text\/plain/)
    }
  })

  conforms('lists its checks when asked', async () => {
    for (const path of ['/healthz', '/livez', '/readyz']) {
      const { code, text } = await server.get(`${path}?verbose`)
      expect(code).toBe(200)
      expect(text).toMatch(/^\[\+\]ping ok\n/)
      expect(text.trimEnd()).toMatch(new RegExp(`${path.slice(1)} check passed$`))
    }
    const one = await server.get('/livez/ping')
    expect(one.code).toBe(200)
    expect(one.text).toBe('ok')
    const without = await server.get('/readyz?verbose&exclude=ping')
    expect(without.text).toContain('[+]ping excluded: ok\n')
  })
})

describe('transport', () => {
  conforms('speaks HTTP/2 to clients that can, many requests on one connection', async () => {
    // With credentials: kube-apiserver closes the connection of an anonymous client after the first answer.
    const { server: url, token, ...identity } = readKubeconfig(inject('server').kubeconfig)
    const session = connect(url, identity)
    const credentials = token === undefined ? {} : { authorization: `Bearer ${token}` }
    try {
      await once(session, 'connect')
      expect(session.alpnProtocol).toBe('h2')
      const codes = await Promise.all(
        Array.from({ length: 50 }, async () => {
          const stream = session.request({ ':path': '/version', ...credentials })
          stream.resume()
          const [headers] = (await once(stream, 'response')) as [{ ':status': number }]
          await once(stream, 'close')
          return headers[':status']
        }),
      )
      expect(new Set(codes)).toEqual(new Set([200]))
    } finally {
      session.close()
    }
  })

  conforms('marks every answer with an id for the audit log and forbids caching', async () => {
    const answer = await server.get('/api/v1/namespaces/default')
    expect(answer.headers['audit-id']).toMatch(/^[0-9a-f-]{36}$/)
    expect(answer.headers['cache-control']).toBe('no-cache, private')
  })
})

describe('discovery', () => {
  conforms('lists versions of the core group', async () => {
    const body = ok(await server.get('/api'))
    expect(body).toMatchObject({
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0' }],
    })
  })

  conforms('lists groups with their preferred versions', async () => {
    const body = ok(await server.get('/apis'))
    expect(body).toMatchObject({ kind: 'APIGroupList', apiVersion: 'v1' })
    const groups = body.groups as { name: string; preferredVersion: object; versions: object[] }[]
    expect(groups.map(group => group.name)).toEqual(
      expect.arrayContaining([
        'apiregistration.k8s.io',
        'apps',
        'events.k8s.io',
        'authentication.k8s.io',
        'authorization.k8s.io',
        'policy',
        'rbac.authorization.k8s.io',
        'admissionregistration.k8s.io',
        'apiextensions.k8s.io',
        'coordination.k8s.io',
      ]),
    )
    expect(groups.find(group => group.name === 'apps')).toEqual({
      name: 'apps',
      versions: [{ groupVersion: 'apps/v1', version: 'v1' }],
      preferredVersion: { groupVersion: 'apps/v1', version: 'v1' },
    })
  })

  conforms('describes each resource as kubectl needs it', async () => {
    const body = ok(await server.get('/api/v1'))
    expect(body).toMatchObject({ kind: 'APIResourceList', groupVersion: 'v1' })
    const resources = body.resources as Resource[]
    const named = (name: string) => resources.find(resource => resource.name === name)
    expect(named('configmaps')).toMatchObject({
      singularName: 'configmap',
      namespaced: true,
      kind: 'ConfigMap',
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['cm'],
    })
    expect(named('namespaces')).toMatchObject({
      namespaced: false,
      shortNames: ['ns'],
      verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
    })
    expect(named('pods')).toMatchObject({ shortNames: ['po'], categories: ['all'] })
    expect(named('pods/status')).toMatchObject({ kind: 'Pod', singularName: '', verbs: ['get', 'patch', 'update'] })
    expect(named('pods/eviction')).toMatchObject({
      group: 'policy',
      version: 'v1',
      kind: 'Eviction',
      verbs: ['create'],
    })
    expect(named('serviceaccounts/token')).toMatchObject({
      group: 'authentication.k8s.io',
      kind: 'TokenRequest',
      verbs: ['create'],
    })
  })

  conforms('gives everything at once in its aggregated form', async () => {
    const kind = await customKind({ names: { shortNames: ['wdg'] }, subresources: { status: {} } })
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json'
    const core = await server.get('/api', { accept })
    expect(core.code).toBe(200)
    expect(core.headers['content-type']).toBe('application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList')
    expect(core.body).toMatchObject({ kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2' })
    const found = await eventually(async () => {
      const body = ok(await server.get('/apis', { accept }))
      const group = body.items.find(item => item.metadata.name === kind.group)
      expect(group).toBeDefined()
      return group
    })
    expect(found?.versions).toMatchObject([
      {
        version: 'v1',
        freshness: 'Current',
        resources: [
          {
            resource: 'widgets',
            responseKind: { group: kind.group, version: 'v1', kind: 'Widget' },
            scope: 'Namespaced',
            singularResource: 'widget',
            shortNames: ['wdg'],
            verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
            subresources: [
              { subresource: 'status', responseKind: { kind: 'Widget' }, verbs: ['get', 'patch', 'update'] },
            ],
          },
        ],
      },
    ])
  })

  conforms('answers an ETag for its aggregated form and 304 to clients that have it', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
    const first = await server.get('/api', { accept })
    const etag = first.headers.etag
    expect(etag).toBeTruthy()
    const again = await server.get('/api', { accept, headers: { 'if-none-match': String(etag) } })
    expect(again.code).toBe(304)
  })

  conforms('lists paths at the root', async () => {
    const { body } = await server.get('/')
    expect(body.paths).toEqual(
      expect.arrayContaining(['/api', '/api/v1', '/apis', '/healthz', '/version', '/openapi/v3']),
    )
  })
})

describe('schemas', () => {
  conforms('are indexed by group and version with a hash', async () => {
    const answer = await server.get('/openapi/v3')
    expect(answer.code).toBe(200)
    const paths = answer.body.paths as Record<string, { serverRelativeURL: string }>
    expect(paths['api/v1']?.serverRelativeURL).toMatch(/^\/openapi\/v3\/api\/v1\?hash=[0-9A-F]+$/)
    const core = ok(await server.get(paths['api/v1']?.serverRelativeURL ?? ''))
    expect(core.openapi).toBe('3.0.0')
    const { schemas } = core.components as {
      schemas: Record<string, { 'x-kubernetes-group-version-kind'?: object[]; properties: object }>
    }
    expect(schemas['io.k8s.api.core.v1.ConfigMap']?.['x-kubernetes-group-version-kind']).toEqual([
      { group: '', kind: 'ConfigMap', version: 'v1' },
    ])
  })

  conforms('of custom kinds are published with metadata and descriptions', async () => {
    const kind = await customKind({
      schema: specSchema({
        description: 'what is wished',
        properties: { size: { type: 'integer', description: 'how big' } },
      }),
    })
    await eventually(async () => {
      const core = ok(await server.get(`/openapi/v3/apis/${kind.group}/v1`))
      const { schemas } = core.components as { schemas: Record<string, unknown> }
      const name = `${kind.group.split('.').toReversed().join('.')}.v1.Widget`
      expect(schemas[name]).toMatchObject({
        type: 'object',
        properties: {
          apiVersion: {
            type: 'string',
            description: expect.stringContaining('APIVersion defines the versioned schema'),
          },
          metadata: { allOf: [{ $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' }] },
          spec: { description: 'what is wished', properties: { size: { type: 'integer', description: 'how big' } } },
        },
        'x-kubernetes-group-version-kind': [{ group: kind.group, kind: 'Widget', version: 'v1' }],
      })
      expect(core.paths).toHaveProperty([`/apis/${kind.group}/v1/namespaces/{namespace}/widgets/{name}`])
    })
  })

  conforms('are there in version 2 as well', async () => {
    const answer = await server.get('/openapi/v2')
    expect(answer.code).toBe(200)
    expect(answer.body).toMatchObject({ swagger: '2.0' })
    expect((answer.body.definitions as Record<string, unknown>)['io.k8s.api.core.v1.Pod']).toBeDefined()
  })
})

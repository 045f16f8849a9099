// Group versions of other servers: what an extension API server is sent, what its clients get, and what is said of one that does
// not answer. The extension API server runs in the test; both servers reach it by a Service of the type ExternalName.

import { X509Certificate } from 'node:crypto'
import { connect as connectTLS } from 'node:tls'
import { afterAll, beforeAll, describe, expect, inject } from 'vitest'
import { readKubeconfig } from '../../scripts/real/kubeconfig.ts'
import { asTable, type Body } from './client.ts'
import { type Extension, type Seen, serveExtension, things } from './extension.ts'
import { conforms, crdFor, crds, eventually, made, namespace, ok, server, unique } from './world.ts'

const apiServices = '/apis/apiregistration.k8s.io/v1/apiservices'
const aggregatedType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
const trust = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'

interface Installed {
  readonly extension: Extension
  readonly ns: string
  readonly group: string
  /** Of the APIService. */
  readonly at: string
  readonly root: string
  readonly things: string
}

// An APIService whose server is gone would keep every namespace of the other files from ending: the namespace controller does not
// know what is left in one while a group version cannot be discovered.
const running: { readonly at: string; readonly extension: Extension }[] = []
afterAll(async () => {
  for (const { at, extension } of running) {
    await server.delete(at)
    await extension.stop()
  }
})

function apiService(group: string, service: object, more: object = {}): object {
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name: `v1.${group}` },
    spec: { group, version: 'v1', groupPriorityMinimum: 1500, versionPriority: 20, service, ...more },
  }
}

const aliasOf = (name: string) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { type: 'ExternalName', externalName: 'localhost' },
})

async function install(): Promise<Installed> {
  const ns = await namespace()
  const group = `${unique('g')}.example.com`
  const extension = await serveExtension({ hosts: [`ext.${ns}.svc`], group })
  const at = `${apiServices}/v1.${group}`
  running.push({ at, extension })
  ok(await server.create(`/api/v1/namespaces/${ns}/services`, aliasOf('ext')))
  const service = { namespace: ns, name: 'ext', port: extension.port }
  ok(await server.create(apiServices, apiService(group, service, { caBundle: extension.caBundle })))
  await conditionOf(at, 'Passed')
  const root = `/apis/${group}/v1`
  const installed = { extension, ns, group, at, root, things: `${root}/namespaces/${ns}/things` }
  await eventually(async () => ok(await server.get(root)))
  return installed
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

/** The condition Available once it has this reason. */
async function conditionOf(at: string, reason: string): Promise<Condition> {
  return eventually(async () => {
    const { conditions = [] } = ok(await server.get(at)).status as { conditions?: Condition[] }
    const found = conditions.find(({ type }) => type === 'Available')
    if (found?.reason !== reason) throw new Error(`the condition is ${JSON.stringify(found)}`)
    return found
  })
}

async function discovered(group: string): Promise<Body | undefined> {
  const list = ok(await server.get('/apis', { accept: aggregatedType }))
  return list.items.find(({ metadata }) => metadata.name === group)
}

let shared: Installed
beforeAll(async () => {
  shared = await install()
})

const lastSeen = (): Seen => {
  const last = shared.extension.seen.at(-1)
  if (last === undefined) throw new Error('the extension API server has seen no request')
  return last
}

describe('an extension API server', () => {
  conforms('is told in a ConfigMap by which certificate and headers it knows the API server', async () => {
    const { data } = ok(await server.get(trust))
    expect(data).toEqual({
      'client-ca-file': expect.stringMatching(/^-----BEGIN CERTIFICATE-----/),
      'requestheader-client-ca-file': expect.stringMatching(/^-----BEGIN CERTIFICATE-----/),
      'requestheader-allowed-names': '["front-proxy-client"]',
      'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
      'requestheader-group-headers': '["X-Remote-Group"]',
      'requestheader-username-headers': '["X-Remote-User"]',
    })
  })

  conforms('is shown a client certificate that the ConfigMap vouches for', async () => {
    ok(await server.get(`${shared.things}/a`))
    const shown = new X509Certificate(lastSeen().certificate)
    const authority = new X509Certificate(ok(await server.get(trust)).data['requestheader-client-ca-file'] ?? '')
    expect(shown.subject).toBe('CN=front-proxy-client')
    expect(shown.checkIssued(authority) && shown.verify(authority.publicKey)).toBe(true)
  })

  conforms('gets method, path, query and body, and its answer comes back as it is', async () => {
    const answer = await server.create(`${shared.things}?x=1&x=2`, { kind: 'Thing' })
    expect(answer.code).toBe(201)
    expect(answer.headers['x-extension']).toBe('yes')
    expect(answer.body).toEqual({ kind: 'Thing', apiVersion: `${shared.group}/v1`, body: '{"kind":"Thing"}' })
    expect(lastSeen()).toMatchObject({ method: 'POST', url: `${shared.things}?x=1&x=2`, body: '{"kind":"Thing"}' })
    const refused = await server.update(`${shared.things}/a/refused`, {})
    expect(refused).toMatchObject({ code: 409, body: { reason: 'Conflict', message: 'not now' } })
  })

  conforms('is told the user in headers, and none of those that a client wrote', async () => {
    const forged = {
      'x-remote-user': 'forged',
      'x-remote-uid': 'forged',
      'x-remote-group': ['forged'],
      'x-remote-extra-forged': 'forged',
      'x-custom': 'kept',
    }
    ok(await server.get(`${shared.things}/a`, { headers: forged }))
    const { headers } = lastSeen()
    expect(headers['x-remote-group']).toEqual(['system:masters', 'system:authenticated'])
    expect(headers['x-custom']).toEqual(['kept'])
    expect(JSON.stringify(headers)).not.toContain('forged')
    expect(headers.authorization).toBeUndefined()
  })

  conforms('is told the user that a request acts as', async () => {
    const headers = {
      'impersonate-user': 'jane',
      'impersonate-uid': '77',
      'impersonate-group': ['system:masters', 'ops'],
      'impersonate-extra-example.com%2fscope': ['a', 'b'],
    }
    ok(await server.get(`${shared.things}/a`, { headers }))
    expect(lastSeen().headers).toMatchObject({
      'x-remote-user': ['jane'],
      'x-remote-uid': ['77'],
      'x-remote-group': ['system:masters', 'ops', 'system:authenticated'],
      'x-remote-extra-example.com%2fscope': ['a', 'b'],
    })
    expect(Object.keys(lastSeen().headers).filter(name => name.startsWith('impersonate-'))).toEqual([])
  })

  conforms('is asked only by users that may', async () => {
    const user = unique('jane')
    const jane = server.impersonating(user)
    const before = shared.extension.seen.length
    const refused = await jane.get(`${shared.things}/a/portforward/80/tcp`)
    expect(refused.code).toBe(403)
    expect(refused.body.message).toBe(
      `things.${shared.group} "a" is forbidden: User "${user}" cannot get resource "things/portforward" in API group "${shared.group}" in the namespace "${shared.ns}"`,
    )
    expect(shared.extension.seen).toHaveLength(before)
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${shared.ns}`
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    const rules = [{ apiGroups: [shared.group], resources: ['things/portforward'], verbs: ['get'] }]
    ok(await server.create(`${rbac}/roles`, { apiVersion, kind: 'Role', metadata: { name: user }, rules }))
    ok(
      await server.create(`${rbac}/rolebindings`, {
        apiVersion,
        kind: 'RoleBinding',
        metadata: { name: user },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: user },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
      }),
    )
    await eventually(async () => ok(await jane.get(`${shared.things}/a/portforward/80/tcp`)))
    expect((await jane.get(`${shared.things}/a`)).code).toBe(403)
  })

  conforms('streams a watch', async () => {
    const watch = await server.watch(shared.things)
    expect((await watch.take(2)).map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED'])
    watch.close()
  })

  conforms('is not followed to where it redirects', async () => {
    const answer = await server.get(`${shared.things}/a/moved`)
    expect(answer.code).toBe(502)
    expect(answer.text).toBe('the backend attempted to redirect this request, which is not permitted')
  })

  conforms('that hangs up is answered for with 503', async () => {
    const answer = await server.create(`${shared.things}/a/hung-up`, {})
    expect(answer.code).toBe(503)
    expect(answer.text).toBe('error trying to reach service: EOF\n')
  })
})

describe('an upgraded connection', () => {
  conforms('goes through in both directions', async () => {
    const said = await upgrade(`${shared.things}/a/console`, { 'x-remote-user': 'forged' })
    expect(said).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/)
    expect(said.toLowerCase()).toContain('\r\nupgrade: websocket\r\n')
    expect(said.toLowerCase()).toContain('\r\nx-extension: yes\r\n')
    const { headers } = lastSeen()
    expect(headers['sec-websocket-version']).toEqual(['13'])
    expect(headers['x-remote-group']).toEqual(['system:masters', 'system:authenticated'])
    expect(JSON.stringify(headers)).not.toContain('forged')
  })

  conforms('that the extension API server refuses is answered with its words', async () => {
    const said = await upgrade(`${shared.things}/refused/console`)
    expect(said).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/)
    expect(said).toMatch(/\r\n\r\nnot you$/)
  })

  conforms('is not for users that may not', async () => {
    const said = await upgrade(`${shared.things}/a/console`, { 'impersonate-user': 'jane' })
    expect(said).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/)
    expect(said).toContain('"reason":"Forbidden"')
  })

  conforms('is not made of what the server answers itself', async () => {
    const said = await upgrade(`/api/v1/namespaces/${shared.ns}/configmaps/absent`)
    expect(said).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/)
  })
})

/** Asks for a WebSocket, says a word and reads until it is said back or the server ends the connection. */
function upgrade(path: string, more: Record<string, string> = {}): Promise<string> {
  const access = readKubeconfig(inject('server').kubeconfig)
  const { hostname, port } = new URL(access.server)
  return new Promise((resolve, reject) => {
    const word = unique('word')
    const socket = connectTLS({
      host: hostname,
      port: Number(port),
      ALPNProtocols: ['http/1.1'],
      ...(access.ca && { ca: access.ca }),
      ...(access.cert && { cert: access.cert }),
      ...(access.key && { key: access.key }),
    })
    let said = ''
    let hasSpoken = false
    socket.once('secureConnect', () => {
      const headers = {
        host: `${hostname}:${port}`,
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
        'sec-websocket-version': '13',
        ...(access.token && { authorization: `Bearer ${access.token}` }),
        ...more,
      }
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
    })
    socket.on('data', chunk => {
      said += chunk.toString()
      if (!hasSpoken && said.includes(' 101 ') && said.includes('\r\n\r\n')) {
        hasSpoken = true
        socket.write(word)
      }
      // kube-apiserver keeps a connection that was not upgraded.
      const [head = '', body = ''] = said.split('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN)
      if (said.includes(word) || body.length >= length) socket.end()
    })
    socket.once('close', () => resolve(said))
    socket.once('error', reject)
  })
}

describe('discovery', () => {
  conforms('shows the group version of another server', async () => {
    const { group } = shared
    const version = { groupVersion: `${group}/v1`, version: 'v1' }
    const shown = { name: group, versions: [version], preferredVersion: version }
    const { groups } = ok(await server.get('/apis')) as Body & { groups: { name: string }[] }
    expect(groups.find(({ name }) => name === group)).toEqual(shown)
    expect(ok(await server.get(`/apis/${group}`))).toEqual({ kind: 'APIGroup', apiVersion: 'v1', ...shown })
    expect(ok(await server.get(`/apis/${group}/v1`))).toEqual(things(group))
    expect((await server.get(`/apis/${group}/v2`)).code).toBe(404)
  })

  conforms('shows its resources in the aggregated form', async () => {
    const kind = (name: string) => ({ group: '', version: '', kind: name })
    const expected = {
      metadata: { name: shared.group },
      versions: [
        {
          version: 'v1',
          freshness: 'Current',
          resources: [
            {
              resource: 'things',
              responseKind: kind('Thing'),
              scope: 'Namespaced',
              singularResource: 'thing',
              verbs: ['create', 'get', 'list', 'watch'],
              shortNames: ['th'],
              categories: ['all'],
              subresources: [{ subresource: 'console', responseKind: kind('Thing'), verbs: ['get'] }],
            },
            {
              resource: 'orphans',
              responseKind: kind(''),
              scope: 'Namespaced',
              singularResource: '',
              verbs: null,
              subresources: [{ subresource: 'start', responseKind: kind('Orphan'), verbs: ['update'] }],
            },
          ],
        },
      ],
    }
    await eventually(async () => expect(await discovered(shared.group)).toEqual(expected))
  })

  conforms('leads to what the other server says of itself in OpenAPI', async () => {
    const path = `apis/${shared.group}/v1`
    await eventually(async () => {
      const { paths } = ok(await server.get('/openapi/v3')) as Body & { paths: Record<string, object> }
      expect(paths[path]).toEqual({ serverRelativeURL: `/openapi/v3/${path}?hash=AB12` })
    })
    const document = ok(await server.get(`/openapi/v3/${path}?hash=AB12`)) as Body & { info: object }
    expect(document.info).toEqual({ title: 'Things', version: 'v1' })
  })
})

describe('an APIService', () => {
  conforms('is available once its server shows what it serves', async () => {
    const condition = await conditionOf(shared.at, 'Passed')
    expect(condition).toMatchObject({ status: 'True', message: 'all checks passed' })
    const { rows } = ok(await server.get(shared.at, { accept: asTable }))
    expect(rows[0]?.cells.slice(0, 3)).toEqual([`v1.${shared.group}`, `${shared.ns}/ext`, 'True'])
  })

  conforms('says why its server cannot be reached, and is answered for with 503 meanwhile', async () => {
    const ns = await namespace()
    const group = `${unique('g')}.example.com`
    const at = `${apiServices}/v1.${group}`
    const services = `/api/v1/namespaces/${ns}/services`
    ok(await server.create(apiServices, apiService(group, { namespace: ns, name: 'ext', port: 8443 })))
    made.push(at)
    expect(await conditionOf(at, 'ServiceNotFound')).toMatchObject({
      status: 'False',
      message: `service/ext in "${ns}" is not present`,
    })
    for (const path of [`/apis/${group}/v1`, `/apis/${group}/v1/namespaces/${ns}/things/a`]) {
      const answer = await eventually(async () => {
        const one = await server.get(path)
        if (one.code === 404) throw new Error('the group version is not known yet')
        return one
      })
      expect(answer).toMatchObject({ code: 503, text: 'service unavailable\n' })
    }
    await eventually(async () => {
      expect((await discovered(group))?.versions).toEqual([{ version: 'v1', freshness: 'Stale' }])
    })
    const ports = [{ name: 'api', port: 1 }]
    ok(await server.create(services, { apiVersion: 'v1', kind: 'Service', metadata: { name: 'ext' }, spec: { ports } }))
    expect((await conditionOf(at, 'ServicePortError')).message).toBe(
      `service/ext in "${ns}" is not listening on port 8443`,
    )
    ok(await server.merge(`${services}/ext`, { spec: { ports: [{ name: 'api', port: 8443 }] } }))
    expect((await conditionOf(at, 'EndpointsNotFound')).message).toBe(
      `cannot find endpointslices for service/ext in "${ns}"`,
    )
    const slice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'ext-1', labels: { 'kubernetes.io/service-name': 'ext' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: false } }],
      ports: [{ name: 'api', port: 8443 }],
    }
    ok(await server.create(`/apis/discovery.k8s.io/v1/namespaces/${ns}/endpointslices`, slice))
    expect((await conditionOf(at, 'MissingEndpoints')).message).toBe(
      `endpointslices for service/ext in "${ns}" have no addresses with port name "api"`,
    )
    ok(await server.delete(at))
    await eventually(async () => expect((await server.get(`/apis/${group}`)).code).toBe(404))
  })

  conforms('is not available while its server fails, is stale in discovery, and comes back by itself', async () => {
    const { extension, at, root, group, things: path } = await install()
    const url = `https://localhost:${extension.port}${root}`
    extension.answerDiscoveryWith(500)
    ok(await server.merge(at, { metadata: { labels: { looked: 'at' } } }))
    expect((await conditionOf(at, 'FailedDiscoveryCheck')).message).toBe(
      `failing or missing response from ${url}: bad status from ${url}: 500`,
    )
    await eventually(async () => {
      expect(await server.get(`${path}/a`)).toMatchObject({ code: 503, text: 'service unavailable\n' })
      expect((await discovered(group))?.versions).toEqual([{ version: 'v1', freshness: 'Stale' }])
    })
    extension.answerDiscoveryWith(200)
    await conditionOf(at, 'Passed')
    await eventually(async () => ok(await server.get(`${path}/a`)))
    await extension.stop()
    const refused = `dial tcp 127.0.0.1:${extension.port}: connect: connection refused`
    await eventually(async () => {
      const { text } = await server.get(`${path}/a`)
      expect([`error trying to reach service: ${refused}\n`, 'service unavailable\n']).toContain(text)
    })
    ok(await server.merge(at, { metadata: { labels: { looked: 'again' } } }))
    expect((await conditionOf(at, 'FailedDiscoveryCheck')).message).toBe(
      `failing or missing response from ${url}: Get "${url}": ${refused}`,
    )
    await extension.restart()
    await conditionOf(at, 'Passed')
  })

  conforms('without a service is local, and always available', async () => {
    const { crd, kind } = crdFor()
    ok(await server.create(crds, crd))
    made.push(kind.crdPath)
    const condition = await eventually(() => conditionOf(`${apiServices}/v1.${kind.group}`, 'Local'))
    expect(condition).toMatchObject({ status: 'True', message: 'Local APIServices are always available' })
  })

  conforms('that is trusted in two ways, or in none that it needs, is refused', async () => {
    const { at, extension } = shared
    const both = await server.merge(`${at}?dryRun=All`, { spec: { insecureSkipTLSVerify: true } })
    expect(both.code).toBe(422)
    expect(both.body.details.causes).toEqual([
      {
        reason: 'FieldValueInvalid',
        message: 'Invalid value: true: may not be true if caBundle is present',
        field: 'spec.insecureSkipTLSVerify',
      },
    ])
    const local = await server.merge(`${at}?dryRun=All`, { spec: { service: null } })
    const bytes = Buffer.from(extension.caBundle, 'base64').length
    expect(local.body.details.causes?.[0]?.message).toBe(
      `Invalid value: "${bytes} bytes": local APIServices may not have a caBundle`,
    )
    const nowhere = await server.merge(`${at}?dryRun=All`, { spec: { service: { name: '', port: 70_000 } } })
    expect(nowhere.body.details.causes?.map(({ field }) => field)).toEqual(['spec.service.name', 'spec.service.port'])
  })

  conforms('is not for users of a namespace to create', async () => {
    const answer = await server.impersonating('jane').create(apiServices, apiService('taken.example.com', {}))
    expect(answer.code).toBe(403)
  })
})

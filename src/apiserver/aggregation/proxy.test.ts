import { afterEach, describe, expect, test, vi } from 'vitest'
import { type Extension, serveExtension } from '../../../test/conformance/extension.ts'
import { ok } from '../../../test/harness/client.ts'
import { aWorld, certificates, toDER, type World, type WorldOptions } from '../../../test/harness/world.ts'
import type { ByteSink, WireRequest, WireResponse } from '../edge/wire.ts'

const group = 'things.example.com'
const root = `/apis/${group}/v1`
const things = `${root}/namespaces/default/things`
const apiServices = '/apis/apiregistration.k8s.io/v1/apiservices'
const at = `${apiServices}/v1.${group}`

const running: Extension[] = []
afterEach(async () => {
  for (const extension of running.splice(0)) await extension.stop()
})

async function withExtension(options: WorldOptions = {}): Promise<{ world: World; extension: Extension }> {
  const extension = await serveExtension({ hosts: ['ext.default.svc'], group })
  running.push(extension)
  const world = await aWorld(options)
  const alias = { type: 'ExternalName', externalName: 'localhost' }
  const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'ext' }, spec: alias }
  ok(await world.admin.create('/api/v1/namespaces/default/services', service))
  ok(
    await world.admin.create(apiServices, {
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: `v1.${group}` },
      spec: {
        group,
        version: 'v1',
        groupPriorityMinimum: 1000,
        versionPriority: 15,
        caBundle: extension.caBundle,
        service: { namespace: 'default', name: 'ext', port: extension.port },
      },
    }),
  )
  await reason(world, 'Passed')
  return { world, extension }
}

/** Answers of the other server come in real time; the clock of the world stands still meanwhile. */
async function until<T>(check: () => Promise<T> | T): Promise<T> {
  for (let turns = 0; ; turns++) {
    try {
      return await check()
    } catch (error) {
      if (turns > 20_000) throw error
      await new Promise(resolve => setImmediate(resolve))
    }
  }
}

const reason = (world: World, wanted: string) =>
  until(async () => {
    const { status } = (await world.admin.get(at)).body as unknown as { status: { conditions?: { reason: string }[] } }
    expect(status.conditions?.[0]?.reason).toBe(wanted)
  })

/** As the listener would send it, with everything that a client can put into a request. */
function raw(world: World, target: string, more: Partial<WireRequest> = {}): Promise<WireResponse> {
  return world.server.handler({
    method: 'GET',
    target,
    headers: {},
    body: Buffer.alloc(0),
    peerCertificate: toDER(certificates().admin().certificate),
    signal: new AbortController().signal,
    ...more,
  })
}

describe('a forwarded request', () => {
  test('is in the audit log and among the metrics as every other', async () => {
    const events: object[] = []
    const { world } = await withExtension({ onAudit: event => events.push(event) })
    ok(await world.admin.get(`${things}/a`))
    expect(events.at(-1)).toMatchObject({
      verb: 'get',
      user: { username: 'kubernetes-admin' },
      objectRef: { resource: 'things', apiGroup: group, apiVersion: 'v1', namespace: 'default', name: 'a' },
      responseStatus: { code: 200 },
    })
    await world.admin.get(`${root}/namespaces/default/made-up/a`)
    const { text } = await world.admin.get('/metrics')
    expect(text).toContain(`apiserver_request_total{verb="get",resource="things.${group}",code="200"} 1`)
    expect(text).not.toContain('made-up')
  })

  test('carries the same audit id to the other server as to the client', async () => {
    const { world, extension } = await withExtension()
    const { headers } = await world.admin.get(`${things}/a`)
    expect(extension.seen.at(-1)?.headers['audit-id']).toEqual([headers['audit-id']])
  })

  test('counts among the requests under way until it is answered', async () => {
    const { world } = await withExtension({ inFlight: { reads: 1, writes: 1, watches: 1 } })
    const gone = new AbortController()
    const first = raw(world, `${things}/a/never`, { signal: gone.signal })
    expect((await raw(world, `${things}/a`)).code).toBe(429)
    gone.abort()
    await first
    expect((await raw(world, `${things}/a`)).code).toBe(200)
  })

  test('to another protocol counts as a watch does', async () => {
    const { world } = await withExtension({ inFlight: { reads: 9, writes: 9, watches: 0 } })
    const headers = { connection: ['Upgrade'], upgrade: ['websocket'] }
    expect((await raw(world, `${things}/a/console`, { headers, isUpgrade: true })).code).toBe(429)
  })

  test('that is not answered in time is answered 504', async () => {
    const { world, extension } = await withExtension()
    const before = extension.seen.length
    const answer = world.admin.get(`${things}/a/never`)
    await until(() => expect(extension.seen.length).toBe(before + 1))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await answer).toMatchObject({
      code: 504,
      body: { reason: 'Timeout', message: 'Timeout: request did not complete within the allotted timeout' },
    })
  })

  test.each(['a//console', 'a%2Fconsole', '/a', 'a/%2e%2e/b', 'a/.', '%2e%2e/secrets/b'])(
    'for %s is refused: the other server could read another path than the one that was authorised',
    async path => {
      const { world, extension } = await withExtension()
      const before = extension.seen.length
      expect((await raw(world, `${things}/${path}`)).code).toBe(404)
      expect(extension.seen).toHaveLength(before)
    },
  )

  test.each(['x-remote-user', 'x_remote_user', 'x-remote_group', 'x-remote-uid', 'x-remote-extra-scopes'])(
    'does not carry the header %s of a client',
    async name => {
      const { world, extension } = await withExtension()
      await raw(world, `${things}/a`, { headers: { [name]: ['forged'], connection: ['x-remote-user'] } })
      const seen = extension.seen.at(-1)
      expect(JSON.stringify(seen?.headers)).not.toContain('forged')
      expect(seen?.headers['x-remote-user']).toEqual(['kubernetes-admin'])
    },
  )

  test('carries no credential of a client', async () => {
    const { world, extension } = await withExtension()
    await raw(world, `${things}/a`, {
      headers: { authorization: ['Bearer secret'], 'proxy-authorization': ['secret'] },
    })
    expect(JSON.stringify(extension.seen.at(-1)?.headers)).not.toContain('secret')
  })

  test('in the name of a user that no header can hold is not sent', async () => {
    const { world, extension } = await withExtension()
    const before = extension.seen.length
    const headers = {
      'impersonate-user': ['jane\r\nx-remote-group: system:masters'],
      'impersonate-group': ['system:masters'],
    }
    expect((await raw(world, `${things}/a`, { headers })).code).toBe(503)
    expect(extension.seen).toHaveLength(before)
  })

  test('whose answer breaks off is cut off for the client too', async () => {
    const { world } = await withExtension()
    const { body } = await raw(world, `${things}/a/broken`)
    if (Buffer.isBuffer(body)) throw new Error('the answer is whole')
    const ended = await new Promise<string>(resolve => {
      const sink: ByteSink = {
        write: () => {},
        pendingBytes: 0,
        end: () => resolve('ended'),
        cut: () => resolve('cut'),
      }
      body.open(sink)
    })
    expect(ended).toBe('cut')
  })
})

describe('a group version that this server serves', () => {
  test('stays its own, whatever an APIService says of it', async () => {
    const { world, extension } = await withExtension()
    const before = extension.seen.length
    const names = { plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' }
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
    const versions = [{ name: 'v1', served: true, storage: true, schema }]
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `things.${group}` },
      spec: { group, scope: 'Namespaced', names, versions },
    }
    ok(await world.admin.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition))
    await world.settled()
    expect(ok(await world.admin.get(things))).toMatchObject({ kind: 'ThingList', items: [] })
    expect(extension.seen).toHaveLength(before)
    await reason(world, 'Local')
  })
})

describe('what extension API servers read of this one', () => {
  const trust = '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication'

  test('is put right when it is changed or deleted, and keeps the keys of others', async () => {
    const world = await aWorld()
    const { data } = ok(await world.admin.get(trust)) as { data?: object }
    expect(data).toMatchObject({ 'requestheader-client-ca-file': certificates().frontProxyCA().certificate })
    const change = { data: { 'requestheader-allowed-names': '[]', 'client-ca-file': null, other: 'kept' } }
    ok(await world.admin.patch(trust, change))
    await world.settled()
    expect(ok(await world.admin.get(trust))).toMatchObject({ data: { ...data, other: 'kept' } })
    ok(await world.admin.delete(trust))
    await world.settled()
    expect(ok(await world.admin.get(trust))).toMatchObject({ data })
  })
})

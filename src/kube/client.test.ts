import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { outcomeOf } from '../../test/harness/outcome.ts'
import { seededRandom } from '../../test/harness/seeded-random.ts'
import { silentLog } from '../../test/harness/silent-log.ts'
import { settle, VirtualClock } from '../../test/harness/virtual-clock.ts'
import { noMetrics } from '../runtime/metrics.ts'
import { defineReconciler, done, runReconciler } from '../runtime/reconciler.ts'
import { Cancelled, retryPolicyOf } from '../runtime/retry-policy.ts'
import type { ApiError, Reason } from './api-error.ts'
import { type Client, createClient } from './client.ts'
import { createDiscovery } from './discovery.ts'
import { defineKind, type KubeObject } from './object.ts'
import { type Wire, WireError, type WireRequest, type WireResponse } from './wire.ts'

const holds = defineKind<KubeObject & { spec?: object }>({
  group: 'mooring.dev',
  versions: ['v1beta1', 'v1alpha1'],
  plural: 'holds',
  kind: 'Hold',
  namespaced: false,
})
const pools = defineKind<KubeObject>({ ...holds, plural: 'pools', kind: 'Pool', namespaced: true })

function aClient(answer: (request: WireRequest) => WireResponse | Promise<WireResponse>) {
  const clock = new VirtualClock()
  const requests: WireRequest[] = []
  const wire: Wire = async request => {
    requests.push(request)
    return answer(request)
  }
  return {
    clock,
    requests,
    client: createClient({ wire, clock, versionOf: async kind => kind.versions[0], name: 'tester' }),
  }
}

const reply = (status: number, body: unknown, headers = {}): WireResponse => ({
  status,
  headers,
  body: JSON.stringify(body),
})
const failure = (code: number, reason: string | undefined, details?: object) =>
  reply(code, { kind: 'Status', status: 'Failure', code, reason, message: 'no', details })

const write = (client: Client) => client.mergePatch(holds, { name: 'a' }, { spec: {} })
const read = (client: Client) => client.list(holds)

describe('a refusal', () => {
  test.each<[string, WireResponse, Reason, Partial<ApiError>]>([
    [
      'an object that is missing',
      failure(404, 'NotFound', { name: 'a', kind: 'holds' }),
      'NotFound',
      { retryPolicy: { kind: 'stale' } },
    ],
    [
      'a path that is not served',
      { status: 404, headers: {}, body: '404 page not found\n' },
      'NotInstalled',
      { retryPolicy: { kind: 'retry' } },
    ],
    ['a path that is not served, as a Status', failure(404, 'NotFound', {}), 'NotInstalled', {}],
    ['a name that is taken', failure(409, 'AlreadyExists', { name: 'a' }), 'AlreadyExists', {}],
    ['another version', failure(409, 'Conflict', { name: 'a' }), 'Conflict', { retryPolicy: { kind: 'stale' } }],
    ['a version that has run out', failure(410, 'Expired'), 'Gone', {}],
    ['a version that has run out, in other words', failure(410, 'Gone'), 'Gone', {}],
    [
      'a bad object',
      failure(422, 'Invalid', { causes: [{ field: 'spec.a' }] }),
      'Invalid',
      { causes: [{ field: 'spec.a' }] },
    ],
    [
      'too many requests',
      failure(429, 'TooManyRequests', { retryAfterSeconds: 7 }),
      'TooManyRequests',
      { retryAfterMs: 7_000 },
    ],
    [
      'too many requests, in a header',
      reply(429, 'slow down', { 'retry-after': '2' }),
      'TooManyRequests',
      { retryAfterMs: 2_000 },
    ],
    [
      'a server that asks to come back',
      failure(500, 'ServerTimeout', { retryAfterSeconds: 1 }),
      'ServerTimeout',
      { mayHaveHappened: false },
    ],
    ['a server that broke', failure(500, 'InternalError'), 'InternalError', { mayHaveHappened: true }],
    ['a server that gave up', failure(504, 'Timeout'), 'ServerTimeout', { mayHaveHappened: true }],
    ['a gateway', { status: 502, headers: {}, body: '<html>' }, 'Unavailable', { mayHaveHappened: true }],
    ['a server that starts', failure(503, 'ServiceUnavailable'), 'Unavailable', { mayHaveHappened: false }],
    ['a stranger', failure(401, 'Unauthorized'), 'Unauthorized', {}],
    ['a user without the permission', failure(403, 'Forbidden', { name: 'a' }), 'Forbidden', {}],
    ['something unheard of', reply(418, {}), 'Other', { code: 418 }],
    [
      'an answer that is no JSON',
      { status: 200, headers: {}, body: '<html>' },
      'Unreadable',
      { mayHaveHappened: true },
    ],
  ])('is read from fields: %s', async (_, response, reason, facts) => {
    const { client } = aClient(() => response)
    const outcome = await outcomeOf(write(client))
    expect(outcome).toMatchObject({ ok: false, reason, refusal: facts })
  })

  test('of a write whose answer was lost says that it may have happened; of one that never left, that it did not', async () => {
    const lost = aClient(() => Promise.reject(new WireError('reset', true)))
    expect(await outcomeOf(write(lost.client))).toMatchObject({
      reason: 'UnknownOutcome',
      refusal: { mayHaveHappened: true },
    })
    expect(await outcomeOf(read(lost.client))).toMatchObject({
      reason: 'Unreachable',
      refusal: { mayHaveHappened: false },
    })
    const unsent = aClient(() => Promise.reject(new WireError('refused', false)))
    expect(await outcomeOf(write(unsent.client))).toMatchObject({
      reason: 'Unreachable',
      refusal: { mayHaveHappened: false },
    })
  })

  test('says what was attempted and what was found', async () => {
    const { client } = aClient(() => failure(403, 'Forbidden', { name: 'a' }))
    const get = outcomeOf(client.get(pools, { namespace: 'lab', name: 'a' }))
    expect(await get).toMatchObject({ refusal: { message: 'get pools.mooring.dev lab/a: no' } })
    const create = outcomeOf(client.create(pools, { metadata: { namespace: 'lab', name: 'a' } }))
    expect(await create).toMatchObject({ refusal: { message: 'create pools.mooring.dev lab/a: no' } })
    const status = outcomeOf(client.mergePatch(holds, { name: 'a' }, {}, { subresource: 'status' }))
    expect(await status).toMatchObject({ refusal: { message: 'patch status of holds.mooring.dev a: no' } })
  })

  test('carries what it means to the runtime', async () => {
    const retryPolicy = async (response: WireResponse) => {
      const outcome = await outcomeOf(write(aClient(() => response).client))
      return outcome.ok ? undefined : retryPolicyOf(outcome.refusal)
    }
    expect(await retryPolicy(failure(409, 'Conflict'))).toEqual({ kind: 'stale' })
    expect(await retryPolicy(failure(500, 'InternalError'))).toEqual({ kind: 'retry' })
    expect(await retryPolicy(failure(429, 'TooManyRequests', { retryAfterSeconds: 3 }))).toEqual({
      kind: 'retry',
      atLeastMs: 3_000,
    })
  })
})

describe('a request', () => {
  const until = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(new WireError('aborted', true))))

  test('is given up after a while, once, without being tried again', async () => {
    const { client, clock, requests } = aClient(({ signal }) => until(signal))
    const outcome = outcomeOf(write(client))
    await clock.advance(30_000)
    expect(await outcome).toMatchObject({ reason: 'UnknownOutcome' })
    expect([requests.length, clock.timers]).toEqual([1, 0])
  })

  test('ends with its signal, which is no failure', async () => {
    const { client, clock } = aClient(({ signal }) => until(signal))
    const abort = new AbortController()
    const outcome = outcomeOf(client.get(holds, { name: 'a' }, { signal: abort.signal }))
    await settle()
    abort.abort(new Error('lost the lease'))
    expect(await outcome).toMatchObject({ reason: 'Cancelled', refusal: { cause: { message: 'lost the lease' } } })
    expect(clock.timers).toBe(0)
  })

  test('carries what it was decided on', async () => {
    const { client, requests } = aClient(() => reply(200, { metadata: {} }))
    const on = { uid: 'u', resourceVersion: '7' }
    await client.mergePatch(holds, { name: 'a' }, { metadata: { labels: { b: 'c' } } }, on)
    await client.apply(holds, { name: 'a' }, { spec: { x: 1 } }, { ...on, isForced: true })
    await client.delete(holds, { name: 'a' }, { ...on, propagation: 'Background' })
    expect(requests.map(({ method, body }) => [method, JSON.parse(body ?? 'null')])).toEqual([
      ['PATCH', { metadata: { labels: { b: 'c' }, uid: 'u', resourceVersion: '7' } }],
      [
        'PATCH',
        {
          apiVersion: 'mooring.dev/v1beta1',
          kind: 'Hold',
          spec: { x: 1 },
          metadata: { name: 'a', uid: 'u', resourceVersion: '7' },
        },
      ],
      ['DELETE', { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: on, propagationPolicy: 'Background' }],
    ])
    expect(requests[1]?.path).toBe('/apis/mooring.dev/v1beta1/holds/a?fieldManager=tester&force=true')
  })

  test.each<[string, (client: Client) => Promise<unknown>]>([
    ['get', client => client.get(holds, { name: 'a' })],
    ['list', client => client.list(holds)],
    ['create', client => client.create(holds, { metadata: { name: 'a' } })],
    ['update', client => client.update(holds, { metadata: { name: 'a' } })],
    ['mergePatch', client => client.mergePatch(holds, { name: 'a' }, {})],
    ['apply', client => client.apply(holds, { name: 'a' }, {})],
    ['delete', client => client.delete(holds, { name: 'a' })],
    ['watch', client => client.watch(holds, { resourceVersion: '1' })],
  ])('of a pass carries its id, and ends with its signal: %s', async (_, ask) => {
    const { client, clock, requests } = aClient(({ signal }) => until(signal))
    const stop = new AbortController()
    const outcome = outcomeOf(ask(client.withPass({ id: 'cafe0001', signal: stop.signal })))
    await settle()
    expect(requests[0]?.headers['x-mooring-pass']).toBe('cafe0001')
    stop.abort(new Cancelled('lost-lease'))
    expect(await outcome).toMatchObject({ reason: 'Cancelled', refusal: { cause: { reason: 'lost-lease' } } })
    expect(await outcomeOf(ask(client.withPass({ id: 'cafe0001', signal: stop.signal })))).toMatchObject({
      reason: 'Cancelled',
    })
    expect([requests.length, clock.timers]).toEqual([1, 0])
  })

  test('of a pass ends with its own signal too, and outside of a pass carries no id', async () => {
    const { client, requests } = aClient(({ signal }) => until(signal))
    const [pass, own] = [new AbortController(), new AbortController()]
    const ofPass = client.withPass({ id: 'cafe0001', signal: pass.signal })
    const outcome = outcomeOf(ofPass.get(holds, { name: 'a' }, { signal: own.signal }))
    await settle()
    own.abort(new Error('not needed'))
    expect(await outcome).toMatchObject({ reason: 'Cancelled', refusal: { cause: { message: 'not needed' } } })
    void outcomeOf(client.get(holds, { name: 'a' }))
    await settle()
    expect(requests[1]?.headers).not.toHaveProperty('x-mooring-pass')
  })

  test('of a pass is told to it when it wrote something, and was accepted', async () => {
    const wrote: string[] = []
    const { signal } = new AbortController()
    const pass = { id: 'cafe0001', signal, wrote: (what: object) => wrote.push(Object.values(what).join(' ')) }
    const accepted = aClient(() => reply(200, { metadata: {} })).client.withPass(pass)
    await accepted.get(holds, { name: 'a' })
    await accepted.mergePatch(holds, { name: 'a' }, { spec: { x: 1 } })
    const refused = aClient(() => reply(409, {})).client.withPass(pass)
    await outcomeOf(refused.mergePatch(holds, { name: 'a' }, { spec: { x: 2 } }))
    expect(wrote).toEqual([expect.stringMatching(/^PATCH \/apis\/.*\/holds\/a.* \{"spec":\{"x":1\}\}$/)])
  })

  test('leaves nothing behind on the signal of its pass', async () => {
    const { client } = aClient(() => reply(200, { metadata: {} }))
    const { signal } = new AbortController()
    const ofPass = client.withPass({ id: 'cafe0001', signal })
    for (let i = 0; i < 3; i++) await ofPass.get(holds, { name: 'a' })
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  const aPass = (wire: Parameters<typeof aClient>[0]) => {
    const { client, clock, requests } = aClient(wire)
    const outcomes: string[] = []
    const running = runReconciler(
      defineReconciler({
        name: 'test.pass',
        passMsMax: 5_000,
        async reconcile(name, pass) {
          await client.withPass(pass).mergePatch(holds, { name }, {})
          return done()
        },
      }),
      {
        clock,
        random: seededRandom(1),
        log: silentLog,
        metrics: { ...noMetrics, passed: (_desk, _controller, outcome) => outcomes.push(outcome) },
      },
    )
    running.start()
    running.mark('a')
    return { clock, requests, running, outcomes }
  }

  test('that is under way when its pass takes too long is aborted, and the pass tried again', async () => {
    let times = 0
    const { clock, requests, outcomes } = aPass(({ signal }) =>
      ++times === 1 ? until(signal) : reply(200, { metadata: {} }),
    )
    await clock.advance(4_999)
    expect([outcomes, requests[0]?.signal.aborted]).toEqual([[], false])
    await clock.advance(1_000)
    expect([outcomes, requests[0]?.signal.aborted]).toEqual([['failed', 'done'], true])
    const [first, second] = requests.map(({ headers }) => headers['x-mooring-pass'])
    expect(first).not.toBe(second)
  })

  test('that is under way when the process stops is aborted, and its pass is cancelled', async () => {
    const { requests, running, outcomes } = aPass(({ signal }) => until(signal))
    await settle()
    await running.stop('shutdown')
    expect([outcomes, requests[0]?.signal.aborted]).toEqual([['cancelled'], true])
  })

  test('goes where its names say, whatever they contain', async () => {
    const { client, requests } = aClient(() => reply(200, { metadata: {} }))
    await client.get(pools, { namespace: '../lab', name: 'a?b=c' })
    expect(requests[0]?.path).toBe('/apis/mooring.dev/v1beta1/namespaces/..%2Flab/pools/a%3Fb%3Dc')
  })

  test('keeps integers that a JavaScript number cannot hold', async () => {
    const exact = '{"metadata":{"name":"a"},"status":{"free":18446744073709551615}}'
    const { client, requests } = aClient(() => ({ status: 200, headers: {}, body: exact }))
    const object = await client.get(holds, { name: 'a' })
    expect(object).toMatchObject({ status: { free: 18446744073709551615n } })
    await client.update(holds, object ?? { metadata: {} })
    expect(requests[1]?.body).toBe(exact)
  })
})

describe('a watch', () => {
  async function* chunks(...texts: (string | Uint8Array)[]) {
    for (const text of texts) yield typeof text === 'string' ? Buffer.from(text) : text
  }
  const eventsOf = async (...texts: (string | Uint8Array)[]) => {
    const { client } = aClient(() => ({ status: 200, headers: {}, body: chunks(...texts) }))
    const types: string[] = []
    try {
      for await (const event of await client.watch(holds, { resourceVersion: '1' })) types.push(event.type)
    } catch (error) {
      types.push((error as ApiError).reason)
    }
    return types
  }
  const added = JSON.stringify({ type: 'ADDED', object: { metadata: { name: '\u00e4', resourceVersion: '2' } } })

  test('is read line by line, wherever the chunks are cut', async () => {
    const bytes = Buffer.from(`${added}\n${added}\n`)
    for (let cut = 1; cut < bytes.length; cut++) {
      expect(await eventsOf(bytes.subarray(0, cut), bytes.subarray(cut))).toEqual(['ADDED', 'ADDED'])
    }
  })

  test.each([
    ['half a line at the end is no event', [`${added}\n{"type":"AD`], ['ADDED']],
    ['a line that is no JSON', [`${added}\n{"type":\n${added}\n`], ['ADDED', 'Unreadable']],
    ['an event without a version', ['{"type":"ADDED","object":{"metadata":{}}}\n'], ['Unreadable']],
    ['an event of no known type', ['{"type":"MOVED","object":{"metadata":{"resourceVersion":"1"}}}\n'], ['Unreadable']],
    ['null', ['null\n'], ['Unreadable']],
    ['bytes that are no text', [Uint8Array.of(0xff, 0xfe, 0x0a)], ['Unreadable']],
    ['an error', ['{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}\n'], ['ERROR']],
  ])('%s', async (_, texts, types) => {
    expect(await eventsOf(...texts)).toEqual(types)
  })
})

describe('discovery', () => {
  function aServer(served: Record<string, readonly string[] | number>) {
    const paths: string[] = []
    const clock = new VirtualClock()
    const wire: Wire = async ({ path }) => {
      paths.push(path)
      const found = served[path]
      if (typeof found === 'number') return failure(found, undefined)
      if (found === undefined) return { status: 404, headers: {}, body: '404 page not found\n' }
      return reply(200, { kind: 'APIResourceList', resources: found.map(name => ({ name })) })
    }
    return { served, paths, clock, discovery: createDiscovery({ wire, clock, name: 'tester' }) }
  }
  const [beta, alpha] = ['/apis/mooring.dev/v1beta1', '/apis/mooring.dev/v1alpha1']

  test('takes the first version that serves the kind, not only the group', async () => {
    const { discovery } = aServer({ [beta]: ['pools', 'pools/status'], [alpha]: ['holds', 'pools'] })
    expect(await discovery.find(holds)).toBe('v1alpha1')
    expect(await discovery.find(pools)).toBe('v1beta1')
  })

  test('asks once however many want to know, and seldom about what is missing', async () => {
    const { discovery, paths, clock, served } = aServer({})
    await Promise.all([discovery.find(holds), discovery.find(holds), discovery.find(holds)])
    expect(paths).toHaveLength(2)
    for (let i = 0; i < 100; i++)
      expect(await outcomeOf(discovery.versionOf(holds))).toMatchObject({ reason: 'NotInstalled' })
    expect(paths).toHaveLength(2)
    served[beta] = ['holds']
    await clock.advance(2_000)
    expect(await discovery.versionOf(holds)).toBe('v1beta1')
    for (let i = 0; i < 100; i++) await discovery.versionOf(holds)
    expect(paths).toHaveLength(3)
  })

  test('asks again after a request found that the kind is gone', async () => {
    const { discovery, served } = aServer({ [beta]: ['holds'], [alpha]: ['holds'] })
    expect(await discovery.find(holds)).toBe('v1beta1')
    delete served[beta]
    expect(await discovery.find(holds)).toBe('v1beta1')
    discovery.forget(holds)
    expect(await discovery.find(holds)).toBe('v1alpha1')
  })

  test('does not take a server in trouble for one without the kind', async () => {
    const { discovery, served, clock } = aServer({ [beta]: 503, [alpha]: ['holds'] })
    expect(await outcomeOf(discovery.versionOf(holds))).toMatchObject({ reason: 'Unavailable' })
    served[beta] = ['holds']
    expect(await discovery.find(holds)).toBe('v1beta1')
    expect(clock.timers).toBe(0)
  })
})

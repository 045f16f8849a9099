// The listener over a real socket.

import type { ClientRequest, IncomingMessage } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import { connect } from 'node:tls'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { silentLog } from '../../test/harness/silent-log.ts'
import { admissionReview } from '../../test/harness/webhooks.ts'
import { issueCA, issueClientCertificate, issueServerCertificate } from '../apiserver/certificates/issue.ts'
import { conversionBytesMax, webhookBytesMax, webhookBytesUnderWayMax, webhookConnectionsMax } from '../limits.ts'
import { realClock } from '../runtime/clock.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { refused } from './ruling.ts'
import { startWebhookServer, type WebhookServer, type WebhookServerOptions } from './server.ts'
import { mutatingWebhook, setOfOff, validatingWebhook, type Webhook, type WebhookSet } from './webhook.ts'

const life = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) }
const ca = issueCA('webhook-ca', life)
const serving = issueServerCertificate(ca, 'webhook', { dns: [], ips: ['127.0.0.1'] }, life)

const aKind = (group: string, kind: string) => ({
  group,
  version: 'v1',
  kind,
  plural: `${kind.toLowerCase()}s`,
  isNamespaced: true,
})
const [boatKind, truckKind] = [aKind('sea.example', 'Boat'), aKind('land.example', 'Truck')]
const path = '/validate-sea-example-v1-boat'

const answer: Webhook<string>['answer'] = (_, facts) => refused(`asked of ${facts}`)
const aSet = (name: string, webhooks: readonly Webhook<string>[]): WebhookSet<string> => ({
  name,
  webhooks,
  facts: () => name,
})

const start = (sets: readonly WebhookSet[], more: Partial<WebhookServerOptions> = {}): Promise<WebhookServer> =>
  startWebhookServer({
    host: '127.0.0.1',
    port: 0,
    ...serving,
    sets,
    conversions: [],
    clock: realClock,
    log: silentLog,
    ...more,
  })

let server: WebhookServer

beforeEach(async () => {
  server = await start([
    aSet('harbour', [validatingWebhook(boatKind, answer)]),
    aSet('road', [validatingWebhook(truckKind, answer)]),
  ])
})

afterEach(() => server.stop())

interface Said {
  readonly code: number | undefined
  readonly text: string
  readonly retryAfter?: string | undefined
}

const headers = { 'content-type': 'application/json' }

/** A request that is not ended yet, and what is answered to it. */
function open(options: RequestOptions = {}): { readonly sending: ClientRequest; readonly said: Promise<Said> } {
  const target = { host: '127.0.0.1', port: server.port, ca: ca.certificate, method: 'POST', path, headers }
  const sending = request({ ...target, ...options })
  const said = new Promise<Said>((resolve, reject) => {
    sending.on('response', (response: IncomingMessage) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        text += chunk
      })
      response.on('end', () =>
        resolve({ code: response.statusCode, text, retryAfter: response.headers['retry-after'] }),
      )
    })
    sending.on('error', reject)
  })
  said.catch(() => {})
  return { sending, said }
}

function send(body: string, options: RequestOptions = {}): Promise<Said> {
  const { sending, said } = open(options)
  sending.end(body)
  return said
}

describe('the listener', () => {
  test('answers each webhook with the facts of its own set', async () => {
    for (const [kind, message] of [
      [boatKind, 'asked of harbour'],
      [truckKind, 'asked of road'],
    ] as const) {
      const object = { apiVersion: `${kind.group}/v1`, kind: kind.kind, metadata: { name: 'ada' } }
      const body = JSON.stringify(admissionReview({ operation: 'CREATE', object }))
      const { code, text } = await send(body, { path: validatingWebhook(kind, answer).path })
      expect(code).toBe(200)
      expect(JSON.parse(text)).toMatchObject({ response: { uid: 'u-1', allowed: false, status: { message } } })
    }
  })

  test('answers at each path, with and without a query', async () => {
    for (const known of [path, '/convert', `${path}?timeout=10s`]) {
      expect((await send('{}', { path: known })).code).toBe(200)
    }
  })

  test('tells how long each webhook takes, and never what was asked', async () => {
    const metrics = createMetrics()
    await server.stop()
    server = await start([aSet('harbour', [validatingWebhook(boatKind, answer)])], { metrics })
    await send('{}')
    await send('{}')
    await send('{}', { path: '/validate-sea-example-v1-boat-of-a-stranger' })
    const counts = metrics.text().match(/^mooring_webhook_duration_seconds_count.*$/gm)
    expect(counts).toEqual(['mooring_webhook_duration_seconds_count{webhook="validation.boat.sea.example"} 2'])
  })

  test.each([
    ['validating', validatingWebhook],
    ['mutating', mutatingWebhook],
  ] as const)('lets pass what a %s webhook of a desk that is off is asked about, and says so', async (_, make) => {
    const fails = (): never => {
      throw new Error('a desk that is off was asked')
    }
    const webhook = make(boatKind, fails)
    await server.stop()
    server = await start([setOfOff({ name: 'harbour', webhooks: [webhook] })])
    const object = { apiVersion: 'sea.example/v1', kind: 'Boat', metadata: { name: 'ada' } }
    const body = JSON.stringify(admissionReview({ operation: 'CREATE', object }))
    const { code, text } = await send(body, { path: webhook.path })
    expect(code).toBe(200)
    const warning = `the desk harbour of Mooring is off and checked nothing; its webhook ${webhook.name} is still registered`
    expect(JSON.parse(text).response).toEqual({ uid: 'u-1', allowed: true, warnings: [warning] })
  })

  test('does not start with two webhooks at one path', async () => {
    const webhooks = [validatingWebhook(boatKind, answer)]
    const twice = [aSet('harbour', webhooks), aSet('road', webhooks)]
    await expect(start(twice)).rejects.toThrow(path)
    await expect(
      start([aSet('road', [{ ...validatingWebhook(truckKind, answer), path: '/convert' }])]),
    ).rejects.toThrow('/convert')
  })

  test.each<[string, number, RequestOptions]>([
    ['another path', 404, { path: '/' }],
    ['the path of a desk that there is not', 404, { path: '/validate-air-example-v1-plane' }],
    ['another method', 405, { method: 'PUT' }],
    ['another type', 415, { headers: { 'content-type': 'text/plain' } }],
    [
      'a body that says it is too large',
      413,
      { headers: { 'content-type': 'application/json', 'content-length': webhookBytesMax + 1 } },
    ],
  ])('refuses %s', async (_, code, options) => {
    expect((await send('', options)).code).toBe(code)
  })

  test('uses a renewed certificate for later connections', async () => {
    const other = issueCA('other-ca', life)
    server.renew(issueServerCertificate(other, 'webhook', { dns: [], ips: ['127.0.0.1'] }, life))
    await expect(send('{}', { agent: false })).rejects.toThrow()
    expect((await send('{}', { ca: other.certificate, agent: false })).code).toBe(200)
  })
})

describe('what the listener takes in', () => {
  const mebibyte = 1024 * 1024
  const chunk = Buffer.alloc(mebibyte, ' ')

  /** Sends so many bytes and not the end of the request; ends once all have left, or there is an answer. */
  async function begin(bytes: number, options: RequestOptions) {
    const opened = open({ agent: false, ...options })
    const answered = opened.said.then(
      () => 'answered',
      () => 'answered',
    )
    for (let sent = 0; sent < bytes; sent += chunk.length) {
      const left = new Promise(resolve => opened.sending.write(chunk, resolve))
      if ((await Promise.race([left, answered])) === 'answered') break
    }
    return opened
  }

  test('is never a conversion of 60 MiB, whether its length is announced or not', async () => {
    const announced = { ...headers, 'content-length': 60 * mebibyte }
    const opened = open({ path: '/convert', headers: announced, agent: false })
    opened.sending.flushHeaders()
    expect((await opened.said).code).toBe(413)
    opened.sending.destroy()
    const { sending, said } = open({ path: '/convert', agent: false })
    let sent = 0
    const more = () => {
      sent += chunk.length
      if (sent < 60 * mebibyte) sending.write(chunk, more)
    }
    sending.write(chunk, more)
    const before = process.memoryUsage().arrayBuffers
    expect((await said).code).toBe(413)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * conversionBytesMax)
    sending.destroy()
  })

  test('is bounded for all requests together, and what is over it may come again soon', async () => {
    const many = Math.ceil(webhookBytesUnderWayMax / (conversionBytesMax - mebibyte)) + 1
    const opened = []
    for (let i = 0; i < many; i++) {
      opened.push(await begin(conversionBytesMax - mebibyte, { path: '/convert' }))
    }
    const first = await Promise.race(opened.map(({ said }) => said))
    expect(first).toMatchObject({ code: 429, retryAfter: '1' })
    // An ordinary request is small, and is answered all the same.
    expect((await send('{}', { agent: false })).code).toBe(200)
    for (const { sending } of opened) sending.destroy()
    await expect
      .poll(
        async () => (await send(' '.repeat(conversionBytesMax - mebibyte), { path: '/convert', agent: false })).code,
      )
      .toBe(200)
  })

  test('counts until its answer was read', async () => {
    const object = { apiVersion: 'sea.example/v1', kind: 'Boat', note: 'x'.repeat(conversionBytesMax - mebibyte) }
    const body = JSON.stringify({ request: { desiredAPIVersion: 'sea.example/v1', objects: [object] } })
    const ask = () => {
      const target = { host: '127.0.0.1', port: server.port, ca: ca.certificate, headers, agent: false }
      const sent = request({ ...target, method: 'POST', path: '/convert' })
      sent.on('error', () => {})
      sent.end(body)
      // The answer is not read.
      return new Promise<{ code: number | undefined; end: () => void }>(resolve =>
        sent.once('response', ({ statusCode }) => resolve({ code: statusCode, end: () => sent.destroy() })),
      )
    }
    const asked = []
    for (let i = 0; i <= webhookBytesUnderWayMax / conversionBytesMax; i++) asked.push(await ask())
    expect(asked.map(({ code }) => code)).toEqual([200, 200, 200, 429])
    for (const { end } of asked) end()
    await expect
      .poll(async () => {
        const { code, end } = await ask()
        end()
        return code
      })
      .toBe(200)
  })

  test('is no more than so many connections', async () => {
    const sockets = Array.from({ length: webhookConnectionsMax + 5 }, () =>
      connect({ host: '127.0.0.1', port: server.port, ca: ca.certificate }).on('error', () => {}),
    )
    const open = await Promise.all(
      sockets.map(
        socket =>
          new Promise<number>(resolve => {
            socket.once('secureConnect', () => resolve(1))
            socket.once('close', () => resolve(0))
          }),
      ),
    )
    expect(open.reduce((sum, one) => sum + one, 0)).toBe(webhookConnectionsMax)
    for (const socket of sockets) socket.destroy()
  })
})

describe('a listener that answers to API servers only', () => {
  const clients = issueCA('client-ca', life)
  const proof = (name: string, authority = clients) => {
    const { certificate, key } = issueClientCertificate(authority, name, [], life)
    return { cert: certificate, key, agent: false } as const
  }

  beforeEach(async () => {
    await server.stop()
    const proven: Webhook<string>['answer'] = ({ isCallerProven }) => refused(`proven: ${isCallerProven}`)
    const callers = { names: ['kube-apiserver'], areConversionsOpen: false }
    const sets = [aSet('harbour', [validatingWebhook(boatKind, proven)])]
    server = await start(sets, { callers, clientCA: clients.certificate })
  })

  const object = { apiVersion: 'sea.example/v1', kind: 'Boat', metadata: { name: 'ada' } }
  const review = JSON.stringify(admissionReview({ operation: 'CREATE', object }))

  test('answers one, and knows that it is one', async () => {
    const { code, text } = await send(review, proof('kube-apiserver'))
    expect(code).toBe(200)
    expect(JSON.parse(text)).toMatchObject({ response: { status: { message: 'proven: true' } } })
  })

  test.each<[string, number, RequestOptions]>([
    ['no certificate', 401, { agent: false }],
    ['one of another authority', 401, proof('kube-apiserver', issueCA('client-ca', life))],
    ['one that is for servers', 401, { cert: serving.certificate, key: serving.key, agent: false }],
    ['one of another name', 403, proof('team-a')],
  ])('refuses a client with %s before it reads what is asked', async (_, code, options) => {
    for (const at of [path, '/convert', '/']) {
      const { sending, said } = open({ ...options, path: at, headers: { ...headers, 'content-length': 1_000 } })
      sending.flushHeaders()
      expect((await said).code).toBe(code)
      sending.destroy()
    }
  })

  test('takes every name where none is given, and a renewed authority from then on', async () => {
    await server.stop()
    server = await start([], { callers: { names: [], areConversionsOpen: false }, clientCA: clients.certificate })
    expect((await send('{}', { ...proof('anything'), path: '/convert' })).code).toBe(200)
    const other = issueCA('other-client-ca', life)
    server.renew({ ...serving, clientCA: other.certificate })
    expect((await send('{}', { ...proof('anything'), path: '/convert' })).code).toBe(401)
    expect((await send('{}', { ...proof('anything', other), path: '/convert' })).code).toBe(200)
  })

  test('answers conversions to every client where API servers show no certificate to a converter', async () => {
    await server.stop()
    const callers = { names: [], areConversionsOpen: true }
    server = await start([aSet('harbour', [validatingWebhook(boatKind, answer)])], {
      callers,
      clientCA: clients.certificate,
    })
    expect((await send('{}', { path: '/convert', agent: false })).code).toBe(200)
    expect((await send(review, { agent: false })).code).toBe(401)
  })

  test('trusts no client while it has no authority', async () => {
    server.renew({ ...serving })
    expect((await send(review, proof('kube-apiserver'))).code).toBe(401)
  })
})

// The listener over a real socket.

import { type RequestOptions, request } from 'node:https'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { silentLog } from '../../test/harness/silent-log.ts'
import { admissionReview } from '../../test/harness/webhooks.ts'
import { issueCA, issueServerCertificate } from '../apiserver/certificates/issue.ts'
import { webhookBytesMax } from '../limits.ts'
import { realClock } from '../runtime/clock.ts'
import { refused } from './ruling.ts'
import { startWebhookServer, type WebhookServer } from './server.ts'
import { validatingWebhook, type Webhook, type WebhookSet } from './webhook.ts'

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

const start = (sets: readonly WebhookSet[]): Promise<WebhookServer> =>
  startWebhookServer({
    host: '127.0.0.1',
    port: 0,
    ...serving,
    sets,
    conversions: [],
    clock: realClock,
    log: silentLog,
  })

let server: WebhookServer

beforeEach(async () => {
  server = await start([
    aSet('harbour', [validatingWebhook(boatKind, answer)]),
    aSet('road', [validatingWebhook(truckKind, answer)]),
  ])
})

afterEach(() => server.stop())

describe('the listener', () => {
  interface Said {
    readonly code: number | undefined
    readonly text: string
  }

  function send(body: string, options: RequestOptions = {}): Promise<Said> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' }
      const sent = request(
        { host: '127.0.0.1', port: server.port, ca: ca.certificate, method: 'POST', path, headers, ...options },
        response => {
          let text = ''
          response.setEncoding('utf8')
          response.on('data', chunk => {
            text += chunk
          })
          response.on('end', () => resolve({ code: response.statusCode, text }))
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  }

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
    ['the path of a desk that is off', 404, { path: '/validate-air-example-v1-plane' }],
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

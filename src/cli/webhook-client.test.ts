// The webhooks of a whole `mooring up`, asked by its API server and by other programs of the machine.

import { X509Certificate } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type RequestOptions, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connectWith } from '../../test/harness/mooring.ts'
import { admissionReview } from '../../test/harness/webhooks.ts'
import { issueCA } from '../apiserver/certificates/issue.ts'
import { type Running, up } from './up.ts'
import { createWebhookClient } from './webhook-client.ts'

describe('the webhooks of mooring up', () => {
  const data = mkdtempSync(join(tmpdir(), 'mooring-webhooks-'))
  let running: Running

  beforeAll(async () => {
    const address = '127.0.0.1:0'
    const options = { data, listen: address, dashboard: address, desks: 'capi', history: '3600', logLevel: 'error' }
    running = await up(options as Parameters<typeof up>[0], () => {})
  }, 60_000)
  afterAll(async () => {
    await running.stop()
    rmSync(data, { recursive: true })
  })

  const pool = {
    apiVersion: 'mooring.dev/v1alpha1',
    kind: 'ClusterAddressPool',
    metadata: { name: 'lab' },
    spec: { addresses: ['192.0.2.9-192.0.2.1'], prefix: 24 },
  }

  test('are asked by its API server', async () => {
    const remote = connectWith(running.kubeconfig)
    const { code, body } = await remote.send('POST', '/apis/mooring.dev/v1alpha1/clusteraddresspools', pool)
    await remote.close()
    expect(code).toBe(422)
    expect(body.message).toContain('admission webhook "validation.clusteraddresspool.mooring.dev" denied the request')
  })

  test('are answered to no other program of the machine, not even to one with the keys of the administrator', async () => {
    const remote = connectWith(running.kubeconfig)
    const registered = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
    const { body } = await remote.send('GET', `${registered}/mooring-validating-webhook-configuration`)
    await remote.close()
    const { webhooks } = body as { webhooks: { clientConfig: { url: string } }[] }
    const pem = readFileSync(join(data, 'pki', 'admin.pem'), 'utf8')
    const ca = readFileSync(join(data, 'pki', 'ca.pem'), 'utf8')
    for (const { clientConfig } of webhooks) {
      expect(await post(clientConfig.url, { ca })).toBe(401)
      expect(await post(clientConfig.url, { ca, cert: pem, key: pem })).toBe(403)
    }
  })

  function post(url: string, options: RequestOptions): Promise<number | undefined> {
    const headers = { 'content-type': 'application/json' }
    return new Promise((resolve, reject) => {
      const sent = request(url, { method: 'POST', headers, agent: false, ...options }, response => {
        response.resume()
        resolve(response.statusCode)
      })
      sent.on('error', reject)
      sent.end(JSON.stringify(admissionReview({ operation: 'CREATE', object: pool })))
    })
  }
})

test('a client certificate is made anew long before it ends', () => {
  const day = 24 * 60 * 60 * 1000
  const begin = Date.parse('2030-01-01T00:00:00Z')
  let now = begin
  const ca = issueCA('ca', { notBefore: new Date(begin - day), notAfter: new Date(begin + 4_000 * day) })
  const client = createWebhookClient({ ca: () => ca }, () => new Date(now))
  const first = client()
  now += 9 * day
  expect(client()).toBe(first)
  now += 2 * day
  const second = client()
  expect(second).not.toBe(first)
  expect(Date.parse(new X509Certificate(second.certificate).validTo) - now).toBeGreaterThan(20 * day)
})

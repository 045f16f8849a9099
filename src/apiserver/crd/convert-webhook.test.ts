import type { Server } from 'node:https'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createWebhookWire } from '../admission/wire.ts'
import { issueCA, issueServerCertificate } from '../certificates/issue.ts'
import type { KubeObject } from '../object.ts'
import { convertByWebhook } from './convert-webhook.ts'

interface Question {
  apiVersion: string
  kind: string
  request: { uid: string; desiredAPIVersion: string; objects: KubeObject[] }
}
type Handler = (question: Question) => unknown

const now = Date.now()
const life = { notBefore: new Date(now - 60_000), notAfter: new Date(now + 3_600_000) }
const ca = issueCA('webhook-ca', life)
const certificate = issueServerCertificate(ca, 'hook', { dns: [], ips: ['127.0.0.1'] }, life)
const wire = createWebhookWire({ resolveService: () => undefined, timeout: () => new AbortController().signal })

let server: Server
let conversion: Record<string, unknown>
let handler: Handler
const asked: Question[] = []

beforeAll(async () => {
  server = createServer({ cert: certificate.certificate, key: certificate.key }, async (req, res) => {
    let text = ''
    for await (const chunk of req.setEncoding('utf8')) text += chunk
    const question = JSON.parse(text) as Question
    asked.push(question)
    res.end(JSON.stringify(handler(question)))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const caBundle = Buffer.from(ca.certificate).toString('base64')
  conversion = {
    strategy: 'Webhook',
    webhook: {
      conversionReviewVersions: ['v1'],
      clientConfig: { url: `https://127.0.0.1:${port}/convert`, caBundle },
    },
  }
})
afterAll(async () => {
  await wire.close()
  server.closeAllConnections()
  server.close()
})

const boat = (name: string, version = 'v1', more: Record<string, unknown> = {}): KubeObject => ({
  apiVersion: `example.com/${version}`,
  kind: 'Boat',
  metadata: { name, namespace: 'n', uid: `uid-${name}`, finalizers: ['f'], labels: { old: 'yes' } },
  ...more,
})
const answering =
  (change: (object: KubeObject, i: number) => unknown, more: Record<string, unknown> = {}): Handler =>
  ({ apiVersion, kind, request }) => ({
    apiVersion,
    kind,
    response: {
      uid: request.uid,
      result: { status: 'Success' },
      convertedObjects: request.objects.map((object, i) =>
        change({ ...object, apiVersion: request.desiredAPIVersion }, i),
      ),
      ...more,
    },
  })
const convert = (objects: KubeObject[], spec: unknown = conversion) => {
  asked.length = 0
  return convertByWebhook(objects, 'example.com/v2', spec, { post: wire.post, randomUUID: () => 'u-1' })
}

describe('conversion by webhook', () => {
  it('keeps the order, and sends only what is in another version', async () => {
    handler = answering(object => ({ ...object, spec: { converted: true } }))
    const objects = [boat('a'), boat('b', 'v2'), boat('c')]
    const converted = await convert(objects)
    expect(asked[0]).toEqual({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'ConversionReview',
      request: { uid: 'u-1', desiredAPIVersion: 'example.com/v2', objects: [boat('a'), boat('c')] },
    })
    expect(converted.map(({ metadata, apiVersion, spec }) => [metadata.name, apiVersion, spec])).toEqual([
      ['a', 'example.com/v2', { converted: true }],
      ['b', 'example.com/v2', undefined],
      ['c', 'example.com/v2', { converted: true }],
    ])
  })

  it('does not call the webhook when nothing needs it', async () => {
    expect(await convert([boat('a', 'v2')])).toEqual([boat('a', 'v2')])
    expect(await convert([])).toEqual([])
    expect(asked).toEqual([])
  })

  it('takes labels and annotations from the webhook, all other metadata from before', async () => {
    handler = answering(object => ({
      ...object,
      metadata: { ...object.metadata, labels: { new: 'yes' }, annotations: { a: 'b' }, finalizers: [], generation: 7 },
    }))
    const [converted] = await convert([boat('a')])
    expect(converted?.metadata).toEqual({
      name: 'a',
      namespace: 'n',
      uid: 'uid-a',
      finalizers: ['f'],
      labels: { new: 'yes' },
      annotations: { a: 'b' },
    })
    handler = answering(object => ({ ...object, metadata: { name: 'a', namespace: 'n', uid: 'uid-a' } }))
    const [stripped] = await convert([boat('a')])
    expect(stripped?.metadata).not.toHaveProperty('labels')
  })

  const one = 'conversion webhook for example.com/v1, Kind=Boat'
  const inMetadata = (more: Record<string, unknown>) =>
    answering(object => ({ ...object, metadata: { ...object.metadata, ...more } }))
  it.each<[string, Handler, string]>([
    [
      'says why it failed',
      answering(o => o, { result: { status: 'Failure', message: 'no idea' } }),
      `${one} failed: no idea`,
    ],
    [
      'says only that it failed',
      answering(o => o, { result: {} }),
      `${one} failed: response.result.status was '', not 'Success'`,
    ],
    [
      'answers another question',
      answering(o => o, { uid: 'u-2' }),
      `${one} failed: expected response.uid="u-1", got "u-2"`,
    ],
    ['answers nothing', ({ apiVersion, kind }) => ({ apiVersion, kind }), `${one} failed: no response provided`],
    [
      'answers in another kind',
      () => ({ kind: 'Pod', apiVersion: 'v1' }),
      `${one} failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /v1, Kind=Pod`,
    ],
    ['loses an object', answering(o => o, { convertedObjects: [] }), `${one} returned 0 objects, expected 1`],
    ['renames', inMetadata({ name: 'z' }), `${one} returned invalid object: must have the same name: a != z`],
    ['moves', inMetadata({ namespace: 'z' }), 'must have the same namespace: n != z'],
    ['changes the uid', inMetadata({ uid: 'z' }), 'must have the same UID: uid-a != z'],
    [
      'writes labels that are no text',
      inMetadata({ labels: { a: 1 } }),
      `${one} returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object`,
    ],
    [
      'forgets the metadata',
      answering(({ kind, apiVersion }) => ({ kind, apiVersion })),
      `${one} returned invalid object: must have the same name: a != `,
    ],
    [
      'writes labels that cannot be',
      inMetadata({ labels: { a: '!!' } }),
      'metadata: metadata.labels: Invalid value: "!!": a valid label',
    ],
    [
      'writes annotations that cannot be',
      inMetadata({ annotations: { '/': 'x' } }),
      'metadata: [metadata.annotation: Invalid value: "/"',
    ],
    [
      'changes the kind',
      answering(o => ({ ...o, kind: 'Car' })),
      `${one} returned invalid object at index 0: invalid kind (expected Boat, received Car)`,
    ],
    [
      'does not convert',
      answering(o => ({ ...o, apiVersion: 'example.com/v1' })),
      'invalid groupVersion (expected example.com/v2, received example.com/v1)',
    ],
  ])('fails when the webhook %s', async (_, wrong, message) => {
    handler = wrong
    await expect(convert([boat('a')])).rejects.toThrow(message)
  })

  it('fails when the webhook cannot be reached, or speaks no known version', async () => {
    const unreachable = { webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://127.0.0.1:1/' } } }
    await expect(convert([boat('a')], unreachable)).rejects.toThrow(`${one} failed: Post "https://127.0.0.1:1/`)
    await expect(convert([boat('a')], { webhook: {} })).rejects.toThrow('no supported conversion review versions')
  })
})

// Admission webhooks served by the test itself, over HTTPS on loopback, each path with its own answer.

import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createAuthority, issue } from '../../scripts/real/certificate.ts'
import type { Body } from './client.ts'

export interface Review {
  readonly uid: string
  readonly kind: { group: string; version: string; kind: string }
  readonly resource: { group: string; version: string; resource: string }
  readonly subResource?: string
  readonly requestKind: { group: string; version: string; kind: string }
  readonly name: string
  readonly namespace: string
  readonly operation: string
  readonly userInfo: { username: string; groups: string[] }
  readonly object: Body
  readonly oldObject: Body | null
  readonly dryRun: boolean
  readonly options: Body | null
}

export type Verdict = {
  readonly allowed: boolean
  readonly status?: object
  /** A JSON patch. */
  readonly patch?: object[]
  readonly warnings?: string[]
  readonly auditAnnotations?: Record<string, string>
}

export type Handler = (review: Review) => Verdict | typeof neverAnswer | { readonly raw: string }

/** The request is taken and never answered. */
export const neverAnswer = Symbol('never answer')

export interface Webhooks {
  readonly reviews: Review[]
  clientConfig(path: string): { url: string; caBundle: string }
  handle(path: string, handler: Handler): void
  close(): Promise<void>
}

export async function serveWebhooks(): Promise<Webhooks> {
  const authority = createAuthority('webhook tests')
  const certificate = issue(authority, { commonName: '127.0.0.1', hosts: ['127.0.0.1', 'localhost'] })
  const handlers = new Map<string, Handler>()
  const reviews: Review[] = []
  const server: Server = createServer({ cert: certificate.cert, key: certificate.key }, (incoming, outgoing) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const path = (incoming.url ?? '').split('?')[0] ?? ''
      const handler = handlers.get(path)
      if (!handler) {
        outgoing.writeHead(404).end()
        return
      }
      const { request } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { request: Review }
      reviews.push(request)
      const verdict = handler(request)
      if (verdict === neverAnswer) return
      outgoing.setHeader('content-type', 'application/json')
      outgoing.end('raw' in verdict ? verdict.raw : JSON.stringify(answer(request, verdict)))
    })
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  return {
    reviews,
    clientConfig: path => ({
      url: `https://127.0.0.1:${port}${path}`,
      caBundle: Buffer.from(authority.cert).toString('base64'),
    }),
    handle: (path, handler) => void handlers.set(path, handler),
    close: () =>
      new Promise(done => {
        server.closeAllConnections()
        server.close(() => done())
      }),
  }
}

function answer(request: Review, { patch, ...verdict }: Verdict): object {
  const response = {
    uid: request.uid,
    ...verdict,
    ...(patch && { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') }),
  }
  return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }
}

// The HTTPS listener that the API server asks. It knows paths and bytes; what is answered is decided in `admission-review.ts`
// and `conversion.ts`. Bodies, waiting times and connections are bounded, and a certificate can be renewed while it serves.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { SecureVersion } from 'node:tls'
import { bodyMsMax, conversionBytesMax, webhookBytesMax } from '../limits.ts'
import type { Clock } from '../runtime/clock.ts'
import { describeError, type Log } from '../telemetry/log.ts'
import { answerAdmissionReview } from './admission-review.ts'
import { answerConversionReview, type Conversion, conversionPath } from './conversion.ts'
import type { WebhookSet } from './webhook.ts'

/** PEM, both. */
export interface ServingCertificate {
  readonly certificate: string | Buffer
  readonly key: string | Buffer
}

export interface WebhookServerOptions extends Partial<ServingCertificate> {
  /** Empty for every address of the machine. */
  readonly host: string
  /** 0 for any that is free. */
  readonly port: number
  /** Of every desk that is on. What no set brings is not served. */
  readonly sets: readonly WebhookSet[]
  readonly conversions: readonly Conversion[]
  readonly clock: Clock
  readonly log: Log
  readonly tls?: { readonly minVersion: SecureVersion; readonly ciphers?: string }
}

export interface WebhookServer {
  readonly port: number
  /** For connections from now on. Without a certificate to begin with, none succeeds before. */
  renew(certificate: ServingCertificate): void
  stop(): Promise<void>
}

interface Route {
  readonly bytesMax: number
  readonly answer: (body: string) => string | Promise<string>
}

/** What is answered where. */
function toRoutes({ sets, conversions, clock, log }: WebhookServerOptions): ReadonlyMap<string, Route> {
  const routes = new Map<string, Route>()
  const onError = (error: unknown) => log.error('a conversion failed', { error: describeError(error) })
  routes.set(conversionPath, {
    bytesMax: conversionBytesMax,
    answer: body => answerConversionReview(body, { conversions, onError }),
  })
  for (const set of sets) {
    for (const webhook of set.webhooks) {
      const { name, path } = webhook
      if (routes.has(path)) throw new Error(`the path ${path} of the webhook ${name} is another one's already`)
      const onError = (error: unknown) =>
        log.error('a webhook failed', { desk: set.name, webhook: name, error: describeError(error) })
      routes.set(path, {
        bytesMax: webhookBytesMax,
        answer: body => answerAdmissionReview(body, { webhook, facts: () => set.facts(), clock, onError }),
      })
    }
  }
  return routes
}

/** Far more than the few connections that API servers keep open. */
const connectionsMax = 1_000

export async function startWebhookServer(options: WebhookServerOptions): Promise<WebhookServer> {
  const { host, port, certificate, key, log, tls = { minVersion: 'TLSv1.2' } } = options
  const routes = toRoutes(options)
  const server = createServer({ ...tls, cert: certificate, key }, (request, response) => {
    void serve(request, response, routes).catch(error => {
      log.debug('a webhook was not answered', { error: describeError(error) })
      response.destroy()
    })
  })
  server.requestTimeout = bodyMsMax
  // Longer than API servers keep an idle connection, so that the API server closes it and no request meets a closed one.
  server.keepAliveTimeout = 2 * 60_000
  server.maxConnections = connectionsMax
  server.on('tlsClientError', error => log.debug('a TLS handshake failed', { error: describeError(error) }))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host || undefined, () => {
      server.off('error', reject)
      resolve()
    })
  })
  // Too many open files, say: the next connection may succeed.
  server.on('error', error => log.error('the webhook server met an error', { error: describeError(error) }))
  const { port: bound } = server.address() as AddressInfo
  return {
    port: bound,
    renew: renewed => server.setSecureContext({ ...tls, cert: renewed.certificate, key: renewed.key }),
    stop: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeIdleConnections()
        // Answers take milliseconds; a client that still sends after this is not waited for.
        setTimeout(() => server.closeAllConnections(), 1_000).unref()
      }),
  }
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  routes: ReadonlyMap<string, Route>,
): Promise<void> {
  const path = (request.url ?? '').split('?', 1)[0] ?? ''
  const route = routes.get(path)
  if (route === undefined) return refuse(response, 404, 'nothing is answered here')
  if (request.method !== 'POST') return refuse(response, 405, 'a webhook is asked by POST')
  if (!(request.headers['content-type'] ?? '').startsWith('application/json')) {
    return refuse(response, 415, 'a webhook is asked in application/json')
  }
  const body = await readBody(request, route.bytesMax)
  if (body === undefined) return refuse(response, 413, `a request here has at most ${route.bytesMax} bytes`)
  response.writeHead(200, { 'content-type': 'application/json' }).end(await route.answer(body))
}

function refuse(response: ServerResponse, code: number, sentence: string): void {
  // What was not read of the request would be taken for the next one.
  response.writeHead(code, { 'content-type': 'text/plain', connection: 'close' }).end(`${sentence}\n`)
}

/** Undefined where there is more than may be. */
async function readBody(request: IncomingMessage, bytesMax: number): Promise<string | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return undefined
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > bytesMax) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

// The HTTPS listener that the API server asks. It knows paths and bytes; what is answered is decided in `admission-review.ts`
// and `conversion.ts`. Bodies, waiting times and connections are bounded, and a certificate can be renewed while it serves.
// A client that has to prove that it is an API server (`caller.ts`) is refused before its body is read.

import { constants } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { SecureVersion, TLSSocket } from 'node:tls'
import {
  conversionBytesMax,
  retryAfterSeconds,
  webhookBytesMax,
  webhookBytesUncounted,
  webhookBytesUnderWayMax,
  webhookConnectionsMax,
  webhookHeaderMsMax,
  webhookRequestMsMax,
} from '../limits.ts'
import type { Clock } from '../runtime/clock.ts'
import { describeError, type Log } from '../telemetry/log.ts'
import { type Metrics, secondsBounds } from '../telemetry/metrics.ts'
import { answerAdmissionReview } from './admission-review.ts'
import { type Bodies, createBodies } from './body.ts'
import { type CallerRules, whyNotACaller } from './caller.ts'
import { answerConversionReview, type Conversion, conversionPath } from './conversion.ts'
import type { WebhookSet } from './webhook.ts'

/** PEM, all of them. */
export interface ServingCertificate {
  readonly certificate: string | Buffer
  readonly key: string | Buffer
  /** The authority that signs the certificates of API servers; needed where callers have to show one. */
  readonly clientCA?: string | Buffer | undefined
}

export interface WebhookServerOptions extends Partial<ServingCertificate> {
  /** Empty for every address of the machine. */
  readonly host: string
  /** 0 for any that is free. */
  readonly port: number
  /** Of every desk, on or off (`setOfOff`). What no set brings is not served. */
  readonly sets: readonly WebhookSet[]
  readonly conversions: readonly Conversion[]
  readonly clock: Clock
  readonly log: Log
  readonly metrics?: Metrics | undefined
  readonly tls?: { readonly minVersion: SecureVersion; readonly ciphers?: string }
  /** Left out where every client that reaches the port is answered. */
  readonly callers?: CallerRules | undefined
}

export interface WebhookServer {
  readonly port: number
  /** For connections from now on. Without a certificate to begin with, none succeeds before. */
  renew(certificate: ServingCertificate): void
  stop(): Promise<void>
}

interface Route {
  readonly bytesMax: number
  readonly answer: (body: string) => Promise<string>
}

/** What is answered where. */
function toRoutes(options: WebhookServerOptions): ReadonlyMap<string, Route> {
  const { sets, conversions, clock, log, callers } = options
  const routes = new Map<string, Route>()
  const timed = timerOf(options)
  const isCallerProven = callers !== undefined
  const onError = (error: unknown) => log.error('a conversion failed', { error: describeError(error) })
  routes.set(conversionPath, {
    bytesMax: conversionBytesMax,
    answer: timed('conversion', body => answerConversionReview(body, { conversions, onError })),
  })
  for (const set of sets) {
    for (const webhook of set.webhooks) {
      const { name, path } = webhook
      if (routes.has(path)) throw new Error(`the path ${path} of the webhook ${name} is another one's already`)
      const onError = (error: unknown) =>
        log.error('a webhook failed', { desk: set.name, webhook: name, error: describeError(error) })
      routes.set(path, {
        bytesMax: webhookBytesMax,
        answer: timed(name, body =>
          answerAdmissionReview(body, {
            webhook,
            facts: () => set.facts(webhook.kind),
            isCallerProven,
            clock,
            onError,
          }),
        ),
      })
    }
  }
  return routes
}

type Timed = (name: string, answer: Route['answer']) => Route['answer']

/** How long each takes to answer: a user waits for it, and no longer than the API server does. */
function timerOf({ metrics, clock }: Pick<WebhookServerOptions, 'metrics' | 'clock'>): Timed {
  const durations = metrics?.histogram(
    'mooring_webhook_duration_seconds',
    'From a request to a webhook that was read to its answer.',
    secondsBounds,
    ['webhook'],
  )
  if (durations === undefined) return (_, answer) => answer
  return (name, answer) => async body => {
    const startMs = clock.monotonicMs()
    try {
      return await answer(body)
    } finally {
      durations.observe((clock.monotonicMs() - startMs) / 1000, name)
    }
  }
}

export async function startWebhookServer(options: WebhookServerOptions): Promise<WebhookServer> {
  const { host, port, log, callers } = options
  const routes = toRoutes(options)
  const bodies = createBodies({ underWayMax: webhookBytesUnderWayMax, uncounted: webhookBytesUncounted })
  const server = createServer(
    {
      ...contextOf(options, options),
      // A client without a good certificate is told so in HTTP, which API servers show to their users.
      ...(callers && { requestCert: true, rejectUnauthorized: false }),
      handshakeTimeout: webhookHeaderMsMax,
      connectionsCheckingInterval: webhookHeaderMsMax / 2,
    },
    (request, response) => {
      void serve(request, response, { routes, bodies, callers }).catch(error => {
        log.debug('a webhook was not answered', { error: describeError(error) })
        response.destroy()
      })
    },
  )
  server.headersTimeout = webhookHeaderMsMax
  server.requestTimeout = webhookRequestMsMax
  // Of a client that does not read its answer.
  server.timeout = webhookRequestMsMax
  // Longer than API servers keep an idle connection, so that the API server closes it and no request meets a closed one.
  server.keepAliveTimeout = 2 * 60_000
  server.maxConnections = webhookConnectionsMax
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
    renew: renewed => server.setSecureContext(contextOf(renewed, options)),
    stop: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeIdleConnections()
        // Answers take milliseconds; a client that still sends after this is not waited for.
        setTimeout(() => server.closeAllConnections(), 1_000).unref()
      }),
  }
}

function contextOf(
  { certificate, key, clientCA }: Partial<ServingCertificate>,
  { tls, callers }: WebhookServerOptions,
) {
  return {
    ...(tls ?? { minVersion: 'TLSv1.2' as const }),
    cert: certificate,
    key,
    // An empty list, for without one Node would trust the authorities of the system. Every connection shows its certificate:
    // one that is resumed would be taken for what it was under an earlier authority.
    ...(callers && { ca: clientCA ?? [], secureOptions: constants.SSL_OP_NO_TICKET }),
  }
}

interface Served {
  readonly routes: ReadonlyMap<string, Route>
  readonly bodies: Bodies
  readonly callers: CallerRules | undefined
}

async function serve(request: IncomingMessage, response: ServerResponse, served: Served): Promise<void> {
  const { routes, bodies, callers } = served
  const path = (request.url ?? '').split('?', 1)[0] ?? ''
  const isOpen = callers === undefined || (callers.areConversionsOpen && path === conversionPath)
  const refusal = isOpen ? undefined : whyNotACaller(request.socket as TLSSocket, callers)
  if (refusal !== undefined) return refuse(response, refusal.code, refusal.sentence)
  const route = routes.get(path)
  if (route === undefined) return refuse(response, 404, 'nothing is answered here')
  if (request.method !== 'POST') return refuse(response, 405, 'a webhook is asked by POST')
  if (!(request.headers['content-type'] ?? '').startsWith('application/json')) {
    return refuse(response, 415, 'a webhook is asked in application/json')
  }
  const body = await bodies.read(request, route.bytesMax)
  if (body === 'too large') return refuse(response, 413, `a request here has at most ${route.bytesMax} bytes`)
  if (body === 'too many') {
    response.setHeader('retry-after', retryAfterSeconds)
    return refuse(response, 429, 'too many large requests are under way: try again')
  }
  // An answer is about as long as what was asked: it counts until the client has read it, or is gone.
  response.once('close', () => body.done())
  if (response.closed) body.done()
  response.writeHead(200, { 'content-type': 'application/json' }).end(await route.answer(body.text))
}

function refuse(response: ServerResponse, code: number, sentence: string): void {
  // What was not read of the request would be taken for the next one.
  response.writeHead(code, { 'content-type': 'text/plain', connection: 'close' }).end(`${sentence}\n`)
}

// How webhooks are called: POST of JSON over HTTPS, answered with JSON, within a time. One pool of kept-alive
// connections per webhook address and authority. A service is reached where `resolveService` says, but must prove to be
// `name.namespace.svc`, as its certificate says. Redirects are not followed: they would carry the object to a place the
// administrator never wrote down.
//
// Every failure is a `WebhookCallError` whose message is what a Go client would say, because users search for that
// text.

import type { Dispatcher } from 'undici'
import { Pool } from 'undici'
import { JSONSyntaxError, parseJSON, stringify } from '../../json.ts'
import { webhookAnswerBytesMax, webhookPoolsMax } from '../../limits.ts'
import { codeOf, describeDialFailure } from '../dial-failure.ts'
import { quote } from '../faults.ts'
import type { JSONValue } from '../object.ts'
import { getOwn, isObject } from '../object.ts'
import { toJSONKind } from '../patch/go-text.ts'

export interface WebhookAddress {
  readonly url?: string
  readonly service?: {
    readonly namespace: string
    readonly name: string
    readonly path?: string
    readonly port?: number
  }
  /** Authorities to trust, as PEM text; without them, those of the system. */
  readonly ca?: string
}

export interface PostOptions {
  readonly timeoutSeconds?: number
  /** Aborted when the client no longer waits for the answer. */
  readonly signal?: AbortSignal
}

export type PostToWebhook = (address: WebhookAddress, body: unknown, options: PostOptions) => Promise<JSONValue>

/** Where a service can be reached; throws or returns undefined when nowhere. */
export type ResolveService = (
  namespace: string,
  name: string,
  port: number,
) => Promise<{ host: string; port: number } | undefined> | { host: string; port: number } | undefined

export interface WireOptions {
  readonly resolveService: ResolveService
  /** A signal that aborts after so many seconds. */
  readonly timeout: (seconds: number) => AbortSignal
  /** Shown to every webhook that asks for a client certificate and takes it; none where it is left out. PEM, both. */
  readonly clientCertificate?: (() => { readonly certificate: string; readonly key: string }) | undefined
}

export interface WebhookWire {
  readonly post: PostToWebhook
  close(): Promise<void>
}

class WebhookCallError extends Error {
  override readonly name = 'WebhookCallError'
}

/** Between requests. Go servers close idle connections after 90 seconds or more; better we close first. */
const keepAliveMs = 30_000
const connectTimeoutMs = 30_000
/** The other side ended the connection, with a TLS alert or without. */
const hangUps = /^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE|ERR_SSL_.*ALERT.*)$/

/** Webhooks log it, and some look for it. */
const userAgent = 'kube-apiserver-admission'

export function createWebhookWire({ resolveService, timeout, clientCertificate }: WireOptions): WebhookWire {
  const pools = new Map<string, Pool>()

  /** Webhooks that hang up on a client with our certificate, as those do that verify it by an authority that is not ours. */
  const bare = new Set<string>()

  function poolFor(target: Target, ca: string | undefined, isBare: boolean): Pool {
    const own = isBare ? undefined : clientCertificate?.()
    const key = JSON.stringify([target.origin, target.serverName, ca, own?.certificate])
    const existing = pools.get(key)
    if (existing) {
      pools.delete(key)
      pools.set(key, existing)
      return existing
    }
    const pool = new Pool(target.origin, {
      connect: {
        // Stated, because the environment could say otherwise for the whole process.
        rejectUnauthorized: true,
        ...(ca !== undefined && { ca }),
        ...(own && { cert: own.certificate, key: own.key }),
        ...(target.isService && { servername: target.serverName }),
        timeout: connectTimeoutMs,
      },
      keepAliveTimeout: keepAliveMs,
      // A webhook's own timeout governs; these only guard against one that has none.
      headersTimeout: 60_000,
      bodyTimeout: 60_000,
      maxResponseSize: webhookAnswerBytesMax,
      pipelining: 1,
    })
    pools.set(key, pool)
    if (pools.size > webhookPoolsMax) {
      const [oldestKey, oldest] = pools.entries().next().value ?? []
      if (oldestKey !== undefined) pools.delete(oldestKey)
      // Requests under way are finished before its connections close.
      void oldest?.close().catch(() => undefined)
    }
    return pool
  }

  async function post(
    address: WebhookAddress,
    body: unknown,
    { timeoutSeconds, signal }: PostOptions,
  ): Promise<JSONValue> {
    const url = shownURL(address, timeoutSeconds)
    const limits = [signal, timeoutSeconds === undefined ? undefined : timeout(timeoutSeconds)].filter(
      s => s !== undefined,
    )
    const limit = AbortSignal.any(limits)
    const target = await resolve(url, address, resolveService)
    const text = stringify(body)
    try {
      return await exchange(target, text, limit)
    } catch (error) {
      if (error instanceof WebhookCallError) throw error
      throw new WebhookCallError(`Post ${quote(url.href)}: ${describeDialFailure(error, target, limit)}`, {
        cause: error,
      })
    }
  }

  async function exchange(target: Target, text: string, signal: AbortSignal): Promise<JSONValue> {
    const send = (isBare: boolean) =>
      poolFor(target, target.ca, isBare).request({
        method: 'POST',
        path: target.path,
        headers: {
          host: target.host,
          'content-type': 'application/json',
          accept: 'application/json, */*',
          'user-agent': userAgent,
        },
        body: text,
        signal,
      })
    const isHungUp = (error: unknown) => hangUps.test(codeOf(error)) && !signal.aborted
    const place = JSON.stringify([target.origin, target.serverName, target.ca])
    const response = await send(bare.has(place))
      .catch((error: unknown) => {
        // A kept connection may have been closed by the other side just as we used it; it then never saw the request.
        if (isHungUp(error)) return send(bare.has(place))
        throw error
      })
      .catch(async (error: unknown) => {
        if (!isHungUp(error) || clientCertificate === undefined || bare.has(place)) throw error
        const answered = await send(true)
        if (answered.statusCode < 300) remember(place)
        return answered
      })
    return readAnswer(response)
  }

  function remember(place: string): void {
    if (bare.size >= webhookPoolsMax) bare.clear()
    bare.add(place)
  }

  return {
    post,
    close: async () => {
      const open = [...pools.values()]
      pools.clear()
      await Promise.all(open.map(pool => pool.destroy()))
    },
  }
}

interface Target {
  readonly origin: string
  readonly path: string
  /** For the Host header. */
  readonly host: string
  /** What the certificate must say. */
  readonly serverName: string
  readonly isService: boolean
  readonly ca: string | undefined
  /** Where the connection goes, for messages. */
  readonly dialed: string
}

function shownURL({ url, service }: WebhookAddress, timeoutSeconds: number | undefined): URL {
  const query = timeoutSeconds === undefined ? '' : `?timeout=${timeoutSeconds}s`
  if (service) {
    const path = service.path ?? ''
    const origin = `https://${service.name}.${service.namespace}.svc`
    return withPort(new URL(`${origin}${path.startsWith('/') ? '' : '/'}${path}${query}`), service.port ?? 443)
  }
  if (url === undefined || url === '')
    throw new WebhookCallError('webhook configuration must have either service or URL')
  try {
    const parsed = new URL(url)
    parsed.search = query
    if (parsed.protocol === 'https:') return parsed
  } catch (cause) {
    throw new WebhookCallError(`Unparsable URL: parse ${quote(url)}: invalid URI for request`, { cause })
  }
  throw new WebhookCallError(`the URL ${quote(url)} does not begin with https://`)
}

/** The port is always shown for services, even the usual one. */
function withPort(url: URL, port: number): URL {
  const shown = new URL(url)
  shown.port = String(port)
  if (port !== 443) return shown
  return Object.defineProperty(shown, 'href', { value: url.href.replace(`//${url.host}`, `//${url.host}:443`) })
}

async function resolve(url: URL, address: WebhookAddress, resolveService: ResolveService): Promise<Target> {
  const path = `${url.pathname}${url.search}`
  const { service, ca } = address
  if (!service) {
    const port = url.port || '443'
    const serverName = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname
    return {
      origin: url.origin,
      path,
      host: url.host,
      serverName,
      isService: false,
      ca,
      dialed: `${url.hostname}:${port}`,
    }
  }
  const port = service.port ?? 443
  const place = await find(url, service, port, resolveService)
  const host = place.host.includes(':') ? `[${place.host}]` : place.host
  return {
    origin: `https://${host}:${place.port}`,
    path,
    host: `${url.hostname}:${port}`,
    serverName: url.hostname,
    isService: true,
    ca,
    dialed: `${host}:${place.port}`,
  }
}

async function find(
  url: URL,
  { namespace, name }: { namespace: string; name: string },
  port: number,
  resolveService: ResolveService,
): Promise<{ host: string; port: number }> {
  const failed = (why: string, cause?: unknown) => new WebhookCallError(`Post ${quote(url.href)}: ${why}`, { cause })
  let place: { host: string; port: number } | undefined
  try {
    place = await resolveService(namespace, name, port)
  } catch (error) {
    throw failed(error instanceof Error ? error.message : String(error), error)
  }
  if (place === undefined) throw failed(`service ${quote(name)} not found`)
  return place
}

async function readAnswer({ statusCode, headers, body }: Dispatcher.ResponseData): Promise<JSONValue> {
  const text = await body.text()
  if (statusCode < 200 || statusCode > 206) {
    throw new WebhookCallError(statusMessage(text) ?? genericMessage(statusCode, text, headers['content-type']))
  }
  if (text === '') {
    const type = String(headers['content-type'] ?? 'application/json')
    throw new WebhookCallError(`0-length response with status code: ${statusCode} and content type: ${type}`)
  }
  const value = parsed(text)
  if (isObject(value)) return value
  const envelope =
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
  throw unreadable(`json: cannot unmarshal ${toJSONKind(value)} into Go value of type ${envelope}`)
}

function parsed(text: string): JSONValue {
  try {
    return parseJSON(text).value
  } catch (error) {
    if (error instanceof JSONSyntaxError) throw unreadable(error.message)
    throw error
  }
}

function unreadable(why: string): WebhookCallError {
  return new WebhookCallError(`couldn't get version/kind; json parse error: ${why}`)
}

/** What a Status object says, when the webhook answered with one. */
function statusMessage(text: string): string | undefined {
  try {
    const { value } = parseJSON(text)
    if (getOwn(value, 'kind') !== 'Status' || getOwn(value, 'status') === 'Success') return undefined
    const message = getOwn(value, 'message')
    return typeof message === 'string' && message !== '' ? message : 'unknown'
  } catch {
    return undefined
  }
}

const messages: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  409: 'the server reported a conflict',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
}

function genericMessage(code: number, text: string, contentType: string | string[] | undefined): string {
  const isText = contentType === undefined || String(contentType).startsWith('text/')
  const said = isText ? text.slice(0, 2048).trim() : 'unknown'
  const known = messages[code]
  if (known !== undefined) return known
  if (code === 403 || code === 406 || code === 415) return said
  if (code >= 500) return `an error on the server (${quote(said)}) has prevented the request from succeeding`
  return `the server responded with the status code ${code} but did not return more information`
}

// A request to a foreign group version goes on to its server, and the answer comes back as it is: short ones whole, others as a
// stream, an upgraded connection (a console) in both directions. It was authenticated and authorised before it comes here.

import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  foreignAnswerBytesBuffered,
  foreignDiscoveryMsMax,
  foreignPendingBytesMax,
  foreignRequestMsMax,
} from '../../limits.ts'
import type { UserInfo } from '../authn/user.ts'
import type { World } from '../call.ts'
import { type StreamBody, text, type WireRequest, type WireResponse } from '../edge/wire.ts'
import type { PathRequest, ResourceRequest } from '../request.ts'
import { pageNotFound, timedOut } from '../status.ts'
import { type Answered, DialError, type Dialer, hostOf, UnreadableAuthorities } from './dial.ts'
import type { Foreign, ForeignVersion } from './foreign.ts'
import { toAnswerHeaders, toForwardedHeaders } from './headers.ts'
import { reach } from './reach.ts'

export interface Forwarding {
  readonly to: ForeignVersion
  readonly request: ResourceRequest | PathRequest
  readonly wire: WireRequest
  readonly user: UserInfo
  readonly auditID: string
}

export interface AggregationProxy {
  /** The foreign group version that has to answer; undefined when this server does. */
  find(request: ResourceRequest | PathRequest): ForeignVersion | undefined
  /** Whether the server behind it said that it has such a resource. */
  knows(to: ForeignVersion, plural: string): boolean
  forward(forwarding: Forwarding): Promise<WireResponse>
}

export function createProxy(
  world: Pick<World, 'store' | 'registry'>,
  foreign: Foreign,
  dialer: Dialer,
): AggregationProxy {
  return {
    find(request) {
      if (request.isResource) return foreign.find(request.group, request.version)
      const [, root = '', group = '', version = ''] =
        /^(\/apis|\/openapi\/v3\/apis)\/([^/]+)\/([^/]+)\/?$/.exec(request.path) ?? []
      const found = group === '' ? undefined : foreign.find(group, version)
      if (found === undefined || root === '/apis') return found
      return foreign.told(found.name)?.openAPI === undefined ? undefined : found
    },
    knows: (to, plural) => foreign.told(to.name)?.resources.some(({ resource }) => resource === plural) ?? false,
    async forward(forwarding) {
      const { to, request } = forwarding
      refuseOddPath(request.path)
      const place = to.isAvailable ? reach(world, to.service) : undefined
      if (place === undefined || 'reason' in place) return text(503, 'service unavailable\n')
      const limit = limitOf(forwarding)
      try {
        return await toResponse(
          await dialer.send(to, place, toOutgoing(forwarding, hostOf(place), limit.signal)),
          limit,
        )
      } catch (error) {
        limit.clear()
        if (limit.isOver()) throw timedOut('request did not complete within the allotted timeout')
        if (error instanceof UnreadableAuthorities) return text(500, `${error.message}\n`)
        if (error instanceof DialError) return text(503, `error trying to reach service: ${error.message}\n`)
        throw error
      }
    },
  }
}

/**
 * The other server must read in the path what was authorised here. One that resolves `a//b`, `a/../b` or an encoded slash
 * would find another resource there.
 */
function refuseOddPath(path: string): void {
  const segments = path.replace(/\/$/, '').split('/').slice(1).map(decodeURIComponent)
  if (segments.some(one => one === '' || one === '.' || one === '..' || one.includes('/'))) throw pageNotFound()
}

function toOutgoing({ request, wire, user, auditID }: Forwarding, host: string, signal: AbortSignal) {
  const { path } = request
  const mark = wire.target.indexOf('?')
  return {
    method: wire.method,
    path: mark < 0 ? path : path + wire.target.slice(mark),
    headers: {
      ...toForwardedHeaders(wire.headers, {
        user,
        auditID,
        remoteAddress: wire.remoteAddress,
        host,
        path,
        isUpgrade: wire.isUpgrade === true,
      }),
      ...(wire.body.length > 0 && { 'content-length': String(wire.body.length) }),
    },
    body: wire.body,
    signal,
  }
}

interface Limit {
  /** Aborted when the client is gone, or the time is over. */
  readonly signal: AbortSignal
  isOver(): boolean
  clear(): void
}

/** A watch and an upgraded connection last as long as they like; all else has the time that kube-apiserver gives. */
function limitOf({ request, wire }: Forwarding): Limit {
  const over = new AbortController()
  const isLong = wire.isUpgrade === true || request.verb === 'watch'
  const ms = request.isResource ? foreignRequestMsMax : foreignDiscoveryMsMax
  const timer = isLong ? undefined : setTimeout(() => over.abort(new DOMException('too late', 'TimeoutError')), ms)
  return {
    signal: AbortSignal.any([wire.signal, over.signal]),
    isOver: () => over.signal.aborted,
    clear: () => clearTimeout(timer),
  }
}

const nothing = Buffer.alloc(0)
const movedText = 'the backend attempted to redirect this request, which is not permitted'

async function toResponse({ message, upgraded }: Answered, limit: Limit): Promise<WireResponse> {
  const code = message.statusCode ?? 502
  const headers = toAnswerHeaders(message.headersDistinct)
  if (upgraded !== undefined) {
    limit.clear()
    const protocol = message.headers.upgrade
    const agreed = { connection: 'Upgrade', ...(protocol !== undefined && { upgrade: protocol }) }
    return { code, headers: { ...headers, ...agreed }, body: nothing, tunnel: tunnelOf(upgraded.socket, upgraded.head) }
  }
  if (code >= 300 && code <= 399 && message.headers.location !== undefined) {
    limit.clear()
    message.destroy()
    return text(502, movedText)
  }
  const length = message.headers['content-length']
  if (code === 204 || code === 304 || Number(length ?? Number.POSITIVE_INFINITY) <= foreignAnswerBytesBuffered) {
    const body = await whole(message)
    limit.clear()
    return { code, headers, body }
  }
  return { code, headers, body: streamOf(message, limit) }
}

async function whole(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of message) chunks.push(chunk as Buffer)
  } catch (cause) {
    throw new DialError('unexpected EOF', { cause })
  }
  return Buffer.concat(chunks)
}

function streamOf(message: IncomingMessage, limit: Limit): StreamBody {
  return {
    open(sink) {
      message.on('data', (chunk: Buffer) => {
        sink.write(chunk)
        if (sink.pendingBytes < foreignPendingBytesMax || sink.onDrained === undefined) return
        message.pause()
        sink.onDrained(() => message.resume())
      })
      message.once('end', () => {
        limit.clear()
        sink.end()
      })
      // A client must not take half of an answer for the whole.
      message.once('error', () => {
        limit.clear()
        if (sink.cut === undefined) sink.end()
        else sink.cut()
      })
      return () => {
        limit.clear()
        message.destroy()
      }
    },
  }
}

/** What either side sends goes to the other, until one of them ends. */
function tunnelOf(server: Duplex, head: Buffer): (client: Duplex) => void {
  if (head.length > 0) server.unshift(head)
  return client => {
    const pairs = [
      [client, server],
      [server, client],
    ] as const
    for (const [from, to] of pairs) {
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
      from.pipe(to)
    }
  }
}

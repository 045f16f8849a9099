// One request to the server behind an APIService, over HTTPS, with the certificate by which it knows this server. It must prove to
// be `NAME.NAMESPACE.svc`, wherever the Service leads. Redirects are not followed.

import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { isIPv6 } from 'node:net'
import type { Duplex } from 'node:stream'
import { createSecureContext } from 'node:tls'
import { foreignConnectMsMax } from '../../limits.ts'
import type { Issued } from '../certificates/issue.ts'
import { describeDialFailure } from '../dial-failure.ts'
import type { ForeignVersion } from './foreign.ts'

export interface Outgoing {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: Buffer
  readonly signal: AbortSignal
}

export interface Answered {
  readonly message: IncomingMessage
  /** The connection, and what came on it already, when the server agreed to another protocol. */
  readonly upgraded?: { readonly socket: Duplex; readonly head: Buffer }
}

export interface Place {
  readonly host: string
  readonly port: number
}

export interface Dialer {
  /** Throws a `DialError`. */
  send(to: ForeignVersion, place: Place, outgoing: Outgoing): Promise<Answered>
  close(): void
}

/** The message is what a Go client would say. */
export class DialError extends Error {
  override readonly name = 'DialError'
}

/** The authorities of the APIService cannot be read: no connection could be trusted. */
export class UnreadableAuthorities extends Error {
  override readonly name = 'UnreadableAuthorities'
}

/** Between requests. Go servers close idle connections after 90 seconds or more; better we close first. */
const keepAliveMs = 30_000

export function createDialer(clientCertificate: () => Issued): Dialer {
  // It keeps connections apart by everything that TLS is told below.
  const kept = new Agent({ keepAlive: true, timeout: keepAliveMs })
  /** Those whose authorities were read once without complaint. */
  const readable = new WeakSet<ForeignVersion>()

  function send(to: ForeignVersion, place: Place, { body, signal, ...outgoing }: Outgoing): Promise<Answered> {
    const own = clientCertificate()
    const serverName = `${to.service.name}.${to.service.namespace}.svc`
    if (!readable.has(to)) refuseUnreadable(to.ca)
    readable.add(to)
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => {
        clearTimeout(timer)
        const said = describeDialFailure(error, { serverName, dialed: dialedOf(error) ?? hostOf(place) }, signal)
        reject(new DialError(said, { cause: error }))
      }
      let timer: NodeJS.Timeout | undefined
      try {
        const sent = request({
          method: outgoing.method,
          path: outgoing.path,
          headers: { ...(outgoing.headers as Record<string, string | string[]>), host: hostOf(place) },
          host: place.host,
          port: place.port,
          servername: serverName,
          // Stated, because the environment could say otherwise for the whole process.
          rejectUnauthorized: to.isVerified,
          ...(to.ca !== undefined && { ca: to.ca }),
          cert: own.certificate,
          key: own.key,
          signal,
          // A kept connection may be closed by the other side just as it is used: what was asked there is asked again, which is
          // right for a read alone.
          agent: outgoing.method === 'GET' && outgoing.headers.upgrade === undefined ? kept : false,
        })
        timer = setTimeout(() => sent.destroy(timedOut(place)), foreignConnectMsMax)
        sent.once('socket', socket => {
          if (sent.reusedSocket) clearTimeout(timer)
          else socket.once('secureConnect', () => clearTimeout(timer))
        })
        sent.once('response', message => {
          clearTimeout(timer)
          // Its reader listens for errors too; none must end the process before there is a reader.
          message.on('error', () => {})
          resolve({ message })
        })
        sent.once('upgrade', (message, socket, head) => {
          clearTimeout(timer)
          resolve({ message, upgraded: { socket, head } })
        })
        sent.on('error', error => {
          const isStale = sent.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET' && !signal.aborted
          if (isStale) send(to, place, { body, signal, ...outgoing }).then(resolve, reject)
          else fail(error)
        })
        sent.end(body)
      } catch (error) {
        // A header or path that cannot be sent.
        fail(error)
      }
    })
  }

  return { send, close: () => kept.destroy() }
}

function refuseUnreadable(ca: string | undefined): void {
  if (ca === undefined) return
  try {
    if (!ca.includes('-----BEGIN')) throw new Error('there is no PEM in it')
    createSecureContext({ ca })
  } catch (cause) {
    throw new UnreadableAuthorities('unable to load root certificates: unable to parse bytes as PEM block', { cause })
  }
}

const timedOut = (place: Place) => Object.assign(new Error(`no connection to ${hostOf(place)}`), { code: 'ETIMEDOUT' })

export function hostOf({ host, port }: Place): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`
}

/** The address behind a name, where the attempt got so far. */
function dialedOf(error: unknown): string | undefined {
  const tried: unknown[] = error instanceof AggregateError ? error.errors : [error]
  for (const one of tried.toReversed()) {
    const { address, port } = one as { address?: unknown; port?: unknown }
    if (typeof address === 'string' && typeof port === 'number') return hostOf({ host: address, port })
  }
  return undefined
}

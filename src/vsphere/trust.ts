// Whether the server at the other end is the one that was meant. It is judged after the handshake and before the first byte of a
// request, so that a password never reaches a stranger; and a server that is refused is named by its thumbprint, which a person
// can compare with what the vCenter shows of itself.

import { createSecureContext, TLSSocket } from 'node:tls'
import buildConnector from 'undici/lib/core/connect.js'
import Agent from 'undici/lib/dispatcher/agent.js'
import { VSphereConnectionError } from './fault.ts'

export interface VSphereTrust {
  /** PEM. Without it and without a thumbprint, the authorities that Node knows are trusted. */
  readonly ca?: string
  /** SHA-256 of the server's certificate, with or without colons. It alone decides then: such a server signs itself. */
  readonly thumbprint?: string
}

const connectMs = 10_000

/** A vCenter closes an idle connection after some minutes. */
const idleMs = 30_000

const connectionsMax = 4

export function createTrustingAgent(host: string, { ca, thumbprint }: VSphereTrust): Agent {
  const wanted = thumbprint === undefined ? undefined : parseThumbprint(thumbprint)
  const connect = buildConnector({
    timeout: connectMs,
    // Judged below, where the certificate can be looked at.
    rejectUnauthorized: false,
    // A resumed session is not asked for its certificate again.
    maxCachedSessions: 0,
    ...(ca !== undefined && { secureContext: secureContextOf(ca) }),
  })
  return new Agent({
    connections: connectionsMax,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: idleMs,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (options, callback) =>
      connect(options, (error, socket) => {
        if (error !== null) return callback(error, null)
        const refusal = socket instanceof TLSSocket ? refusalOf(socket, { host, wanted }) : untrusted(host)
        if (refusal === undefined) return callback(null, socket)
        socket.destroy()
        return callback(refusal, null)
      }),
  })
}

interface Expected {
  readonly host: string
  readonly wanted: string | undefined
}

function refusalOf(socket: TLSSocket, { host, wanted }: Expected): VSphereConnectionError | undefined {
  const thumbprint = socket.getPeerX509Certificate()?.fingerprint256 ?? ''
  if (wanted !== undefined) {
    if (thumbprint === wanted) return undefined
    return new VSphereConnectionError(
      `${host} has another certificate than the one with the given thumbprint: it has ${thumbprint}, and ${wanted} was given; ` +
        'if its certificate was replaced, give the new thumbprint',
      { thumbprint },
    )
  }
  if (socket.authorized) return undefined
  const why = socket.authorizationError instanceof Error ? socket.authorizationError.message : socket.authorizationError
  return new VSphereConnectionError(
    `the certificate of ${host} is not trusted (${String(why)}): give the authority that signed it, or, if you know this ` +
      `certificate to be its own, its SHA-256 thumbprint ${thumbprint}`,
    { thumbprint },
  )
}

const untrusted = (host: string): VSphereConnectionError =>
  new VSphereConnectionError(`the connection to ${host} is not protected by TLS`)

function parseThumbprint(text: string): string {
  const digits = text.replaceAll(':', '').trim().toUpperCase()
  if (!/^[0-9A-F]{64}$/.test(digits)) {
    const isSHA1 = /^[0-9A-F]{40}$/.test(digits)
    throw new VSphereConnectionError(
      isSHA1
        ? 'the thumbprint is one of SHA-1, which can be forged: give that of SHA-256, 64 hexadecimal digits'
        : 'the thumbprint is not one of SHA-256: give 64 hexadecimal digits, with or without colons',
    )
  }
  return (digits.match(/../g) ?? []).join(':')
}

function secureContextOf(ca: string): ReturnType<typeof createSecureContext> {
  try {
    return createSecureContext({ ca })
  } catch (cause) {
    throw new VSphereConnectionError('the certificate authority cannot be read: give it as PEM', { cause })
  }
}

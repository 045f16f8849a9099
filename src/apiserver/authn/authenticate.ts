// Which user sends this request? Decided once per request, by the first of these that is present:
//
//   a client certificate of our authority   its subject
//   a bearer token                          its service account
//   nothing at all                          system:anonymous
//
// A client with invalid credentials gets 401 and is never treated as anonymous: with an expired token it must learn
// that the token expired, not that it may not list pods.

import { unauthorized } from '../status.ts'
import { createCertificateAuthenticator, InvalidCertificate } from './client-certificate.ts'
import type { Tokens } from './service-account-token.ts'
import { InvalidToken } from './service-account-token.ts'
import type { UserInfo } from './user.ts'
import { anonymous, anonymousName, authenticatedGroup } from './user.ts'

export interface Credentials {
  /** The peer's certificate as DER (`socket.getPeerCertificate().raw`), whether or not TLS found it trustworthy. */
  readonly peerCertificate?: Buffer | undefined
  /** The Authorization header. */
  readonly authorization?: string | undefined
}

export interface AuthenticatorOptions {
  /** The authority's certificate as PEM; asked every time, as it may be renewed. */
  readonly ca: () => string
  readonly tokens: Tokens
  readonly clock: () => Date
  readonly allowAnonymous: boolean
}

/** Throws a 401 `StatusError` for invalid credentials. */
export type Authenticate = (credentials: Credentials) => UserInfo

export function createAuthenticator({ ca, tokens, clock, allowAnonymous }: AuthenticatorOptions): Authenticate {
  const certificates = createCertificateAuthenticator(ca, clock)

  return ({ peerCertificate, authorization }) => {
    let isRefused = false
    if (peerCertificate !== undefined) {
      try {
        const user = certificates.authenticate(peerCertificate)
        if (user) return withAuthenticatedGroup(user)
      } catch (error) {
        if (!(error instanceof InvalidCertificate)) throw error
        isRefused = true
      }
    }
    const token = bearerToken(authorization)
    if (token !== undefined) {
      try {
        return withAuthenticatedGroup(tokens.verify(token).user)
      } catch (error) {
        if (!(error instanceof InvalidToken)) throw error
        isRefused = true
      }
    }
    if (isRefused || !allowAnonymous) throw unauthorized()
    return anonymous
  }
}

export function withAuthenticatedGroup(user: UserInfo): UserInfo {
  if (user.username === anonymousName || user.groups.includes(authenticatedGroup)) return user
  return { ...user, groups: [...user.groups, authenticatedGroup] }
}

/** Other schemes than Bearer are not ours to judge, and an empty token is no token. */
export function bearerToken(authorization: string | undefined): string | undefined {
  const [scheme, token] = (authorization ?? '').trim().split(' ', 2)
  if (scheme?.toLowerCase() !== 'bearer' || token === undefined || token === '') return undefined
  return token
}

// Service account tokens: a signed statement that its bearer is one service account, for a limited time, for certain
// audiences, and perhaps only while some pod, secret or node exists. A valid signature is not enough: the account (and
// the bound object) must still exist under the same uid, so deleting either ends the token at once.

import type { KeyObject } from 'node:crypto'
import type { KubeObject } from '../object.ts'
import { getOwn, isObject } from '../object.ts'
import type { VerificationKey } from './jwt.ts'
import { hasGoodSignature, readToken, signToken, verificationKey } from './jwt.ts'
import type { UserInfo } from './user.ts'
import { serviceAccountGroups, serviceAccountUser } from './user.ts'

/** The resources a token can depend on. `namespace` is empty for nodes. */
export type Find = (
  resource: 'serviceaccounts' | 'pods' | 'secrets' | 'nodes',
  namespace: string,
  name: string,
) => KubeObject | undefined

export interface TokenOptions {
  readonly issuer: string
  /** The audiences of this API server; a token for any other audience is refused. */
  readonly audiences: readonly string[]
  readonly signingKey: KeyObject
  /** Keys whose tokens are still accepted, though no new ones are signed with them. */
  readonly formerKeys?: readonly KeyObject[]
  readonly find: Find
  readonly clock: () => Date
  readonly randomUUID: () => string
}

interface Reference {
  readonly name: string
  readonly uid: string
}

export interface TokenContent {
  readonly namespace: string
  readonly serviceAccount: Reference
  readonly pod?: Reference
  readonly secret?: Reference
  /** With a pod: where it runs, for information. Without: what the token is bound to. */
  readonly node?: Reference
  readonly audiences: readonly string[]
  readonly expirationSeconds: number
  /** Pod tokens of old clients live longer than asked; after this many seconds they count as stale. */
  readonly warnAfterSeconds?: number
}

export interface VerifiedToken {
  readonly user: UserInfo
  /** Those of the wanted audiences the token is good for. */
  readonly audiences: readonly string[]
}

/** Why a token was refused; TokenReview shows the message to its client. */
export class InvalidToken extends Error {
  override readonly name = 'InvalidToken'
}

/** All there is to say about something that is no token of this issuer. */
export const notOurs = 'invalid bearer token'

export interface Tokens {
  readonly issuer: string
  readonly audiences: readonly string[]
  readonly keys: readonly VerificationKey[]
  sign(content: TokenContent): string
  /** Throws `InvalidToken`. */
  verify(token: string, wantedAudiences?: readonly string[]): VerifiedToken
}

/** How far clocks may differ before a token counts as expired or not yet valid. */
const leeway = 60
/** Signatures already found good. Times and existence are checked anew each time. */
const knownMax = 2_000

export function createTokens(options: TokenOptions): Tokens {
  const { issuer, audiences, signingKey, find, clock, randomUUID } = options
  const ownKey = verificationKey(signingKey)
  const keys = [ownKey, ...(options.formerKeys ?? []).map(verificationKey)]
  const known = new Map<string, Record<string, unknown>>()

  function sign(content: TokenContent): string {
    const now = Math.floor(clock().getTime() / 1000)
    const claims = {
      aud: content.audiences,
      exp: now + content.expirationSeconds,
      iat: now,
      iss: issuer,
      jti: randomUUID(),
      'kubernetes.io': {
        namespace: content.namespace,
        ...(content.node && { node: withoutEmpty(content.node) }),
        ...(content.pod && { pod: content.pod }),
        ...(content.secret && { secret: content.secret }),
        serviceaccount: content.serviceAccount,
        ...(content.warnAfterSeconds !== undefined && { warnafter: now + content.warnAfterSeconds }),
      },
      nbf: now,
      sub: serviceAccountUser({ namespace: content.namespace, name: content.serviceAccount.name }),
    }
    return signToken(claims, signingKey, ownKey)
  }

  function verifiedClaims(token: string): Record<string, unknown> {
    const before = known.get(token)
    if (before !== undefined) return before
    const unverified = readToken(token)
    if (unverified === undefined || unverified.claims.iss !== issuer) throw new InvalidToken(notOurs)
    const { kid } = unverified.header
    const candidates = kid === undefined || kid === '' ? keys : keys.filter(key => key.id === kid)
    if (candidates.length === 0) throw new InvalidToken('invalid signature, no keys found')
    if (!candidates.some(key => hasGoodSignature(unverified, key))) {
      throw new InvalidToken('go-jose/go-jose: error in cryptographic primitive')
    }
    if (known.size >= knownMax) known.clear()
    known.set(token, unverified.claims)
    return unverified.claims
  }

  function verify(token: string, wantedAudiences: readonly string[] = audiences): VerifiedToken {
    const claims = verifiedClaims(token)
    const claimed = audiencesOf(claims)
    const offered = claimed.length === 0 ? audiences : claimed
    const shared = offered.filter(audience => wantedAudiences.includes(audience))
    if (shared.length === 0) {
      const show = (list: readonly string[]) => `[${list.map(item => JSON.stringify(item)).join(' ')}]`
      throw new InvalidToken(
        `token audiences ${show(offered)} is invalid for the target audiences ${show(wantedAudiences)}`,
      )
    }
    const now = clock().getTime() / 1000
    checkTimes(claims, now)
    return { user: holderOf(claims, find, now), audiences: shared }
  }

  return { issuer, audiences, keys, sign, verify }
}

function checkTimes(claims: Record<string, unknown>, now: number): void {
  const { exp, nbf, iat } = claims
  if (typeof nbf === 'number' && now + leeway < nbf) throw new InvalidToken('service account token is not valid yet')
  if (typeof exp !== 'number' || now - leeway > exp) throw new InvalidToken('service account token has expired')
  if (typeof iat === 'number' && now + leeway < iat) {
    throw new InvalidToken('service account token is issued in the future')
  }
}

function holderOf(claims: Record<string, unknown>, find: Find, now: number): UserInfo {
  const bound = getOwn(claims, 'kubernetes.io')
  const namespace = textOf(getOwn(bound, 'namespace'))
  const account = referenceOf(getOwn(bound, 'serviceaccount')) ?? { name: '', uid: '' }
  const found = find('serviceaccounts', namespace, account.name)
  if (found === undefined) throw new InvalidToken(`serviceaccounts ${JSON.stringify(account.name)} not found`)
  if (found.metadata.uid !== account.uid) {
    throw new InvalidToken(`service account UID (${found.metadata.uid ?? ''}) does not match claim (${account.uid})`)
  }
  if (isGone(found, now)) throw new InvalidToken(`service account ${namespace}/${account.name} has been deleted`)

  const secret = referenceOf(getOwn(bound, 'secret'))
  const pod = referenceOf(getOwn(bound, 'pod'))
  const node = referenceOf(getOwn(bound, 'node'))
  if (secret) checkBound('secret', secret, find('secrets', namespace, secret.name), now)
  if (pod) checkBound('pod', pod, find('pods', namespace, pod.name), now)
  if (node && !pod) checkBound('node', node, find('nodes', '', node.name), now)

  const extra: Record<string, string[]> = {}
  const tell = (key: string, value: unknown) => {
    if (typeof value === 'string' && value !== '') extra[`authentication.kubernetes.io/${key}`] = [value]
  }
  if (typeof claims.jti === 'string' && claims.jti !== '') tell('credential-id', `JTI=${claims.jti}`)
  tell('node-name', node?.name)
  tell('node-uid', node?.uid)
  tell('pod-name', pod?.name)
  tell('pod-uid', pod?.uid)
  return {
    username: serviceAccountUser({ namespace, name: account.name }),
    uid: account.uid,
    groups: serviceAccountGroups(namespace),
    ...(Object.keys(extra).length > 0 && { extra }),
  }
}

function checkBound(what: string, wanted: Reference, found: KubeObject | undefined, now: number): void {
  if (found === undefined) throw new InvalidToken('service account token has been invalidated')
  const uid = found.metadata.uid ?? ''
  if (uid !== wanted.uid) {
    throw new InvalidToken(`${what} UID (${uid}) does not match service account ${what} ref claim (${wanted.uid})`)
  }
  if (isGone(found, now)) throw new InvalidToken('service account token has been invalidated')
}

/** Being deleted, and for longer than clocks may differ. */
function isGone(object: KubeObject, now: number): boolean {
  const since = object.metadata.deletionTimestamp
  return typeof since === 'string' && Date.parse(since) / 1000 < now - leeway
}

function audiencesOf({ aud }: Record<string, unknown>): string[] {
  if (typeof aud === 'string') return [aud]
  return Array.isArray(aud) ? aud.filter(item => typeof item === 'string') : []
}

function referenceOf(value: unknown): Reference | undefined {
  return isObject(value) ? { name: textOf(value.name), uid: textOf(value.uid) } : undefined
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A pod may name a node that has no object (yet), and so no uid. */
function withoutEmpty({ name, uid }: Reference): { name: string; uid?: string } {
  return uid === '' ? { name } : { name, uid }
}

// Which users may read diagnostics: those that have the permission to `get` that path. The API server is asked for the user of
// the bearer token (TokenReview), and whether that user may (SubjectAccessReview); nothing is decided here.

import { createHash } from 'node:crypto'
import type { Client } from '../kube/client.ts'
import { defineKind, type KubeObject } from '../kube/object.ts'
import type { Clock } from '../runtime/clock.ts'

export interface ReadersOptions {
  readonly client: Pick<Client, 'create'>
  readonly clock: Clock
}

/** `busy`: too many strangers ask at this moment. */
export type Admission = 'allowed' | 'unknown' | 'forbidden' | 'busy'

export type Readers = (authorization: string | undefined, path: string) => Promise<Admission>

interface TokenReview extends KubeObject {
  readonly spec: { readonly token: string }
  readonly status?: { readonly authenticated?: boolean; readonly user?: User }
}

interface User {
  readonly username?: string
  readonly uid?: string
  readonly groups?: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

interface AccessReview extends KubeObject {
  readonly spec: object
  readonly status?: { readonly allowed?: boolean }
}

const tokenReviews = defineKind<TokenReview>({
  group: 'authentication.k8s.io',
  versions: ['v1'],
  plural: 'tokenreviews',
  kind: 'TokenReview',
  namespaced: false,
})

const accessReviews = defineKind<AccessReview>({
  group: 'authorization.k8s.io',
  versions: ['v1'],
  plural: 'subjectaccessreviews',
  kind: 'SubjectAccessReview',
  namespaced: false,
})

/** A yes is kept for so long: Prometheus scrapes every few seconds. */
const believedMs = 30_000
const believedMax = 100
/** A no is kept for less: the role may be bound a moment later. */
const refusedMs = 5_000
const refusedMax = 1_000
/** Tokens that were never allowed are asked about this often in a second: a flood of them must not reach the API server. */
const questionsPerSecondMax = 10

export function createReaders({ client, clock }: ReadersOptions): Readers {
  const allowedUntilMs = new Map<string, number>()
  const refused = new Map<string, { readonly admission: Admission; readonly untilMs: number }>()
  let second = { startMs: Number.NEGATIVE_INFINITY, count: 0 }

  function hasRoom(): boolean {
    const nowMs = clock.monotonicMs()
    if (nowMs - second.startMs >= 1_000) second = { startMs: nowMs, count: 0 }
    return ++second.count <= questionsPerSecondMax
  }

  async function ask(token: string, path: string): Promise<Admission> {
    const user = await userOf(client, token)
    if (user === undefined) return 'unknown'
    return (await mayGet(client, user, path)) ? 'allowed' : 'forbidden'
  }

  return async (authorization, path) => {
    const token = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
    if (token === undefined) return 'unknown'
    // The token itself is not kept.
    const key = `${createHash('sha256').update(token).digest('hex')} ${path}`
    if ((allowedUntilMs.get(key) ?? 0) > clock.monotonicMs()) return 'allowed'
    const known = refused.get(key)
    if (known !== undefined && known.untilMs > clock.monotonicMs()) return known.admission
    // A reader that was allowed before is not kept out by strangers.
    if (!allowedUntilMs.has(key) && !hasRoom()) return 'busy'
    const admission = await ask(token, path)
    if (admission === 'allowed') {
      if (allowedUntilMs.size >= believedMax) allowedUntilMs.clear()
      allowedUntilMs.set(key, clock.monotonicMs() + believedMs)
      return admission
    }
    allowedUntilMs.delete(key)
    if (refused.size >= refusedMax) refused.clear()
    refused.set(key, { admission, untilMs: clock.monotonicMs() + refusedMs })
    return admission
  }
}

async function userOf(client: ReadersOptions['client'], token: string): Promise<User | undefined> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', metadata: {}, spec: { token } }
  const { status } = await client.create(tokenReviews, review)
  return status?.authenticated === true ? (status.user ?? {}) : undefined
}

async function mayGet(
  client: ReadersOptions['client'],
  { username, uid, groups, extra }: User,
  path: string,
): Promise<boolean> {
  const spec = { nonResourceAttributes: { path, verb: 'get' }, user: username, uid, groups, extra }
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', metadata: {}, spec }
  const { status } = await client.create(accessReviews, review)
  return status?.allowed === true
}

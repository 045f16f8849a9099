// Questions about identity, sent as objects: which user a token belongs to (TokenReview), and which user the client is
// (SelfSubjectReview).

import type { KubeObject } from '../object.ts'
import { getOwn } from '../object.ts'
import { badRequest } from '../status.ts'
import { withAuthenticatedGroup } from './authenticate.ts'
import type { Tokens } from './service-account-token.ts'
import { InvalidToken, notOurs } from './service-account-token.ts'
import type { UserInfo } from './user.ts'

export function answerTokenReview(review: KubeObject, tokens: Tokens): KubeObject {
  const token = getOwn(review.spec, 'token')
  if (typeof token !== 'string' || token === '') throw badRequest('token is required for TokenReview in authentication')
  const asked = getOwn(review.spec, 'audiences')
  const wanted = Array.isArray(asked) ? asked.filter(item => typeof item === 'string') : []
  try {
    const { user, audiences } = tokens.verify(token, wanted.length > 0 ? wanted : tokens.audiences)
    const status = { authenticated: true, user: toObject(withAuthenticatedGroup(user)), audiences: [...audiences] }
    return { ...review, status }
  } catch (error) {
    if (!(error instanceof InvalidToken)) throw error
    return { ...review, status: { user: {}, error: explained(error) } }
  }
}

/** kube-apiserver has two token readers and reports both errors; the first one never knows the token. */
function explained({ message }: InvalidToken): string {
  return message === notOurs ? notOurs : `[${notOurs}, ${message}]`
}

export function answerSelfSubjectReview(review: KubeObject, user: UserInfo, now: Date): KubeObject {
  const creationTimestamp = now.toISOString().replace(/\.\d+Z$/, 'Z')
  return {
    apiVersion: review.apiVersion,
    kind: review.kind,
    metadata: { creationTimestamp },
    status: { userInfo: toObject(user) },
  }
}

/** A user as reviews and admission requests show it: empty parts are left out. */
export function toObject(user: UserInfo): Record<string, unknown> {
  const hasExtra = user.extra !== undefined && Object.keys(user.extra).length > 0
  return {
    username: user.username,
    ...(user.uid && { uid: user.uid }),
    ...(user.groups.length > 0 && { groups: [...user.groups] }),
    ...(hasExtra && { extra: user.extra }),
  }
}

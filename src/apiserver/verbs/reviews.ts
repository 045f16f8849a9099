// TokenReview, SubjectAccessReview and their relatives: questions sent as objects. They are answered and never stored.

import { answerSelfSubjectReview, answerTokenReview } from '../authn/reviews.ts'
import {
  answerLocalSubjectAccessReview,
  answerSelfSubjectAccessReview,
  answerSelfSubjectRulesReview,
  answerSubjectAccessReview,
} from '../authz/reviews.ts'
import { readObject } from '../body.ts'
import type { Answer, Call, World } from '../call.ts'
import type { ServedKind } from '../kinds/kind.ts'
import type { KubeObject } from '../object.ts'
import { readWriteOptions } from '../options.ts'

type Review = (review: KubeObject, call: Call, world: World) => KubeObject

const reviews: Record<string, Review> = {
  'authentication.k8s.io/TokenReview': (review, _, { tokens }) => answerTokenReview(review, tokens),
  'authentication.k8s.io/SelfSubjectReview': (review, { user }, { now }) =>
    answerSelfSubjectReview(review, user, now()),
  'authorization.k8s.io/SubjectAccessReview': (review, _, { rbac }) =>
    answerSubjectAccessReview(review, rbac.authorize),
  'authorization.k8s.io/SelfSubjectAccessReview': (review, { user }, { rbac }) =>
    answerSelfSubjectAccessReview(review, user, rbac.authorize),
  'authorization.k8s.io/LocalSubjectAccessReview': (review, { request }, { rbac }) =>
    answerLocalSubjectAccessReview(review, request.namespace, rbac.authorize),
  'authorization.k8s.io/SelfSubjectRulesReview': (review, { user }, { rbac }) =>
    answerSelfSubjectRulesReview(review, user, rbac),
}

export function isReview(kind: ServedKind): boolean {
  return !kind.isCustom && Object.hasOwn(reviews, `${kind.group}/${kind.kind}`)
}

export async function answerReview(call: Call, world: World): Promise<Answer> {
  const { kind } = call.served
  const options = readWriteOptions(call.request.query, 'CreateOptions')
  const source = { bytes: call.body, contentType: call.headers.contentType }
  const review = readObject(call.served, source, options.fieldValidation, call.warn)
  const answer = reviews[`${kind.group}/${kind.kind}`]
  return { type: 'object', code: 201, object: answer?.(review, call, world) ?? review }
}

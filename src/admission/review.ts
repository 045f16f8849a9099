// Reviews as functions from the body of a request to the body of an answer. Whatever arrives is answered: with the uid it
// carried, as far as it carried one, and with a no wherever a yes is not certain. A fault of our own is a no too (500): to
// allow by mistake cannot be taken back. Of what is asked as a courtesy only a certain no is one.

import { apiVersionOf } from '../api/object.ts'
import { isRecord } from '../api/shape.ts'
import { parseBody, printBody } from '../kube/body.ts'
import { failure, toStatus } from './ruling.ts'
import { type Fields, fieldOf } from './spec.ts'
import type { Facts, Webhook } from './webhooks.ts'

export interface ReviewOptions {
  readonly webhook: Webhook
  /** Undefined while the world is not known yet: then every question about it is answered with "try again". */
  readonly facts: () => Facts | undefined
  readonly onError: (error: unknown) => void
}

interface Answer {
  readonly allowed: boolean
  readonly status?: object
  readonly warnings?: readonly string[]
  readonly patch?: string
  readonly patchType?: 'JSONPatch'
}

/** What the API server passes on to its client; more than a screenful helps nobody. */
const warningsMax = 20

export function answerAdmissionReview(body: string, options: ReviewOptions): string {
  const review = recordOf(tryParse(body))
  const request = recordOf(fieldOf(review, 'request'))
  const uid = fieldOf(request, 'uid')
  // A server that speaks the older version understands no other.
  const isOld = fieldOf(review, 'apiVersion') === 'admission.k8s.io/v1beta1'
  return printBody({
    apiVersion: isOld ? 'admission.k8s.io/v1beta1' : 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid: typeof uid === 'string' ? uid : '', ...answerSafely(review, request, options) },
  })
}

function answerSafely(review: Fields, request: Fields, options: ReviewOptions): Answer {
  try {
    const kind = fieldOf(review, 'kind')
    if (kind !== 'AdmissionReview') return badRequest('the body is no AdmissionReview')
    return answer(request, options)
  } catch (error) {
    options.onError(error)
    if (options.webhook.failsOpen) return { allowed: true }
    return no(failure(500, 'InternalError', 'the review failed; the fault is ours and was written down'))
  }
}

function answer(request: Fields, { webhook, facts }: ReviewOptions): Answer {
  const { kind } = webhook
  const subResource = fieldOf(request, 'subResource')
  if (typeof subResource === 'string' && subResource !== '') return { allowed: true }
  const operation = fieldOf(request, 'operation')
  const pair = objectsOf(operation, request)
  if (pair === undefined) return badRequest(`an ${kind.kind} is reviewed when it is created, updated or deleted`)
  const object = pair.next ?? pair.old
  if (!isOfKind(object, webhook)) return badRequest(`expected an ${kind.kind} of ${apiVersionOf(kind)}`)
  if (webhook.type === 'mutating') return defaulted(webhook.defaults(object), object)
  const known = facts()
  if (known === undefined) {
    if (webhook.failsOpen) return { allowed: true }
    return no(failure(503, 'ServiceUnavailable', 'the objects of the cluster are still being listed: try again'))
  }
  const ruling = webhook.admit(pair.old, pair.next, known)
  const status = toStatus(ruling, { group: kind.group, kind: kind.kind, name: nameOf(object, request) })
  return {
    allowed: status === undefined,
    ...(status && { status }),
    ...(ruling.warnings.length > 0 && { warnings: ruling.warnings.slice(0, warningsMax) }),
  }
}

interface Pair {
  readonly old: Fields | undefined
  readonly next: Fields | undefined
}

/** Undefined where the operation and what came with it do not go together. */
function objectsOf(operation: unknown, request: Fields): Pair | undefined {
  const [next, old] = [fieldOf(request, 'object'), fieldOf(request, 'oldObject')]
  switch (operation) {
    case 'CREATE':
      return isRecord(next) ? { old: undefined, next } : undefined
    case 'UPDATE':
      return isRecord(next) && isRecord(old) ? { old, next } : undefined
    case 'DELETE':
      return isRecord(old) ? { old, next: undefined } : undefined
    default:
      return undefined
  }
}

function isOfKind(object: Fields | undefined, { kind, failsOpen }: Webhook): boolean {
  if (object === undefined || object.kind !== kind.kind || typeof object.apiVersion !== 'string') return false
  return object.apiVersion === apiVersionOf(kind) || (failsOpen && object.apiVersion.startsWith(`${kind.group}/`))
}

function defaulted(defaults: Fields | undefined, object: Fields | undefined): Answer {
  if (defaults === undefined || !isRecord(object?.spec)) return { allowed: true }
  const operations = Object.entries(defaults).map(([key, value]) => ({ op: 'add', path: `/spec/${key}`, value }))
  return { allowed: true, patchType: 'JSONPatch', patch: Buffer.from(printBody(operations)).toString('base64') }
}

function nameOf(object: Fields | undefined, request: Fields): string {
  const name = fieldOf(recordOf(object?.metadata), 'name') ?? fieldOf(request, 'name')
  return typeof name === 'string' ? name : ''
}

const no = (status: object): Answer => ({ allowed: false, status })
const badRequest = (message: string): Answer => no(failure(400, 'BadRequest', message))

function recordOf(value: unknown): Fields {
  return isRecord(value) ? value : {}
}

function tryParse(body: string): unknown {
  try {
    return parseBody(body)
  } catch {
    return undefined
  }
}

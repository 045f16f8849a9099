// Webhooks as functions from the body of a request to the body of an answer. Whatever arrives is answered: with the uid it
// carried, as far as it carried one, and with a no wherever a yes is not certain. A webhook that fails, that does not know the
// objects of the cluster yet or that takes too long is answered by its failure policy, as if it could not be reached: but in a
// sentence, and before the API server gives up.

import { apiVersionOf } from '../api/object.ts'
import { isRecord } from '../api/shape.ts'
import { showHidden } from '../json.ts'
import { parseBody, printBody } from '../kube/body.ts'
import type { Clock } from '../runtime/clock.ts'
import { failure, type Ruling, toStatus } from './ruling.ts'
import { type Fields, fieldOf } from './spec.ts'
import type { Operation, Webhook, WebhookRequest } from './webhook.ts'

export interface AnswerOptions<F = unknown> {
  readonly webhook: Webhook<F>
  /** Undefined while the caches are not filled. */
  facts(): F | undefined
  /** The client showed that it is an API server. */
  readonly isCallerProven: boolean
  readonly clock: Pick<Clock, 'setTimer'>
  readonly onError: (error: unknown) => void
}

interface Answer {
  readonly allowed: boolean
  readonly status?: object
  readonly warnings?: readonly string[]
  readonly patch?: string
  readonly patchType?: 'JSONPatch'
}

/** What the API server passes on to its client; more than a screenful is not read. */
const warningsMax = 20

/** An answer is given up this long before the API server stops waiting for it; it may still have to cross the network. */
const marginMs = 500

export async function answerAdmissionReview<F>(body: string, options: AnswerOptions<F>): Promise<string> {
  const review = recordOf(tryParse(body))
  const request = recordOf(fieldOf(review, 'request'))
  const uid = fieldOf(request, 'uid')
  // A server that sends the older version understands no other.
  const isOld = fieldOf(review, 'apiVersion') === 'admission.k8s.io/v1beta1'
  return printBody({
    apiVersion: isOld ? 'admission.k8s.io/v1beta1' : 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    response: { uid: typeof uid === 'string' ? uid : '', ...(await answerSafely(review, request, options)) },
  })
}

async function answerSafely<F>(review: Fields, request: Fields, options: AnswerOptions<F>): Promise<Answer> {
  try {
    const kind = fieldOf(review, 'kind')
    if (kind !== 'AdmissionReview') return badRequest('the body is no AdmissionReview')
    return await answer(request, options)
  } catch (error) {
    options.onError(error)
    return byPolicy(options.webhook, 500, 'InternalError', 'the webhook failed; the fault is ours and was written down')
  }
}

async function answer<F>(request: Fields, options: AnswerOptions<F>): Promise<Answer> {
  const { webhook } = options
  const { kind } = webhook
  const subresource = textOf(fieldOf(request, 'subResource'))
  if (subresource !== '' && webhook.subresources?.includes(subresource) !== true) return { allowed: true }
  const asked = toRequest(request, options.isCallerProven)
  if (asked === undefined) return badRequest(`the webhook is asked when an ${kind.kind} is created, updated or deleted`)
  if (!isOfKind(recordOf(asked.next ?? asked.old), webhook)) {
    return badRequest(`expected an ${kind.kind} of ${apiVersionOf(kind)}`)
  }
  const known = options.facts()
  if (known === undefined) {
    const sentence = 'the objects of the cluster are still being listed: try again'
    return byPolicy(webhook, 503, 'ServiceUnavailable', sentence)
  }
  const ruling = await inTime(webhook.answer(asked, known), options)
  if (ruling === 'late') return byPolicy(webhook, 504, 'Timeout', 'the webhook found no answer in time: try again')
  return toAnswer(ruling, asked, webhook)
}

/** As the API server itself would decide, had it got no answer. */
function byPolicy(webhook: Pick<Webhook, 'failurePolicy'>, code: number, reason: string, sentence: string): Answer {
  return webhook.failurePolicy === 'Ignore' ? { allowed: true } : no(failure(code, reason, sentence))
}

/** What comes in too late is dropped; if it fails then, that is still logged. */
async function inTime(
  ruling: Ruling | Promise<Ruling>,
  { webhook, clock, onError }: Pick<AnswerOptions, 'webhook' | 'clock' | 'onError'>,
): Promise<Ruling | 'late'> {
  if (!(ruling instanceof Promise)) return ruling
  let cancel = () => {}
  let isLate = false
  const late = new Promise<'late'>(resolve => {
    cancel = clock.setTimer(webhook.timeoutSeconds * 1_000 - marginMs, () => {
      isLate = true
      resolve('late')
    })
  })
  ruling.catch(error => isLate && onError(error))
  try {
    return await Promise.race([ruling, late])
  } finally {
    cancel()
  }
}

function toAnswer(ruling: Ruling, { name }: WebhookRequest, { type, kind }: Webhook): Answer {
  const status = toStatus(ruling, { group: kind.group, kind: kind.kind, name })
  const patch = (ruling.kind === 'allowed' && ruling.patch) || []
  if (patch.length > 0 && type === 'validating') throw new Error('a validating webhook answered with a patch')
  return {
    allowed: status === undefined,
    ...(status && { status }),
    ...(ruling.warnings.length > 0 && { warnings: ruling.warnings.slice(0, warningsMax).map(showHidden) }),
    ...(patch.length > 0 && { patchType: 'JSONPatch', patch: Buffer.from(printBody(patch)).toString('base64') }),
  }
}

/** Undefined where the operation and what came with it do not go together. */
function toRequest(request: Fields, isCallerProven: boolean): WebhookRequest | undefined {
  const pair = toPair(request)
  if (pair === undefined) return undefined
  const metadata = recordOf(fieldOf(recordOf(pair.next ?? pair.old), 'metadata'))
  const userInfo = recordOf(fieldOf(request, 'userInfo'))
  const groups = fieldOf(userInfo, 'groups')
  return {
    ...pair,
    namespace: textOf(fieldOf(request, 'namespace') ?? fieldOf(metadata, 'namespace')),
    name: textOf(fieldOf(metadata, 'name') ?? fieldOf(request, 'name')),
    userInfo: {
      username: textOf(fieldOf(userInfo, 'username')),
      groups: Array.isArray(groups) ? groups.filter(group => typeof group === 'string') : [],
    },
    isDryRun: fieldOf(request, 'dryRun') === true,
    isCallerProven,
  }
}

interface Pair {
  readonly operation: Operation
  readonly old: Fields | undefined
  readonly next: Fields | undefined
}

function toPair(request: Fields): Pair | undefined {
  const [operation, next, old] = [
    fieldOf(request, 'operation'),
    fieldOf(request, 'object'),
    fieldOf(request, 'oldObject'),
  ]
  switch (operation) {
    case 'CREATE':
      return isRecord(next) ? { operation, old: undefined, next } : undefined
    case 'UPDATE':
      return isRecord(next) && isRecord(old) ? { operation, old, next } : undefined
    case 'DELETE':
      return isRecord(old) ? { operation, old, next: undefined } : undefined
    default:
      return undefined
  }
}

function isOfKind({ kind, apiVersion }: Fields, webhook: Webhook): boolean {
  if (kind !== webhook.kind.kind || typeof apiVersion !== 'string') return false
  if (apiVersion === apiVersionOf(webhook.kind)) return true
  return webhook.versions === 'all' && apiVersion.startsWith(`${webhook.kind.group}/`)
}

const no = (status: object): Answer => ({ allowed: false, status })
const badRequest = (message: string): Answer => no(failure(400, 'BadRequest', message))

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

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

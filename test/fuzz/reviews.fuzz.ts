// AdmissionReviews, to every webhook: each is answered with the uid it came with, none that cannot be read is allowed, and
// what a refusal repeats of the object can be read by another person.

import { answerAdmissionReview } from '../../src/admission/admission-review.ts'
import type { Webhook } from '../../src/admission/webhook.ts'
import { capiWebhooks } from '../../src/controllers/capi/webhooks/webhooks.ts'
import { poolWebhooks } from '../../src/controllers/office/webhooks/webhooks.ts'
import { parseBody } from '../../src/kube/body.ts'
import { realClock } from '../../src/runtime/clock.ts'
import { held } from '../harness/pool-facts.ts'
import { type FuzzTarget, must, mustBeReadable } from './target.ts'

const facts = { ...held('10.0.0.1', 'fd00::/64'), poolOfClaim: () => undefined, addressOfReport: () => undefined }

interface Fields {
  readonly [key: string]: unknown
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function tryParse(text: string): unknown {
  try {
    return parseBody(text)
  } catch {
    return undefined
  }
}

/** A review that says what is done to which object of the kind, as plainly as it can be read. */
function isReadable(review: unknown, { kind }: Webhook): boolean {
  if (!isFields(review) || review.kind !== 'AdmissionReview' || !isFields(review.request)) return false
  const { operation, object, oldObject } = review.request
  const needed = { CREATE: [object], UPDATE: [object, oldObject], DELETE: [oldObject] }[String(operation)]
  if (needed === undefined || !needed.every(isFields)) return false
  const [subject] = needed
  return isFields(subject) && subject.kind === kind.kind && String(subject.apiVersion).startsWith(`${kind.group}/`)
}

const isOfSubresource = (review: unknown): boolean =>
  isFields(review) && isFields(review.request) && Boolean(review.request.subResource)

async function check(webhook: Webhook<typeof facts>, body: string): Promise<void> {
  const errors: unknown[] = []
  const answer = JSON.parse(
    await answerAdmissionReview(body, {
      webhook,
      facts: () => facts,
      isCallerProven: false,
      clock: realClock,
      onError: error => errors.push(error),
    }),
  )
  const review = tryParse(body)
  const { uid, allowed, status, warnings = [], patch } = answer.response
  const sent = isFields(review) && isFields(review.request) ? review.request.uid : undefined
  must(uid === (typeof sent === 'string' ? sent : ''), 'the uid comes back')
  must(typeof allowed === 'boolean' && allowed === (status === undefined), 'a no has a reason, a yes has none')
  must(allowed !== true || isReadable(review, webhook) || isOfSubresource(review), 'what cannot be read is refused')
  must(patch === undefined || webhook.type === 'mutating', 'only a mutating webhook changes anything')
  must(errors.length === 0, `no webhook fails: ${errors.map(String).join()}`)
  const causes: { message: string }[] = status?.details?.causes ?? []
  for (const sentence of [...warnings, ...causes.map(({ message }) => message), status?.message ?? '']) {
    mustBeReadable(sentence)
  }
}

const pool = (kind: string, spec: object, group = 'ipam.cluster.x-k8s.io/v1alpha2') => ({
  apiVersion: group,
  kind,
  metadata: { name: 'vms', namespace: 'lab', uid: 'p-1' },
  spec,
})

const review = (request: object): string =>
  JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request: { uid: 'u-1', ...request } })

const inCluster = pool('InClusterIPPool', { addresses: ['10.0.0.0/24'], prefix: 24, gateway: '10.0.0.1' })
const wrong = pool('InClusterIPPool', { addresses: Array(3_000).fill('\u202e10.0.0.300'), prefix: '\u0007' })
const own = { strategy: 'random', space: '\u2066', preAllocations: { '\u202e': 'x' }, quota: { perNamespace: -1 } }

export const admissionReviews: FuzzTarget = {
  name: 'AdmissionReviews',
  corpus: [
    review({ operation: 'CREATE', object: inCluster }),
    review({ operation: 'UPDATE', object: wrong, oldObject: inCluster, dryRun: true }),
    review({ operation: 'DELETE', oldObject: inCluster, object: null }),
    review({ operation: 'CREATE', object: pool('AddressPool', { ...inCluster.spec, ...own }, 'mooring.dev/v1alpha1') }),
    review({ operation: 'CREATE', object: pool('InClusterPrefixPool', { prefixes: ['fd00::/48'] }) }),
    review({
      operation: 'UPDATE',
      object: pool('IPAddressClaim', { poolRef: { name: '\u202e' } }, 'ipam.cluster.x-k8s.io/v1beta2'),
      oldObject: pool('IPAddressClaim', {}, 'ipam.cluster.x-k8s.io/v1beta2'),
    }),
    review({ operation: 'CREATE', object: pool('IPAddress', { address: '10' }, 'ipam.cluster.x-k8s.io/v1beta2') }),
    review({ operation: 'CONNECT', subResource: 'status' }),
    '{"kind":"AdmissionReview","request":{"uid":"\\ud800","operation":"CREATE","object":[]}}',
    'null',
    '{"apiVersion":"admission.k8s.io/v1beta1"}',
  ],
  dictionary: ['"CREATE"', '"DELETE"', '"object":', 'null', '{}', '[]', '9007199254740993', '\u202e', '\\u0000', '-1'],
  async run(input) {
    const body = input.toString('utf8')
    for (const webhook of [...poolWebhooks, ...capiWebhooks]) await check(webhook, body)
  },
}

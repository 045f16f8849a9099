// Webhooks asked as the API server asks them, but by a call.

import fc from 'fast-check'
import { expect } from 'vitest'
import { answerAdmissionReview } from '../../src/admission/admission-review.ts'
import type { Webhook } from '../../src/admission/webhook.ts'
import { type Clock, realClock } from '../../src/runtime/clock.ts'

interface Answer {
  readonly apiVersion: string
  readonly kind: string
  readonly response: {
    readonly uid: string
    readonly allowed: boolean
    readonly status?: { readonly code: number; readonly message: string; readonly reason: string }
    readonly warnings?: readonly string[]
    readonly patch?: string
    readonly patchType?: string
  }
}

export interface AskOptions<F> {
  readonly webhook: Webhook<F>
  readonly facts: () => F | undefined
  /** Unless the test says otherwise, the client has proved nothing. */
  readonly isCallerProven?: boolean
  readonly clock?: Clock
  readonly onError?: (error: unknown) => void
}

/** A body as it is, or an object to be printed. Unless the test says otherwise, no webhook may fail. */
export async function ask<F>(body: unknown, options: AskOptions<F>): Promise<Answer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const { clock = realClock, isCallerProven = false, onError = fail } = options
  return JSON.parse(await answerAdmissionReview(text, { ...options, clock, isCallerProven, onError }))
}

function fail(error: unknown): never {
  throw error
}

export const admissionReview = (request: object, apiVersion = 'admission.k8s.io/v1') => ({
  apiVersion,
  kind: 'AdmissionReview',
  request: { uid: 'u-1', ...request },
})

export function patchIn({ response }: Answer): unknown {
  return JSON.parse(Buffer.from(response.patch ?? '', 'base64').toString())
}

/** Whatever the specs look like, each is answered with its uid, without a fault of ours, and a no with a sentence. */
export async function expectAnswers<F>(
  webhooks: readonly Webhook<F>[],
  spec: fc.Arbitrary<object>,
  facts: () => F,
): Promise<void> {
  const operations = fc.constantFrom('CREATE', 'UPDATE', 'DELETE', 'CONNECT', '')
  const asked = fc.record({ webhook: fc.constantFrom(...webhooks), uid: fc.string(), operation: operations })
  await fc.assert(
    fc.asyncProperty(asked, spec, spec, fc.jsonValue(), async ({ webhook, uid, operation }, next, old, metadata) => {
      const errors: unknown[] = []
      const { group, version, kind } = webhook.kind
      const object = (spec: object) => ({ apiVersion: `${group}/${version}`, kind, metadata, spec })
      const body = admissionReview({ uid, operation, object: object(next), oldObject: object(old) })
      const { response } = await ask(body, { webhook, facts, onError: error => errors.push(error) })
      expect(response.uid).toBe(uid)
      expect(errors).toEqual([])
      if (!response.allowed) expect(response.status?.message).not.toBe('')
    }),
    { numRuns: 500 },
  )
}

const entry = fc.oneof(
  fc.constantFrom('10.0.0.1', '10.0.0.0/24', 'fd00::/64', 'fd00::1-fd00::9', '10.0.0.9-10.0.0.1', '::', '-', '/'),
  fc.string(),
)

/** Specs of pools and of addresses, as wrong as they can be. */
export const anySpec = fc.record(
  {
    addresses: fc.oneof(fc.array(entry, { maxLength: 5 }), fc.jsonValue()),
    prefixes: fc.oneof(fc.array(entry, { maxLength: 5 }), fc.jsonValue()),
    prefix: fc.oneof(fc.integer(), fc.jsonValue()),
    allocationPrefixLength: fc.oneof(fc.integer({ min: -1, max: 130 }), fc.jsonValue()),
    gateway: fc.oneof(entry, fc.jsonValue()),
    excludedAddresses: fc.oneof(fc.array(entry, { maxLength: 3 }), fc.jsonValue()),
    preAllocations: fc.oneof(fc.dictionary(fc.string(), entry), fc.jsonValue()),
    draining: fc.jsonValue(),
    quota: fc.jsonValue(),
    space: fc.jsonValue(),
    allowedNamespaces: fc.jsonValue(),
    address: fc.oneof(entry, fc.jsonValue()),
    poolRef: fc.jsonValue(),
    claimRef: fc.jsonValue(),
  },
  { requiredKeys: [] },
)

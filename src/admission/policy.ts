// What the API server judges by itself, in CEL, and fails closed: a ValidatingAdmissionPolicy. A server that keeps policies but
// does not evaluate them, as the embedded one, asks a webhook instead, under the same conditions.

import type { VersionedKind } from '../api/object.ts'
import type { MatchCondition } from './match-conditions.ts'
import type { Operation, Webhook } from './webhook.ts'

export interface Policy {
  /** One word or two, for the names of all that is made from it. */
  readonly name: string
  readonly kind: VersionedKind
  readonly operations: readonly Operation[]
  /** Subresources whose writes it judges too. */
  readonly subresources?: readonly string[]
  /** It says something about a request only where all of them are true. */
  readonly matchConditions: readonly MatchCondition[]
  /** CEL: such a request is allowed if this is true. It may ask the `authorizer`. */
  readonly allowedIf: string
  /** One sentence for the user who is refused. */
  readonly message: string
}

/** It need not be asked to know the answer: it is asked only about what is refused. */
export function standInFor(policy: Policy): Webhook {
  const { name, kind, operations, subresources, matchConditions, allowedIf, message } = policy
  return {
    type: 'validating',
    kind,
    name: `${name}.mooring.dev`,
    path: `/validate-mooring-dev-${name}`,
    operations,
    ...(subresources && { subresources }),
    versions: 'all',
    failurePolicy: 'Fail',
    timeoutSeconds: 10,
    matchConditions: [...matchConditions, { name: 'user-may-not', expression: `!(${allowedIf})` }],
    isStandIn: true,
    policy,
    answer: () => ({ kind: 'denied', message, warnings: [] }),
  }
}

// What the API server judges by itself, in CEL, and fails closed: a ValidatingAdmissionPolicy. A server that keeps policies but
// does not evaluate them, as the embedded one, asks a webhook instead, under the same conditions.

import type { VersionedKind } from '../api/object.ts'
import type { MatchCondition } from './match-conditions.ts'
import { ruleFor } from './registration.ts'
import type { Operation, Webhook } from './webhook.ts'

export interface Policy {
  /** One word or two, for the names of all that is made from it. */
  readonly name: string
  readonly kind: VersionedKind
  readonly operations: readonly Operation[]
  /** It says something about a request only where all of them are true. */
  readonly matchConditions: readonly MatchCondition[]
  /** CEL: such a request is allowed if this is true. It may ask the `authorizer`. */
  readonly allowedIf: string
  /** One sentence for the user who is refused. */
  readonly message: string
}

/** It need not be asked to know the answer: it is asked only about what is refused. */
export function standInFor(policy: Policy): Webhook {
  const { name, kind, operations, matchConditions, allowedIf, message } = policy
  return {
    type: 'validating',
    kind,
    name: `${name}.mooring.dev`,
    path: `/validate-mooring-dev-${name}`,
    operations,
    versions: 'all',
    failurePolicy: 'Fail',
    timeoutSeconds: 10,
    matchConditions: [...matchConditions, { name: 'user-may-not', expression: `!(${allowedIf})` }],
    isStandIn: true,
    policy,
    answer: () => ({ kind: 'denied', message, warnings: [] }),
  }
}

export interface PolicyOptions {
  /** Names begin with it. */
  readonly namePrefix: string
  readonly labels: Readonly<Record<string, string>>
}

/** Each policy, and the binding that puts it into force in every namespace. */
export function toPolicies(webhooks: readonly Webhook[], { namePrefix, labels }: PolicyOptions) {
  return webhooks.flatMap(webhook => {
    if (webhook.policy === undefined) return []
    const { name: short, matchConditions, allowedIf, message } = webhook.policy
    const name = `${namePrefix}${short}`
    const apiVersion = 'admissionregistration.k8s.io/v1'
    return [
      {
        apiVersion,
        kind: 'ValidatingAdmissionPolicy',
        metadata: { name, labels },
        spec: {
          failurePolicy: 'Fail',
          matchConstraints: { matchPolicy: 'Equivalent', resourceRules: [ruleFor(webhook)] },
          matchConditions,
          validations: [{ expression: allowedIf, message, reason: 'Forbidden' }],
        },
      },
      {
        apiVersion,
        kind: 'ValidatingAdmissionPolicyBinding',
        metadata: { name, labels },
        spec: { policyName: name, validationActions: ['Deny'] },
      },
    ]
  })
}

// The ValidatingAdmissionPolicies of the webhooks that stand in for one, and their bindings.

import { ruleFor } from '../../src/admission/registration.ts'
import type { Webhook } from '../../src/admission/webhook.ts'

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

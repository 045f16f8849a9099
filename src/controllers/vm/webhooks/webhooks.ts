// What the API server asks about virtual machines, launcher pods and IPAMClaims.

import { annotationChanges, isCreated, specChanges } from '../../../admission/match-conditions.ts'
import { standInFor } from '../../../admission/policy.ts'
import type { Ruling } from '../../../admission/ruling.ts'
import type { Operation, Webhook, WebhookRequest } from '../../../admission/webhook.ts'
import { launcherLabel, networksAnnotation } from '../../../api/names.ts'
import type { VersionedKind } from '../../../api/object.ts'
import { virtualMachineInstanceKind, virtualMachineKind } from '../../../api/virtual-machine.ts'
import type { VMFacts } from '../facts.ts'
import { keepIPs } from './ips.ts'
import { judgeInstance, judgeVM } from './machine.ts'
import { nodeClaims } from './nodes.ts'
import { nameClaims } from './pod.ts'

export const vmWebhooks: readonly Webhook<VMFacts>[] = [
  {
    type: 'mutating',
    kind: { group: '', version: 'v1', kind: 'Pod', plural: 'pods', isNamespaced: true },
    name: 'claims.pods.mooring.dev',
    path: '/mutate-mooring-dev-pod-claims',
    operations: ['CREATE', 'UPDATE'],
    // A pod without its claim would run with addresses that do not last: it is made when Mooring answers again.
    failurePolicy: 'Fail',
    timeoutSeconds: 5,
    objectSelector: { matchLabels: { [launcherLabel]: 'virt-launcher' } },
    // Pods are written often, and their networks hardly ever.
    matchConditions: [
      { name: 'networks-change', expression: `${isCreated} || ${annotationChanges(networksAnnotation)}` },
    ],
    // Another webhook may add networks.
    reinvocationPolicy: 'IfNeeded',
    answer: (request, facts) => nameClaims(request, facts),
  },
  judging(virtualMachineKind, ['CREATE', 'UPDATE'], judgeVM),
  judging(virtualMachineInstanceKind, ['CREATE'], judgeInstance),
  standInFor(keepIPs),
  standInFor(nodeClaims),
]

/** What is wrong is told where it is written. While Mooring does not answer, it is told by the webhook on pods, and by the claim. */
function judging(
  kind: VersionedKind,
  operations: readonly Operation[],
  answer: (request: WebhookRequest, facts: VMFacts) => Ruling,
): Webhook<VMFacts> {
  const plural = kind.kind.toLowerCase()
  return {
    type: 'validating',
    kind,
    name: `requests.${plural}.mooring.dev`,
    path: `/validate-mooring-dev-${plural}-requests`,
    operations,
    failurePolicy: 'Ignore',
    timeoutSeconds: 5,
    matchConditions: [{ name: 'spec-changes', expression: `${isCreated} || ${specChanges}` }],
    answer,
  }
}

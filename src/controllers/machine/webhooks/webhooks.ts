// What the API server asks about Machines and the sets that make them: the network of a vSphere provider spec, which nothing else checks.
// Where no webhook answers, requests go on: the platform makes and replaces Machines whether Mooring is there or not, and what is wrong
// is then said in the condition of the Machine. What did not change is not judged: a Machine that is wrong must be deletable.

import type { MatchCondition } from '../../../admission/match-conditions.ts'
import { isCreated, specChanges } from '../../../admission/match-conditions.ts'
import { allowed, type Ruling } from '../../../admission/ruling.ts'
import { isSameSpec, recordIn, specOf } from '../../../admission/spec.ts'
import { validatingWebhook, type Webhook } from '../../../admission/webhook.ts'
import { machineKind, providerSpecPath } from '../../../api/machine.ts'
import { controlPlaneMachineSetKind, controlPlaneTemplateField, machineSetKind } from '../../../api/machine-set.ts'
import type { VersionedKind } from '../../../api/object.ts'
import { vsphereProviderSpecKind } from '../../../api/vsphere-provider-spec.ts'
import { type JudgedFor, judgeProviderSpec } from './provider-spec.ts'

/** The names of the machine API's own are taken: both are asked where both are installed. */
const suffix = 'mooring.dev'

export const machineWebhooks: readonly Webhook<unknown>[] = [
  validating(machineKind, [], 'machine'),
  validating(machineSetKind, ['template', 'spec'], 'set'),
  validating(controlPlaneMachineSetKind, ['template', controlPlaneTemplateField, 'spec'], 'control plane'),
]

/** `path`: from `spec` to what has the provider spec. */
function validating(kind: VersionedKind, path: readonly string[], judgedFor: JudgedFor): Webhook<unknown> {
  const webhook = validatingWebhook<unknown>(kind, ({ old, next }) => judge(old, next, path, judgedFor))
  return {
    ...webhook,
    name: `network.${kind.kind.toLowerCase()}.${suffix}`,
    operations: ['CREATE', 'UPDATE'],
    failurePolicy: 'Ignore',
    matchConditions: [isOfVSphere(path), { name: 'is-new-or-changes', expression: `${isCreated} || ${specChanges}` }],
  }
}

function isOfVSphere(path: readonly string[]): MatchCondition {
  const fields = ['spec', ...path, 'providerSpec', 'value', 'kind']
  const paths = fields.map((_, i) => `object.${fields.slice(0, i + 1).join('.')}`)
  const isThere = paths.map(one => `has(${one})`).join(' && ')
  return { name: 'is-of-vsphere', expression: `${isThere} && ${paths.at(-1)} == '${vsphereProviderSpecKind}'` }
}

export function judge(old: unknown, next: unknown, path: readonly string[], judgedFor: JudgedFor): Ruling {
  if (old !== undefined && isSameSpec(old, next)) return allowed()
  let at = specOf(next)
  for (const field of path) at = recordIn(at, field)
  const value = recordIn(recordIn(at, 'providerSpec'), 'value')
  if (value.kind !== vsphereProviderSpecKind) return allowed()
  const { faults, warnings } = judgeProviderSpec(value, providerSpecPath, judgedFor)
  return faults.length === 0 ? allowed(warnings) : { kind: 'invalid', faults, warnings }
}

// Whether the API server still judges a policy as this version brings it. A policy that was changed or removed does not show:
// what it refused just passes.

import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '../api/shape.ts'
import type { Policy } from './policy.ts'
import { type Fields, fieldOf, recordIn } from './spec.ts'

/** ValidatingAdmissionPolicies and their bindings as they are stored. */
export interface RegisteredPolicies {
  readonly policies: readonly unknown[]
  readonly bindings: readonly unknown[]
}

/** Undefined where one is as it should be. The names of policies begin as the installation wants it. */
export function wrongWithPolicy(
  { name }: Policy,
  wanted: Fields,
  { policies, bindings }: RegisteredPolicies,
): string | undefined {
  const same = policies.filter(isRecord).filter(stored => nameOf(stored).endsWith(name))
  if (same.length === 0) return 'has a policy in its place, which is not there'
  const bound = same.filter(stored => bindings.filter(isRecord).some(binding => isInForce(binding, nameOf(stored))))
  if (bound.length === 0) return 'has a policy in its place, which no binding puts into force everywhere'
  const changes = bound.map(stored => changedFields(wanted, recordIn(stored, 'spec')))
  const [first = []] = changes
  if (changes.some(fields => fields.length === 0)) return undefined
  return `has a policy in its place, with another ${first.join(', ')}`
}

/** Names of the policies that are this one, of whichever installation, and refuse something. */
export function policiesInForce({ name }: Policy, { policies, bindings }: RegisteredPolicies): string[] {
  const names = policies.filter(isRecord).map(nameOf)
  return names.filter(one => one.endsWith(name) && bindings.filter(isRecord).some(binding => refuses(binding, one)))
}

function nameOf(object: Fields): string {
  const name = fieldOf(recordIn(object, 'metadata'), 'name')
  return typeof name === 'string' ? name : ''
}

function refuses(binding: Fields, policy: string): boolean {
  const spec = recordIn(binding, 'spec')
  const actions = fieldOf(spec, 'validationActions')
  return fieldOf(spec, 'policyName') === policy && Array.isArray(actions) && actions.includes('Deny')
}

/** In every namespace, and as a refusal. */
function isInForce(binding: Fields, policy: string): boolean {
  const spec = recordIn(binding, 'spec')
  const isNarrowed = fieldOf(spec, 'matchResources') !== undefined || fieldOf(spec, 'paramRef') !== undefined
  return refuses(binding, policy) && !isNarrowed
}

const compared = ['failurePolicy', 'matchConstraints', 'matchConditions', 'validations', 'paramKind', 'variables']

function changedFields(wanted: Fields, stored: Fields): string[] {
  return compared.filter(field => !isDeepStrictEqual(whole(wanted, field), whole(stored, field)))
}

/** With what the API server fills in where it is left out. */
function whole(spec: Fields, field: string): unknown {
  const value = fieldOf(spec, field)
  if (field !== 'matchConstraints') return value
  return { namespaceSelector: {}, objectSelector: {}, ...recordIn(spec, field) }
}

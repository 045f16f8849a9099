// What the account of the controller may do everywhere, asked for in one request instead of one for each permission. It only says
// yes: an API server may leave out what it knows by other means than roles, so what is not found here is asked for by itself.

import type { Client } from '../kube/client.ts'
import { defineKind, type KubeObject } from '../kube/object.ts'
import type { SinglePermission } from './permissions.ts'

export interface Rule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
}

/** No namespace can have this name, so no role of a namespace is among the answers. */
const nowhere = '-'

/** Empty where the API server does not say. */
export async function rulesEverywhere(client: Pick<Client, 'create'>): Promise<readonly Rule[]> {
  try {
    const { status } = await client.create(rulesReviews, {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectRulesReview',
      metadata: {},
      spec: { namespace: nowhere },
    })
    return status?.resourceRules ?? []
  } catch {
    // Each permission is asked for by itself then, and that tells what is wrong.
    return []
  }
}

export function allows(rules: readonly Rule[], permission: SinglePermission): boolean {
  const { verb, group, resource, subresource, name } = permission
  const isEverything = (listed: readonly string[] | undefined) => listed === undefined || listed.length === 0
  const whole = subresource ? `${resource}/${subresource}` : resource
  return rules.some(
    ({ verbs, apiGroups = [], resources = [], resourceNames }) =>
      has(verbs, verb) &&
      has(apiGroups, group) &&
      (has(resources, whole) || (subresource !== undefined && resources.includes(`*/${subresource}`))) &&
      (isEverything(resourceNames) || (name !== undefined && resourceNames?.includes(name) === true)),
  )
}

const has = (listed: readonly string[], wanted: string): boolean => listed.includes(wanted) || listed.includes('*')

interface RulesReview extends KubeObject {
  readonly spec: object
  readonly status?: { readonly resourceRules?: readonly Rule[] }
}

const rulesReviews = defineKind<RulesReview>({
  group: 'authorization.k8s.io',
  versions: ['v1'],
  plural: 'selfsubjectrulesreviews',
  kind: 'SelfSubjectRulesReview',
  namespaced: false,
})

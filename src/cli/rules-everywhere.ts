// What the account of the controller may do everywhere, asked for in one request instead of one for each permission. It only says
// yes: an API server may leave out what it knows by other means than roles, so what is not found here is asked for by itself.

import { type PolicyRule, allows as ruleAllows } from '../apiserver/authz/rule.ts'
import type { Client } from '../kube/client.ts'
import { defineKind, type KubeObject } from '../kube/object.ts'
import type { SinglePermission } from './permissions.ts'

/** No namespace can have this name, so no role of a namespace is among the answers. */
const nowhere = '-'

/** Empty where the API server does not say. */
export async function rulesEverywhere(client: Pick<Client, 'create'>): Promise<readonly PolicyRule[]> {
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

export function allows(rules: readonly PolicyRule[], permission: SinglePermission): boolean {
  const { verb, group, resource, subresource = '', name = '', namespace } = permission
  const asked = { type: 'resource', verb, group, version: '*', resource, subresource, namespace, name } as const
  return rules.some(rule => ruleAllows(rule, asked))
}

interface RulesReview extends KubeObject {
  readonly spec: object
  readonly status?: { readonly resourceRules?: readonly PolicyRule[] }
}

const rulesReviews = defineKind<RulesReview>({
  group: 'authorization.k8s.io',
  versions: ['v1'],
  plural: 'selfsubjectrulesreviews',
  kind: 'SelfSubjectRulesReview',
  namespaced: false,
})

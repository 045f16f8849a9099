// A user may not grant permissions that they do not have. Writing a role needs every permission in it, or the
// `escalate` verb on it; writing a binding needs every permission of the role it binds, or the `bind` verb on that
// role. Without this rule the permission to edit roles would be the permission to do everything.

import { rolePermissionsMax } from '../../limits.ts'
import type { UserInfo } from '../authn/user.ts'
import { mastersGroup } from '../authn/user.ts'
import { quote } from '../faults.ts'
import type { KubeObject } from '../object.ts'
import { clone, equal } from '../object.ts'
import type { StatusError } from '../status.ts'
import { forbidden, notFound } from '../status.ts'
import { hasAggregation } from './aggregation.ts'
import type { RBAC } from './rbac.ts'
import { readRoleReference } from './rbac.ts'
import type { PolicyRule } from './rule.ts'
import { describeRule, quoteList, readRules, uncovered } from './rule.ts'

export interface RoleWrite {
  readonly user: UserInfo
  /** Empty for cluster roles and cluster role bindings. */
  readonly namespace: string
  readonly object: KubeObject
  /** Undefined when the object is being created. */
  readonly old?: KubeObject | undefined
}

const group = 'rbac.authorization.k8s.io'
const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

/** A 403 to answer with, or undefined: the user may write this Role or ClusterRole. */
export function checkRoleEscalation(rbac: RBAC, write: RoleWrite): StatusError | undefined {
  const { user, namespace, object, old } = write
  const resource = object.kind === 'ClusterRole' ? 'clusterroles' : 'roles'
  const name = object.metadata.name ?? ''
  // A creation names no existing object, so `escalate` limited to names cannot allow it.
  const requestName = old === undefined ? '' : name
  if (isMaster(user) || may(rbac, user, 'escalate', resource, namespace, requestName)) return undefined
  if (old !== undefined && changesOnlyWhatGarbageCollectionChanges(object, old)) return undefined

  const refusal = refusalToGrant(rbac, user, namespace, readRules(object.rules))
  if (refusal !== undefined) return forbidden({ group, plural: resource }, name, refusal)
  if (resource !== 'clusterroles' || !(hasAggregation(object) || hasAggregation(old))) return undefined
  if (refusalToGrant(rbac, user, namespace, everything) === undefined) return undefined
  const why = 'must have cluster-admin privileges to use the aggregationRule'
  return forbidden({ group, plural: resource }, name, why)
}

/** A 403 (or a 404 for a role that does not exist), or undefined: the user may write this binding. */
export function checkBindingEscalation(rbac: RBAC, write: RoleWrite): StatusError | undefined {
  const { user, namespace, object, old } = write
  if (isMaster(user)) return undefined
  if (old !== undefined && changesOnlyWhatGarbageCollectionChanges(object, old)) return undefined
  const reference = readRoleReference(object)
  const roles = reference.kind === 'ClusterRole' ? 'clusterroles' : 'roles'
  if (may(rbac, user, 'bind', roles, namespace, reference.name)) return undefined

  const resource = object.kind === 'ClusterRoleBinding' ? 'clusterrolebindings' : 'rolebindings'
  const rules = rbac.rulesOf(reference, namespace)
  // The role is missing, yet kube-apiserver names the binding's resource; clients see the same words here.
  if (rules === undefined) return notFound({ group, plural: resource }, reference.name)
  const refusal = refusalToGrant(rbac, user, namespace, rules)
  if (refusal === undefined) return undefined
  return forbidden({ group, plural: resource }, object.metadata.name ?? '', refusal)
}

function isMaster(user: UserInfo): boolean {
  return user.groups.includes(mastersGroup)
}

function may(rbac: RBAC, user: UserInfo, verb: string, resource: string, namespace: string, name: string): boolean {
  return rbac.authorize(user, {
    type: 'resource',
    verb,
    group,
    version: '*',
    resource,
    subresource: '',
    namespace,
    name,
  }).allowed
}

function refusalToGrant(
  rbac: RBAC,
  user: UserInfo,
  namespace: string,
  rules: readonly PolicyRule[],
): string | undefined {
  const held = rbac.rulesFor(user, namespace)
  const missing = uncovered(held.rules, rules, rolePermissionsMax)
  const subject = `user ${quote(user.username)} (groups=${quoteList(user.groups)})`
  if (missing === undefined)
    return `${subject} is attempting to grant more than ${rolePermissionsMax} RBAC permissions at once`
  if (missing.length === 0) return undefined
  const lines = [...new Set(missing.map(describeRule))].sort()
  const problems = held.problems.length > 0 ? `; resolution errors: [${held.problems.join(' ')}]` : ''
  return `${subject} is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}${problems}`
}

/** The garbage collector edits owners and finalizers of everything, and holds none of the permissions inside. */
function changesOnlyWhatGarbageCollectionChanges(object: KubeObject, old: KubeObject): boolean {
  const compared = [object, old].map(original => {
    const copy = clone(original)
    delete copy.metadata.ownerReferences
    delete copy.metadata.finalizers
    delete copy.metadata.managedFields
    return copy
  })
  return equal(compared[0], compared[1])
}

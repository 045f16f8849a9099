// The RBAC authorizer: roles and bindings, indexed by subject, so that a decision looks only at the bindings of the
// user that asks, whether the cluster has ten bindings or ten thousand. Objects are added and removed one by one as
// they change; the index is never rebuilt.
//
// Rules only add permissions; there is no rule that forbids. A binding to a role that does not exist allows nothing and
// is named in the refusal, because it is the likely cause.

import type { UserInfo } from '../authn/user.ts'
import { mastersGroup, serviceAccountUser } from '../authn/user.ts'
import { quote } from '../faults.ts'
import type { KubeObject } from '../object.ts'
import { isObject } from '../object.ts'
import type { Attributes, Authorize, Decision } from './attributes.ts'
import type { PolicyRule } from './rule.ts'
import { allows, readRules } from './rule.ts'

export interface RoleReference {
  readonly kind: string
  readonly name: string
}

export interface HeldRules {
  readonly rules: readonly PolicyRule[]
  /** Bindings to roles that do not exist. */
  readonly problems: readonly string[]
}

export interface RBAC {
  /** Takes note of a Role, ClusterRole, RoleBinding or ClusterRoleBinding, new or changed. Other kinds are ignored. */
  keep(object: KubeObject): void
  forget(object: KubeObject): void
  readonly authorize: Authorize
  /** Everything the user may do in a namespace; with an empty one, everywhere. */
  rulesFor(user: UserInfo, namespace: string): HeldRules
  /** The rules of a role; undefined when it does not exist. */
  rulesOf(reference: RoleReference, namespace: string): readonly PolicyRule[] | undefined
  clusterRoles(): Iterable<KubeObject>
}

interface Grant {
  readonly role: RoleReference
  /** Where the role is looked up, and where its rules hold; empty for everywhere. */
  readonly namespace: string
  /** `ClusterRoleBinding "x" of ClusterRole "y" to User "z"` */
  readonly description: string
}

/** Subject -> binding -> grant. A binding may name a subject twice; the first mention counts. */
type Grants = Map<string, Map<string, Grant>>

export function createRBAC(): RBAC {
  const clusterRoles = new Map<string, { object: KubeObject; rules: readonly PolicyRule[] }>()
  const roles = new Map<string, readonly PolicyRule[]>()
  const subjectsOf = new Map<string, ReadonlySet<string>>()
  const clusterGrants: Grants = new Map()
  const localGrants = new Map<string, Grants>()

  function keep(object: KubeObject): void {
    const { name = '', namespace = '' } = object.metadata
    switch (object.kind) {
      case 'ClusterRole':
        clusterRoles.set(name, { object, rules: readRules(object.rules) })
        return
      case 'Role':
        roles.set(`${namespace}/${name}`, readRules(object.rules))
        return
      case 'ClusterRoleBinding':
      case 'RoleBinding':
        unbind(object)
        bind(object)
    }
  }

  function forget(object: KubeObject): void {
    const { name = '', namespace = '' } = object.metadata
    switch (object.kind) {
      case 'ClusterRole':
        clusterRoles.delete(name)
        return
      case 'Role':
        roles.delete(`${namespace}/${name}`)
        return
      case 'ClusterRoleBinding':
      case 'RoleBinding':
        unbind(object)
    }
  }

  function grantsOf(object: KubeObject): Grants {
    if (object.kind === 'ClusterRoleBinding') return clusterGrants
    const namespace = object.metadata.namespace ?? ''
    const existing = localGrants.get(namespace)
    if (existing) return existing
    const made: Grants = new Map()
    localGrants.set(namespace, made)
    return made
  }

  function bind(object: KubeObject): void {
    const grants = grantsOf(object)
    const { name = '' } = object.metadata
    const namespace = object.kind === 'RoleBinding' ? (object.metadata.namespace ?? '') : ''
    const role = readRoleReference(object)
    const keys = new Set<string>()
    for (const subject of readSubjects(object)) {
      const key = subjectKey(subject, namespace)
      if (key === undefined || keys.has(key)) continue
      keys.add(key)
      const shownName = object.kind === 'RoleBinding' ? `${name}/${namespace}` : name
      const of = `${object.kind} ${quote(shownName)} of ${role.kind} ${quote(role.name)}`
      const bindings = grants.get(key) ?? new Map<string, Grant>()
      bindings.set(name, { role, namespace, description: `${of} to ${describeSubject(subject, namespace)}` })
      grants.set(key, bindings)
    }
    subjectsOf.set(bindingKey(object), keys)
  }

  function unbind(object: KubeObject): void {
    const { name = '', namespace = '' } = object.metadata
    const grants = grantsOf(object)
    for (const key of subjectsOf.get(bindingKey(object)) ?? []) {
      const bindings = grants.get(key)
      bindings?.delete(name)
      if (bindings?.size === 0) grants.delete(key)
    }
    subjectsOf.delete(bindingKey(object))
    if (object.kind === 'RoleBinding' && grants.size === 0) localGrants.delete(namespace)
  }

  function rulesOf(reference: RoleReference, namespace: string): readonly PolicyRule[] | undefined {
    if (reference.kind === 'ClusterRole') return clusterRoles.get(reference.name)?.rules
    if (reference.kind === 'Role') return roles.get(`${namespace}/${reference.name}`)
    return undefined
  }

  function* grantsFor(user: UserInfo, namespace: string): Generator<Grant> {
    const subjects = [`user ${user.username}`, ...user.groups.map(group => `group ${group}`)]
    const local = namespace === '' ? undefined : localGrants.get(namespace)
    for (const grants of local ? [clusterGrants, local] : [clusterGrants]) {
      for (const subject of subjects) yield* grants.get(subject)?.values() ?? []
    }
  }

  function authorize(user: UserInfo, attributes: Attributes): Decision {
    if (user.groups.includes(mastersGroup)) return { allowed: true, reason: '' }
    const problems = new Set<string>()
    for (const grant of grantsFor(user, attributes.type === 'resource' ? attributes.namespace : '')) {
      const rules = rulesOf(grant.role, grant.namespace)
      if (rules === undefined) problems.add(missing(grant.role))
      else if (rules.some(rule => allows(rule, attributes))) {
        return { allowed: true, reason: `RBAC: allowed by ${grant.description}` }
      }
    }
    return { allowed: false, reason: problems.size === 0 ? '' : `RBAC: ${together([...problems])}` }
  }

  function rulesFor(user: UserInfo, namespace: string): HeldRules {
    const rules: PolicyRule[] = []
    const problems = new Set<string>()
    for (const grant of grantsFor(user, namespace)) {
      const found = rulesOf(grant.role, grant.namespace)
      if (found === undefined) problems.add(missing(grant.role))
      else rules.push(...found)
    }
    return { rules, problems: [...problems] }
  }

  function* allClusterRoles(): Generator<KubeObject> {
    for (const { object } of clusterRoles.values()) yield object
  }

  return { keep, forget, authorize, rulesFor, rulesOf, clusterRoles: allClusterRoles }
}

export function together(problems: readonly string[]): string {
  return problems.length === 1 ? `${problems[0]}` : `[${problems.join(', ')}]`
}

function missing({ kind, name }: RoleReference): string {
  if (kind !== 'Role' && kind !== 'ClusterRole') return `unsupported role reference kind: ${quote(kind)}`
  return `${kind.toLowerCase()}.rbac.authorization.k8s.io ${quote(name)} not found`
}

function bindingKey({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.namespace ?? ''}/${metadata.name ?? ''}`
}

interface Subject {
  readonly kind: string
  readonly name: string
  readonly namespace: string
}

function readSubjects({ subjects }: KubeObject): Subject[] {
  if (!Array.isArray(subjects)) return []
  return subjects.filter(isObject).map(subject => ({
    kind: textOf(subject.kind),
    name: textOf(subject.name),
    namespace: textOf(subject.namespace),
  }))
}

export function readRoleReference({ roleRef }: KubeObject): RoleReference {
  return isObject(roleRef) ? { kind: textOf(roleRef.kind), name: textOf(roleRef.name) } : { kind: '', name: '' }
}

function subjectKey(subject: Subject, bindingNamespace: string): string | undefined {
  switch (subject.kind) {
    case 'User':
      return `user ${subject.name}`
    case 'Group':
      return `group ${subject.name}`
    case 'ServiceAccount': {
      const namespace = subject.namespace || bindingNamespace
      return namespace === '' ? undefined : `user ${serviceAccountUser({ namespace, name: subject.name })}`
    }
    default:
      return undefined
  }
}

function describeSubject(subject: Subject, bindingNamespace: string): string {
  if (subject.kind !== 'ServiceAccount') return `${subject.kind} ${quote(subject.name)}`
  return `${subject.kind} ${quote(`${subject.name}/${subject.namespace || bindingNamespace}`)}`
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

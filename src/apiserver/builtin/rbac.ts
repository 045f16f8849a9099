// Roles and role bindings.

import { at, child, type Fault, invalid, notSupported, required } from '../faults.ts'
import type { Behaviour } from '../kinds/kind.ts'
import { checkPathSegment, checkSubdomain } from '../names.ts'
import { equal, type KubeObject } from '../object.ts'
import { type Fields, fill, items, part, text, texts } from './fields.ts'
import { checkSelector } from './selector-checks.ts'

const group = 'rbac.authorization.k8s.io'

export const roles: Behaviour = {
  validate: object => items(object.rules).flatMap((rule, i) => checkRule(rule, true, at('rules', i))),
  nameRule: 'path-segment',
}

export const clusterRoles: Behaviour = {
  validate(object) {
    const faults = items(object.rules).flatMap((rule, i) => checkRule(rule, false, at('rules', i)))
    const aggregation = part(object, 'aggregationRule')
    if (aggregation === undefined) return faults
    const selectors = items(aggregation.clusterRoleSelectors)
    const path = 'aggregationRule.clusterRoleSelectors'
    if (selectors.length === 0) {
      faults.push(required(path, 'at least one clusterRoleSelector required if aggregationRule is non-nil'))
    }
    return [...faults, ...selectors.flatMap((selector, i) => checkSelector(selector, at(path, i)))]
  },
  nameRule: 'path-segment',
}

function checkRule(rule: Fields, isNamespaced: boolean, path: string): Fault[] {
  const faults: Fault[] = []
  const urls = texts(rule.nonResourceURLs)
  const [groups, resources, names] = [texts(rule.apiGroups), texts(rule.resources), texts(rule.resourceNames)]
  if (texts(rule.verbs).length === 0) {
    faults.push(required(child(path, 'verbs'), 'verbs must contain at least one value'))
  }
  if (urls.length > 0) {
    const urlPath = child(path, 'nonResourceURLs')
    if (isNamespaced) faults.push(invalid(urlPath, urls, 'namespaced rules cannot apply to non-resource URLs'))
    if (groups.length + resources.length + names.length > 0) {
      faults.push(invalid(urlPath, urls, 'rules cannot apply to both regular resources and non-resource URLs'))
    }
    return faults
  }
  if (groups.length === 0) {
    faults.push(required(child(path, 'apiGroups'), 'resource rules must supply at least one api group'))
  }
  if (resources.length === 0) {
    faults.push(required(child(path, 'resources'), 'resource rules must supply at least one resource'))
  }
  return faults
}

export const roleBindings = bindingOf(['Role', 'ClusterRole'], true)
export const clusterRoleBindings = bindingOf(['ClusterRole'], false)

function bindingOf(roleKinds: readonly string[], isNamespaced: boolean): Behaviour {
  return {
    applyDefaults(object) {
      fill(part(object, 'roleRef'), 'apiGroup', group)
      for (const subject of items(object.subjects)) {
        if (subject.kind === 'User' || subject.kind === 'Group') fill(subject, 'apiGroup', group)
      }
    },
    validate: object => [
      ...checkRoleRef(part(object, 'roleRef') ?? {}, roleKinds),
      ...items(object.subjects).flatMap((subject, i) => checkSubject(subject, isNamespaced, at('subjects', i))),
    ],
    validateUpdate: checkSameRole,
    nameRule: 'path-segment',
  }
}

function checkRoleRef(reference: Fields, roleKinds: readonly string[]): Fault[] {
  const faults: Fault[] = []
  if (reference.apiGroup !== group) faults.push(notSupported('roleRef.apiGroup', text(reference.apiGroup), [group]))
  if (!roleKinds.includes(text(reference.kind))) {
    faults.push(notSupported('roleRef.kind', text(reference.kind), roleKinds))
  }
  const name = text(reference.name)
  if (name === '') return [...faults, required('roleRef.name')]
  return [...faults, ...checkPathSegment(name).map(why => invalid('roleRef.name', name, why))]
}

function checkSubject(subject: Fields, isNamespaced: boolean, path: string): Fault[] {
  const faults: Fault[] = []
  const name = text(subject.name)
  const apiGroup = text(subject.apiGroup)
  if (name === '') faults.push(required(child(path, 'name')))
  switch (subject.kind) {
    case 'ServiceAccount':
      if (name !== '') faults.push(...checkSubdomain(name).map(why => invalid(child(path, 'name'), name, why)))
      if (apiGroup !== '') faults.push(notSupported(child(path, 'apiGroup'), apiGroup, ['']))
      if (!isNamespaced && text(subject.namespace) === '') faults.push(required(child(path, 'namespace')))
      break
    case 'User':
    case 'Group':
      if (apiGroup !== group) faults.push(notSupported(child(path, 'apiGroup'), apiGroup, [group]))
      break
    default:
      faults.push(notSupported(child(path, 'kind'), text(subject.kind), ['ServiceAccount', 'User', 'Group']))
  }
  return faults
}

/** The permission to bind a role is checked on create, so a binding must not move to another role. */
function checkSameRole(object: KubeObject, old: KubeObject): Fault[] {
  if (equal(object.roleRef, old.roleRef)) return []
  const { apiGroup, kind, name } = part(object, 'roleRef') ?? {}
  return [invalid('roleRef', { APIGroup: apiGroup, Kind: kind, Name: name }, 'cannot change roleRef')]
}

// Questions about permissions, sent as objects: may I (SelfSubjectAccessReview), may another user
// (SubjectAccessReview), and what may I do in this namespace (SelfSubjectRulesReview).

import type { UserInfo } from '../authn/user.ts'
import type { Fault } from '../faults.ts'
import { child, invalid, required } from '../faults.ts'
import type { KubeObject } from '../object.ts'
import { getOwn, isObject } from '../object.ts'
import { badRequest, invalidObject } from '../status.ts'
import type { Attributes, Authorize } from './attributes.ts'
import type { RBAC } from './rbac.ts'
import { together } from './rbac.ts'

const group = 'authorization.k8s.io'

export function answerSelfSubjectAccessReview(review: KubeObject, user: UserInfo, authorize: Authorize): KubeObject {
  const faults = [
    ...attributeFaults(review.spec),
    ...selectorFaults(review.spec),
    ...metadataFaults(review, [], 'must be empty'),
  ]
  return answer(review, faults, user, authorize)
}

export function answerSubjectAccessReview(review: KubeObject, authorize: Authorize): KubeObject {
  const faults = [
    ...attributeFaults(review.spec),
    ...subjectFaults(review.spec),
    ...selectorFaults(review.spec),
    ...metadataFaults(review, [], 'must be empty'),
  ]
  return answer(review, faults, subjectOf(review.spec), authorize)
}

/** `namespace` is the one in the path. */
export function answerLocalSubjectAccessReview(
  review: KubeObject,
  namespace: string,
  authorize: Authorize,
): KubeObject {
  const placed: KubeObject = {
    ...review,
    metadata: { ...review.metadata, namespace: review.metadata.namespace || namespace },
  }
  const { spec } = placed
  const asked = getOwn(spec, 'resourceAttributes')
  const paths = getOwn(spec, 'nonResourceAttributes')
  const faults = [
    ...attributeFaults(spec),
    ...subjectFaults(spec),
    ...selectorFaults(spec),
    ...metadataFaults(placed, ['namespace'], 'must be empty except for namespace'),
  ]
  if (isObject(asked) && textOf(asked.namespace) !== placed.metadata.namespace) {
    faults.push(invalid('spec.resourceAttributes.namespace', textOf(asked.namespace), 'must match metadata.namespace'))
  }
  if (isObject(paths))
    faults.push(invalid('spec.nonResourceAttributes', shown(paths), 'disallowed on this kind of request'))
  return answer(placed, faults, subjectOf(spec), authorize)
}

export function answerSelfSubjectRulesReview(review: KubeObject, user: UserInfo, rbac: RBAC): KubeObject {
  const namespace = textOf(getOwn(review.spec, 'namespace'))
  if (namespace === '') throw badRequest('no namespace on request')
  const { rules, problems } = rbac.rulesFor(user, namespace)
  const status = {
    resourceRules: rules
      .filter(rule => (rule.resources ?? []).length > 0)
      .map(({ verbs, apiGroups, resources, resourceNames = [] }) => ({
        verbs,
        apiGroups,
        resources,
        ...(resourceNames.length > 0 && { resourceNames }),
      })),
    nonResourceRules: rules
      .filter(rule => (rule.nonResourceURLs ?? []).length > 0)
      .map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
    ...(problems.length > 0 && { evaluationError: together(problems) }),
  }
  return { apiVersion: review.apiVersion, kind: review.kind, metadata: {}, spec: {}, status }
}

function answer(review: KubeObject, faults: readonly Fault[], user: UserInfo, authorize: Authorize): KubeObject {
  // Reviews are never stored, and the refusal names neither object nor kind.
  if (faults.length > 0) throw invalidObject({ group, kind: '' }, '', faults)
  const { allowed, reason } = authorize(user, readAttributes(review.spec))
  return { ...review, status: { allowed, ...(reason !== '' && { reason }) } }
}

function readAttributes(spec: unknown): Attributes {
  const paths = getOwn(spec, 'nonResourceAttributes')
  if (isObject(paths)) return { type: 'path', verb: textOf(paths.verb), path: textOf(paths.path) }
  const asked = getOwn(spec, 'resourceAttributes')
  const read = (field: string) => textOf(getOwn(asked, field))
  return {
    type: 'resource',
    verb: read('verb'),
    group: read('group'),
    version: read('version') || '*',
    resource: read('resource'),
    subresource: read('subresource'),
    namespace: read('namespace'),
    name: read('name'),
  }
}

function subjectOf(spec: unknown): UserInfo {
  const groups = getOwn(spec, 'groups')
  const uid = textOf(getOwn(spec, 'uid'))
  const extra = getOwn(spec, 'extra')
  return {
    username: textOf(getOwn(spec, 'user')),
    groups: Array.isArray(groups) ? groups.filter(item => typeof item === 'string') : [],
    ...(uid !== '' && { uid }),
    ...(isObject(extra) && { extra: extra as Record<string, string[]> }),
  }
}

function attributeFaults(spec: unknown): Fault[] {
  const asked = isObject(getOwn(spec, 'resourceAttributes'))
  const paths = getOwn(spec, 'nonResourceAttributes')
  if (asked && isObject(paths)) {
    return [
      invalid('spec.nonResourceAttributes', shown(paths), 'cannot be specified in combination with resourceAttributes'),
    ]
  }
  if (asked || isObject(paths)) return []
  const why = 'exactly one of nonResourceAttributes or resourceAttributes must be specified'
  return [invalid('spec.resourceAttributes', null, why)]
}

/** Refusals show the attributes under the names the server has for them, not those of the request. */
function shown(paths: Record<string, unknown>): Record<string, string> {
  return { Path: textOf(paths.path), Verb: textOf(paths.verb) }
}

function subjectFaults(spec: unknown): Fault[] {
  const { username, groups } = subjectOf(spec)
  if (username !== '' || groups.length > 0) return []
  return [invalid('spec.user', username, 'at least one of user or group must be specified')]
}

function selectorFaults(spec: unknown): Fault[] {
  const asked = getOwn(spec, 'resourceAttributes')
  return ['fieldSelector', 'labelSelector'].flatMap(field => {
    const selector = getOwn(asked, field)
    if (!isObject(selector)) return []
    const path = child('spec.resourceAttributes', field)
    const raw = textOf(selector.rawSelector)
    const hasRequirements = Array.isArray(selector.requirements) && selector.requirements.length > 0
    if (raw !== '' && hasRequirements) {
      return [invalid(child(path, 'rawSelector'), raw, 'may not specified at the same time as requirements')]
    }
    if (raw !== '' || hasRequirements) return []
    return [required(child(path, 'requirements'), `when ${path} is specified, requirements or rawSelector is required`)]
  })
}

function metadataFaults(review: KubeObject, allowed: readonly string[], why: string): Fault[] {
  const isEmpty = (value: unknown) =>
    value === undefined || value === null || value === '' || (isObject(value) && Object.keys(value).length === 0)
  const tolerated = [...allowed, 'managedFields']
  const extra = Object.entries(review.metadata).some(([field, value]) => !tolerated.includes(field) && !isEmpty(value))
  return extra ? [invalid('metadata', review.metadata, why)] : []
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

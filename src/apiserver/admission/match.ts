// Is this webhook called for this write, and with which version of the resource? Its rules, selectors and match
// conditions must all match. A selector or condition that fails matters only for a webhook whose rules match.

import { serviceAccountGroups, serviceAccountUser, type UserInfo } from '../authn/user.ts'
import type { Attributes, Authorize } from '../authz/attributes.ts'
import type { AuthorizerCheck } from '../cel/expression.ts'
import type { GroupVersionKind, KubeObject } from '../object.ts'
import type { LabelSelector } from '../selectors/labels.ts'
import { forbidden, internalError, notFound } from '../status.ts'
import type { AdmissionAttributes, GroupVersionResource } from './attributes.ts'
import type { Webhook, WebhookRule } from './webhook.ts'

/** The same objects at another version, or in another group that serves them too. */
export interface Equivalent {
  readonly resource: GroupVersionResource
  readonly kind: GroupVersionKind
}

export interface MatchFacts {
  /** Undefined when the namespace does not exist. */
  readonly namespaceLabels: (name: string) => Readonly<Record<string, string>> | undefined
  /** What conditions ask of the `authorizer`. */
  readonly authorize: Authorize
  readonly equivalents: (resource: GroupVersionResource, subresource: string) => readonly Equivalent[]
}

/** The form in which the webhook wants the objects; undefined when it wants nothing. Throws a `StatusError`. */
export function wantedForm(
  webhook: Webhook,
  attributes: AdmissionAttributes,
  facts: MatchFacts,
): Equivalent | undefined {
  const form = matchedForm(webhook, attributes, facts)
  if (form === undefined) return undefined
  if (!objectMatches(webhook, attributes)) return undefined
  return namespaceMatches(webhook, attributes, facts) ? form : undefined
}

function matchedForm(webhook: Webhook, attributes: AdmissionAttributes, facts: MatchFacts): Equivalent | undefined {
  const { resource, kind, subresource } = attributes
  if (webhook.rules.some(rule => ruleMatches(rule, attributes, resource))) return { resource, kind }
  if (webhook.matchPolicy === 'Exact') return undefined
  const others = facts.equivalents(resource, subresource).filter(other => !isSame(other.resource, resource))
  for (const rule of webhook.rules) {
    const found = others.find(other => ruleMatches(rule, attributes, other.resource))
    if (found) return found
  }
  return undefined
}

function isSame(a: GroupVersionResource, b: GroupVersionResource): boolean {
  return a.group === b.group && a.version === b.version && a.resource === b.resource
}

function ruleMatches(rule: WebhookRule, attributes: AdmissionAttributes, resource: GroupVersionResource): boolean {
  return (
    has(rule.operations, attributes.operation) &&
    has(rule.apiGroups, resource.group) &&
    has(rule.apiVersions, resource.version) &&
    rule.resources.some(pattern => resourceMatches(pattern, resource.resource, attributes.subresource)) &&
    scopeMatches(rule.scope, attributes, resource)
  )
}

function has(list: readonly string[], wanted: string): boolean {
  return list.includes('*') || list.includes(wanted)
}

function resourceMatches(pattern: string, resource: string, subresource: string): boolean {
  const slash = pattern.indexOf('/')
  const wanted = slash < 0 ? pattern : pattern.slice(0, slash)
  const wantedSub = slash < 0 ? '' : pattern.slice(slash + 1)
  return (wanted === '*' || wanted === resource) && (wantedSub === '*' || wantedSub === subresource)
}

/** A namespace is cluster-scoped, though requests for one name it as their namespace. */
function scopeMatches(scope: string, attributes: AdmissionAttributes, resource: GroupVersionResource): boolean {
  if (scope === '*') return true
  const isClusterScoped = isNamespaces(resource) || attributes.namespace === ''
  return scope === (isClusterScoped ? 'Cluster' : 'Namespaced')
}

function isNamespaces(resource: GroupVersionResource): boolean {
  return resource.group === '' && resource.resource === 'namespaces'
}

function namespaceMatches(webhook: Webhook, attributes: AdmissionAttributes, facts: MatchFacts): boolean {
  const isNamespace = isNamespaces(attributes.resource)
  if (attributes.namespace === '' && !isNamespace) return true
  const selector = readable(webhook.namespaceSelector)
  if (selector.requirements.length === 0) return true

  // The labels a namespace is about to have count, not those it had.
  const isItsOwn = isNamespace && attributes.subresource === '' && attributes.object !== undefined
  if (isItsOwn && attributes.operation !== 'DELETE') return selector.matches(attributes.object?.metadata.labels)
  const name = attributes.namespace === '' ? attributes.name : attributes.namespace
  const labels = facts.namespaceLabels(name)
  if (labels === undefined) throw notFound({ group: '', plural: 'namespaces' }, name)
  return selector.matches(labels)
}

function objectMatches(webhook: Webhook, { object, oldObject }: AdmissionAttributes): boolean {
  const selector = readable(webhook.objectSelector)
  if (selector.requirements.length === 0) return true
  const matches = (candidate: KubeObject | undefined) =>
    candidate !== undefined && selector.matches(candidate.metadata?.labels)
  return matches(object) || matches(oldObject)
}

function readable(selector: () => LabelSelector): LabelSelector {
  try {
    return selector()
  } catch (error) {
    throw internalError(error instanceof Error ? error.message : String(error), error)
  }
}

/**
 * The webhook's own conditions, on the objects in the form it wants. One that is false settles it; one that fails is
 * treated as the webhook treats failures: `Fail` refuses the write, `Ignore` skips the webhook.
 */
export function conditionsHold(
  webhook: Webhook,
  attributes: AdmissionAttributes,
  bindings: Readonly<Record<string, unknown>>,
  { authorize }: Pick<MatchFacts, 'authorize'>,
): boolean {
  const failures: string[] = []
  for (const { source, expression } of webhook.matchConditions) {
    try {
      const result = expression().evaluate(bindings, check => authorize(...questionOf(check, attributes)))
      if (result === false) return false
      if (result !== true) throw new Error('must evaluate to bool')
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      failures.push(`expression '${source}' resulted in error: ${why}`)
    }
  }
  if (failures.length === 0) return true
  if (webhook.failurePolicy === 'Ignore') return false
  const why = failures.length === 1 ? `${failures[0]}` : `[${failures.join(', ')}]`
  throw forbidden({ group: attributes.resource.group, plural: attributes.resource.resource }, attributes.name, why)
}

/** About the user of the request, unless the expression names a service account. */
function questionOf(check: AuthorizerCheck, { user }: AdmissionAttributes): [UserInfo, Attributes] {
  const { serviceAccount, path, verb, ...resource } = check
  const subject =
    serviceAccount === undefined
      ? user
      : { username: serviceAccountUser(serviceAccount), groups: serviceAccountGroups(serviceAccount.namespace) }
  if (path !== '') return [subject, { type: 'path', verb, path }]
  return [subject, { type: 'resource', verb, version: '*', ...resource }]
}

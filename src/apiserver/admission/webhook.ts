// A webhook as it stands in its configuration, read once and kept for as long as the configuration does not change.

import type { CompiledExpression } from '../cel/expression.ts'
import { compileExpression } from '../cel/expression.ts'
import type { KubeObject } from '../object.ts'
import { getOwn, isObject } from '../object.ts'
import type { LabelSelector } from '../selectors/labels.ts'
import { fromLabelSelectorObject } from '../selectors/labels.ts'
import type { WebhookAddress } from './wire.ts'

export interface WebhookRule {
  readonly operations: readonly string[]
  readonly apiGroups: readonly string[]
  readonly apiVersions: readonly string[]
  readonly resources: readonly string[]
  readonly scope: string
}

export interface MatchCondition {
  readonly source: string
  /** Throws when the expression cannot be compiled. */
  readonly expression: () => CompiledExpression
}

export interface Webhook {
  /** Unique among all webhooks of all configurations. */
  readonly id: string
  readonly name: string
  readonly address: WebhookAddress
  readonly rules: readonly WebhookRule[]
  readonly failurePolicy: 'Fail' | 'Ignore'
  readonly matchPolicy: 'Exact' | 'Equivalent'
  /** Throws a `SelectorError` for a selector that cannot be parsed. */
  readonly namespaceSelector: () => LabelSelector
  readonly objectSelector: () => LabelSelector
  readonly sideEffects: string
  readonly timeoutSeconds: number
  readonly reviewVersions: readonly string[]
  readonly reinvocationPolicy: 'Never' | 'IfNeeded'
  readonly matchConditions: readonly MatchCondition[]
}

/** What an expression in a match condition may name. */
const conditionVariables = ['object', 'oldObject', 'request', 'authorizer'] as const

const known = new WeakMap<KubeObject, readonly Webhook[]>()

/** All webhooks in calling order: configurations by name, then as listed. */
export function webhooksOf(configurations: readonly KubeObject[]): Webhook[] {
  const sorted = configurations.length < 2 ? configurations : [...configurations].sort(byName)
  return sorted.flatMap(configuration => {
    const before = known.get(configuration)
    if (before) return before
    const read = readConfiguration(configuration)
    known.set(configuration, read)
    return read
  })
}

function byName(a: KubeObject, b: KubeObject): number {
  const [left = '', right = ''] = [a.metadata.name, b.metadata.name]
  return left < right ? -1 : left > right ? 1 : 0
}

function readConfiguration(configuration: KubeObject): Webhook[] {
  const { webhooks } = configuration
  if (!Array.isArray(webhooks)) return []
  return webhooks.filter(isObject).map((webhook, i) => readWebhook(webhook, `${configuration.metadata.name}/${i}`))
}

function readWebhook(webhook: Record<string, unknown>, id: string): Webhook {
  const conditions = Array.isArray(webhook.matchConditions) ? webhook.matchConditions.filter(isObject) : []
  return {
    id,
    name: textOf(webhook.name),
    address: readAddress(webhook.clientConfig),
    rules: (Array.isArray(webhook.rules) ? webhook.rules : []).filter(isObject).map(readRule),
    failurePolicy: webhook.failurePolicy === 'Ignore' ? 'Ignore' : 'Fail',
    matchPolicy: webhook.matchPolicy === 'Exact' ? 'Exact' : 'Equivalent',
    namespaceSelector: once(() => readSelector(webhook.namespaceSelector)),
    objectSelector: once(() => readSelector(webhook.objectSelector)),
    sideEffects: textOf(webhook.sideEffects),
    timeoutSeconds: typeof webhook.timeoutSeconds === 'number' ? webhook.timeoutSeconds : 10,
    reviewVersions: textList(webhook.admissionReviewVersions),
    reinvocationPolicy: webhook.reinvocationPolicy === 'IfNeeded' ? 'IfNeeded' : 'Never',
    matchConditions: conditions.map(condition => ({
      source: textOf(condition.expression),
      expression: once(() => compileExpression(textOf(condition.expression), conditionVariables)),
    })),
  }
}

function readRule(rule: Record<string, unknown>): WebhookRule {
  return {
    operations: textList(rule.operations),
    apiGroups: textList(rule.apiGroups),
    apiVersions: textList(rule.apiVersions),
    resources: textList(rule.resources),
    scope: textOf(rule.scope) || '*',
  }
}

/** `clientConfig` of a webhook configuration or of a CustomResourceDefinition's conversion. */
export function readAddress(clientConfig: unknown): WebhookAddress {
  const url = textOf(getOwn(clientConfig, 'url'))
  const bundle = Buffer.from(textOf(getOwn(clientConfig, 'caBundle')), 'base64')
    .toString('utf8')
    .trim()
  const service = getOwn(clientConfig, 'service')
  return {
    ...(url !== '' && { url }),
    ...(isObject(service) && { service: readService(service) }),
    ...(bundle !== '' && { ca: bundle }),
  }
}

function readService(service: Record<string, unknown>): NonNullable<WebhookAddress['service']> {
  const path = textOf(service.path)
  return {
    namespace: textOf(service.namespace),
    name: textOf(service.name),
    ...(path !== '' && { path }),
    ...(typeof service.port === 'number' && { port: service.port }),
  }
}

/** Absent selectors of a webhook select everything, unlike elsewhere. */
function readSelector(selector: unknown): LabelSelector {
  return fromLabelSelectorObject(isObject(selector) ? selector : {})
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

function textList(value: unknown): string[] {
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : []
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

// The webhook configurations for the API server. Each webhook has its own failure policy. Writes to a
// status call only those webhooks that name it.

import { conversionPath } from './conversion.ts'
import type { Policy } from './policy.ts'
import type { Webhook } from './webhook.ts'

/** Where the API server reaches us: a Service in a cluster, a URL beside the embedded server. */
export type WebhookAddress =
  | { readonly kind: 'url'; readonly base: string; readonly caBundle: string }
  | {
      readonly kind: 'service'
      readonly namespace: string
      readonly name: string
      readonly port?: number
      /** Left out where something else puts it in, such as cert-manager. */
      readonly caBundle?: string
    }

export interface RegistrationOptions {
  readonly address: WebhookAddress
  /** The name of both objects is made from it. */
  readonly namePrefix?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  /** Also those that stand in for another product: only where that product is not installed. */
  readonly withStandIns?: boolean
}

type Webhooks = readonly Webhook[]

/** With no webhooks in it where there are none: applied, it takes away what a desk that was on had registered. */
export function toValidatingConfiguration(webhooks: Webhooks, options: RegistrationOptions) {
  return toConfiguration('validating', 'ValidatingWebhookConfiguration', webhooks, options)
}

export function toMutatingConfiguration(webhooks: Webhooks, options: RegistrationOptions) {
  return toConfiguration('mutating', 'MutatingWebhookConfiguration', webhooks, options)
}

/** The conversion stanza for a definition with more than one version. `caBundle` is base64, as everywhere here. */
export function toConversion(address: WebhookAddress) {
  return {
    strategy: 'Webhook',
    webhook: { clientConfig: clientConfig(address, conversionPath), conversionReviewVersions: ['v1'] },
  } as const
}

function toConfiguration(type: Webhook['type'], kind: string, webhooks: Webhooks, options: RegistrationOptions) {
  const { address, namePrefix = 'mooring-', labels, annotations, withStandIns = false } = options
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: {
      name: `${namePrefix}${type}-webhook-configuration`,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    },
    webhooks: webhooks
      .filter(webhook => webhook.type === type && (withStandIns || webhook.isStandIn !== true))
      .map(webhook => toWebhook(webhook, address)),
  }
}

function toWebhook(webhook: Webhook, address: WebhookAddress) {
  const { name, path, matchConditions, namespaceSelector, objectSelector, reinvocationPolicy } = webhook
  return {
    name,
    clientConfig: clientConfig(address, path),
    rules: [ruleFor(webhook)],
    ...(namespaceSelector && { namespaceSelector }),
    ...(objectSelector && { objectSelector }),
    ...(matchConditions && { matchConditions }),
    failurePolicy: webhook.failurePolicy,
    matchPolicy: 'Equivalent',
    sideEffects: 'None',
    admissionReviewVersions: ['v1', 'v1beta1'],
    timeoutSeconds: webhook.timeoutSeconds,
    ...(reinvocationPolicy && { reinvocationPolicy }),
  }
}

/** The spec of the ValidatingAdmissionPolicy that is in the place of the webhook. */
export function toPolicySpec(webhook: Webhook, { matchConditions, allowedIf, message }: Policy) {
  return {
    failurePolicy: 'Fail',
    matchConstraints: { matchPolicy: 'Equivalent', resourceRules: [ruleFor(webhook)] },
    matchConditions,
    validations: [{ expression: allowedIf, message, reason: 'Forbidden' }],
  }
}

function ruleFor({ kind, operations, subresources = [], versions }: Webhook) {
  const { group, version, plural, isNamespaced } = kind
  const scope = isNamespaced ? 'Namespaced' : 'Cluster'
  const apiVersions = [versions === 'all' ? '*' : version]
  const resources = [plural, ...subresources.map(name => `${plural}/${name}`)]
  return { apiGroups: [group], apiVersions, operations, resources, scope }
}

function clientConfig(address: WebhookAddress, path: string) {
  if (address.kind === 'url') return { url: `${address.base}${path}`, caBundle: address.caBundle }
  const { namespace, name, port, caBundle } = address
  const service = { namespace, name, path, ...(port !== undefined && { port }) }
  return { service, ...(caBundle !== undefined && { caBundle }) }
}

// How the API server is told to ask. Requests fail while nobody answers: a pool that was written unchecked makes claims wait
// later, which is harder to understand than a write that says "try again". Only what is asked about claims where Cluster API
// reviews them goes on unasked then: no machine waits for us. Status writes are not asked about.

import { type Webhook, webhooks } from './webhooks.ts'

/** Where the API server reaches us: a Service in a cluster, a URL beside the embedded server. */
export type ReviewAddress =
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
  readonly address: ReviewAddress
  /** The name of both objects is made from it. */
  readonly namePrefix?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  /** Also Cluster API's own kinds: only where Cluster API is not there to review them. */
  readonly withCore?: boolean
}

const timeoutSeconds = 10
/** Long for an answer that is computed, short for somebody who gets none. */
const courtesyTimeoutSeconds = 2

export function toValidatingConfiguration(options: RegistrationOptions) {
  return toConfiguration('validating', 'ValidatingWebhookConfiguration', options)
}

export function toMutatingConfiguration(options: RegistrationOptions) {
  return toConfiguration('mutating', 'MutatingWebhookConfiguration', options)
}

/** The conversion stanza for a definition with more than one version. `caBundle` is base64, as everywhere here. */
export function toConversion(address: ReviewAddress) {
  return {
    strategy: 'Webhook',
    webhook: { clientConfig: clientConfig(address, '/convert'), conversionReviewVersions: ['v1'] },
  } as const
}

function toConfiguration(type: Webhook['type'], kind: string, options: RegistrationOptions) {
  const { address, namePrefix = 'mooring-', labels, annotations, withCore = false } = options
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: {
      name: `${namePrefix}${type}-webhook-configuration`,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    },
    webhooks: webhooks
      .filter(webhook => webhook.type === type && (withCore || !webhook.isCore))
      .map(webhook => toWebhook(webhook, address)),
  }
}

function toWebhook(webhook: Webhook, address: ReviewAddress) {
  const { name, path, when, failsOpen } = webhook
  return {
    name,
    clientConfig: clientConfig(address, path),
    rules: [ruleFor(webhook)],
    ...(when && { matchConditions: when }),
    failurePolicy: failsOpen ? 'Ignore' : 'Fail',
    matchPolicy: 'Equivalent',
    sideEffects: 'None',
    admissionReviewVersions: ['v1', 'v1beta1'],
    timeoutSeconds: failsOpen ? courtesyTimeoutSeconds : timeoutSeconds,
  }
}

function ruleFor({ kind, operations, failsOpen }: Webhook) {
  const { group, version, plural, isNamespaced } = kind
  const scope = isNamespaced ? 'Namespaced' : 'Cluster'
  return { apiGroups: [group], apiVersions: [failsOpen ? '*' : version], operations, resources: [plural], scope }
}

function clientConfig(address: ReviewAddress, path: string) {
  if (address.kind === 'url') return { url: `${address.base}${path}`, caBundle: address.caBundle }
  const { namespace, name, port, caBundle } = address
  const service = { namespace, name, path, ...(port !== undefined && { port }) }
  return { service, ...(caBundle !== undefined && { caBundle }) }
}

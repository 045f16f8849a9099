// Whether the API server still asks as this version wants to be asked. A registration that was changed or removed does not show:
// writes just pass. What decides whether a webhook is asked is compared; where it is reached is the installation's.

import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '../api/shape.ts'
import { wrongWithPolicy } from './policy-drift.ts'
import { toMutatingConfiguration, toPolicySpec, toValidatingConfiguration } from './registration.ts'
import { type Fields, fieldOf, recordIn } from './spec.ts'
import type { Webhook, WebhookSet } from './webhook.ts'

/** Webhook configurations and policies as they are stored; undefined for what could not be listed, of which nothing is said. */
export interface Registered {
  readonly validating: readonly unknown[] | undefined
  readonly mutating: readonly unknown[] | undefined
  readonly policies: readonly unknown[] | undefined
  readonly bindings: readonly unknown[] | undefined
}

/** By the name of each webhook that is to be registered, or has a policy in its place: what is wrong, or undefined. */
export function driftOf(webhooks: readonly Webhook[], registered: Registered): ReadonlyMap<string, string | undefined> {
  const options = { address: { kind: 'service', namespace: '', name: '' } } as const
  const found = new Map<string, string | undefined>()
  for (const [wanted, stored] of [
    [toValidatingConfiguration(webhooks, options), registered.validating],
    [toMutatingConfiguration(webhooks, options), registered.mutating],
  ] as const) {
    const all = stored?.flatMap(webhooksIn)
    if (all === undefined) continue
    for (const webhook of wanted.webhooks) found.set(webhook.name, wrongWith(webhook, all))
  }
  const { policies, bindings } = registered
  if (policies === undefined || bindings === undefined) return found
  for (const webhook of webhooks) {
    const { name, policy } = webhook
    if (policy === undefined) continue
    found.set(name, wrongWithPolicy(policy, toPolicySpec(webhook, policy), { policies, bindings }))
  }
  return found
}

/** A webhook of a desk that is off, which the API server still asks about. */
export interface LeftOver {
  readonly desk: string
  readonly webhook: string
  /** Of the configuration that has it. */
  readonly kind: string
  readonly configuration: string
}

export function leftOversOf(
  off: readonly Pick<WebhookSet, 'name' | 'webhooks'>[],
  { namespace, ...registered }: Pick<Registered, 'validating' | 'mutating'> & { readonly namespace: string },
): LeftOver[] {
  const deskOf = new Map(
    off.flatMap(set => set.webhooks.map(({ name, path }) => [`${name} ${path}`, set.name] as const)),
  )
  const found = (kind: string, configurations: readonly unknown[] = []) =>
    configurations.flatMap(one =>
      webhooksIn(one).flatMap((webhook): LeftOver[] => {
        const desk = deskOf.get(`${webhook.name} ${pathOf(webhook)}`)
        const isOurs = fieldOf(recordIn(recordIn(webhook, 'clientConfig'), 'service'), 'namespace') === namespace
        const configuration = isRecord(one) ? fieldOf(recordIn(one, 'metadata'), 'name') : undefined
        if (desk === undefined || !isOurs || typeof configuration !== 'string') return []
        return [{ desk, webhook: String(webhook.name), kind, configuration }]
      }),
    )
  return [
    ...found('ValidatingWebhookConfiguration', registered.validating),
    ...found('MutatingWebhookConfiguration', registered.mutating),
  ]
}

/** Another product may have registered a webhook of the same name: one that is right will do. */
function wrongWith(wanted: Fields, all: readonly Fields[]): string | undefined {
  const same = all.filter(stored => stored.name === wanted.name && pathOf(stored) === pathOf(wanted))
  if (same.length === 0) return 'is not registered'
  const changes = same.map(stored => changedFields(wanted, stored))
  const [first = []] = changes
  return changes.some(fields => fields.length === 0) ? undefined : `is registered with another ${first.join(', ')}`
}

/** Each with what the API server fills in where it is left out. */
const compared: Readonly<Record<string, unknown>> = {
  rules: [],
  failurePolicy: 'Fail',
  matchPolicy: 'Equivalent',
  matchConditions: [],
  namespaceSelector: {},
  objectSelector: {},
}

function changedFields(wanted: Fields, stored: Fields): string[] {
  return Object.entries(compared).flatMap(([field, usual]) => {
    const [before, after] = [fieldOf(wanted, field) ?? usual, fieldOf(stored, field) ?? usual]
    return isDeepStrictEqual(before, after) ? [] : [field]
  })
}

function webhooksIn(configuration: unknown): Fields[] {
  const webhooks = isRecord(configuration) ? fieldOf(configuration, 'webhooks') : undefined
  return Array.isArray(webhooks) ? webhooks.filter(isRecord) : []
}

function pathOf(webhook: Fields): string | undefined {
  const config = recordIn(webhook, 'clientConfig')
  const [path, url] = [fieldOf(recordIn(config, 'service'), 'path'), fieldOf(config, 'url')]
  if (typeof path === 'string') return path
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).pathname : undefined
}

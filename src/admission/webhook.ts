// What a webhook is: under which name it is registered, when and at which path the API server asks it, and its answer. Which
// webhooks there are is for the desks to say; everything in this folder takes them as values and knows no kind.

import type { VersionedKind } from '../api/object.ts'
import type { MatchCondition } from './match-conditions.ts'
import type { Policy } from './policy.ts'
import { allowed, type Ruling } from './ruling.ts'

export type Operation = 'CREATE' | 'UPDATE' | 'DELETE'

export interface Webhook<F = unknown> {
  readonly type: 'validating' | 'mutating'
  readonly kind: VersionedKind
  /** It is registered under this name. */
  readonly name: string
  readonly path: string
  readonly operations: readonly Operation[]
  /** Subresources whose writes it is asked about too: `status`. What travels through them is the object itself. */
  readonly subresources?: readonly string[]
  /** Asked in every version of the kind as it comes, so that nothing is converted for it. */
  readonly versions?: 'all'
  /** What becomes of a request that gets no answer, or none in time: it is refused, or it goes on. */
  readonly failurePolicy: 'Fail' | 'Ignore'
  readonly timeoutSeconds: number
  /** The API server asks only where all of them are true. */
  readonly matchConditions?: readonly MatchCondition[]
  /** A LabelSelector on the namespace of the object. */
  readonly namespaceSelector?: object
  /** A LabelSelector on the object itself, as it was or as it would be. */
  readonly objectSelector?: object
  /** Whether a mutating webhook is asked once more when a later one changed the object. */
  readonly reinvocationPolicy?: 'Never' | 'IfNeeded'
  /**
   * The kind belongs to another product, which answers for it wherever it is installed, or the API server judges by itself
   * (`policy`): registered only where that is not so.
   */
  readonly isStandIn?: boolean
  /** What it stands in for. */
  readonly policy?: Policy
  /** A method and no property, so that webhooks of several desks, with several kinds of facts, can be one list. */
  answer(request: WebhookRequest, facts: F): Ruling | Promise<Ruling>
}

export interface WebhookRequest {
  readonly operation: Operation
  /** Undefined on create. */
  readonly old: unknown
  /** Undefined on delete. */
  readonly next: unknown
  /** Empty for a kind without namespaces. */
  readonly namespace: string
  /** Empty on create where the API server is yet to generate it. */
  readonly name: string
  readonly userInfo: { readonly username: string; readonly groups: readonly string[] }
  readonly isDryRun: boolean
  /**
   * The client showed that it is an API server. One that did not may have made the request up: it is told nothing that
   * the request itself does not show its author to know.
   */
  readonly isCallerProven: boolean
}

/** What one desk, or the office, brings: its webhooks and what they may ask. */
export interface WebhookSet<F = unknown> {
  readonly name: string
  readonly webhooks: readonly Webhook<F>[]
  /** For a request about an object of this kind. Undefined while the caches that it takes are not filled. */
  facts(kind: VersionedKind): F | undefined
}

/**
 * The webhooks of a desk that is off. Each lets everything pass: a registration that was left over when the desk was switched off
 * refuses nothing for want of it.
 */
export function setOfOff({ name, webhooks }: Pick<WebhookSet, 'name' | 'webhooks'>): WebhookSet {
  const warning = (of: string) =>
    `the desk ${name} of Mooring is off and checked nothing; its webhook ${of} is still registered`
  const letsPass = (webhook: Webhook): Webhook => ({ ...webhook, answer: () => allowed([warning(webhook.name)]) })
  return { name, webhooks: webhooks.map(letsPass), facts: () => true }
}

type Answer<F> = Webhook<F>['answer']

/** Long for an answer that is computed from a cache; the user waits for it. */
const usual = { failurePolicy: 'Fail', timeoutSeconds: 10 } as const

/** Under the name and at the path that controllers usually choose for a kind: clusters may have them registered already. */
export function validatingWebhook<F>(kind: VersionedKind, answer: Answer<F>): Webhook<F> {
  const name = `validation.${kind.kind.toLowerCase()}.${kind.group}`
  const operations: readonly Operation[] = ['CREATE', 'UPDATE', 'DELETE']
  return { type: 'validating', kind, name, path: usualPath('validate', kind), operations, ...usual, answer }
}

export function mutatingWebhook<F>(kind: VersionedKind, answer: Answer<F>): Webhook<F> {
  const name = `default.${kind.kind.toLowerCase()}.${kind.group}`
  const operations: readonly Operation[] = ['CREATE', 'UPDATE']
  return { type: 'mutating', kind, name, path: usualPath('mutate', kind), operations, ...usual, answer }
}

/** `/validate-apps-v1-deployment`. */
function usualPath(verb: string, { group, version, kind }: VersionedKind): string {
  return `/${verb}-${group.replaceAll('.', '-')}-${version}-${kind.toLowerCase()}`
}

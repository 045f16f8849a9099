// Desks put together over any Kubernetes API: the embedded server of `mooring up`, the cluster of `mooring controller`.
// What differs between the two (how the server is reached, where webhooks are served, who leads) is passed in or stays outside.

import { hostname } from 'node:os'
import type { WebhookSet } from '../admission/webhook.ts'
import { addCapiDesk } from '../controllers/capi/desk.ts'
import { type CapiFacts, capiFacts } from '../controllers/capi/facts.ts'
import { capiWebhooks } from '../controllers/capi/webhooks/webhooks.ts'
import type { CapiWorld } from '../controllers/capi/world.ts'
import { claims, clusters, holds, namespaces, pools, reports } from '../controllers/office/kinds.ts'
import { type PoolFacts, poolFacts } from '../controllers/office/pool-facts.ts'
import type { Scope } from '../controllers/office/scope.ts'
import { poolWebhooks } from '../controllers/office/webhooks/webhooks.ts'
import type { Client } from '../kube/client.ts'
import type { Discovery } from '../kube/discovery.ts'
import { createRecorder } from '../kube/events.ts'
import { nameOfKind } from '../kube/object.ts'
import { realClock } from '../runtime/clock.ts'
import { Manager, type ManagerState } from '../runtime/manager.ts'
import type { CancelReason } from '../runtime/retry-policy.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { exitCodes, Failure } from './failure.ts'

export interface DesksOptions {
  readonly client: Client
  readonly discovery: Discovery
  readonly log: Log
  readonly metrics: Metrics
  /** Everything, unless told otherwise. */
  readonly scope?: Scope
  /** What passes wait for besides a complete view of the world: to be the leader. */
  readonly admitted?: (signal: AbortSignal) => Promise<void>
}

export interface Desks {
  readonly state: ManagerState
  /** Kinds that were not listed yet. When there are none webhooks can answer, also in a process that does not lead. */
  unlisted(): string[]
  /** Of every desk that is on, and of the office. */
  webhookSets(): readonly WebhookSet[]
  /** Resolves when passes have begun. */
  start(): Promise<void>
  stop(reason: CancelReason): Promise<void>
}

export function createDesks({ client, discovery, log, metrics, scope, admitted }: DesksOptions): Desks {
  const clock = realClock
  const random = Math.random
  const recorder = createRecorder({ client, clock, random, log, controller: 'mooring.dev/capi', instance: hostname() })
  const manager = new Manager({ clock, random, log, metrics, ...(admitted && { admitted }) })
  const parts = { client, discovery, clock, random, log, recorder, manager, metrics }
  const desk = addCapiDesk({ ...parts, ...(scope && { scope }) })
  const { caches } = desk
  const views = [
    [holds, caches.holds],
    [claims, caches.claims],
    [reports, caches.reports],
    [clusters, caches.clusters],
    [namespaces, caches.namespaces],
    ...pools.map(kind => [kind, caches.pools.get(kind.kind)] as const),
  ] as const
  return {
    get state() {
      return manager.state
    },
    unlisted: () => views.flatMap(([kind, cache]) => (cache?.hasSynced === false ? [nameOfKind(kind)] : [])),
    webhookSets: () => webhookSetsOf(desk),
    start: () => manager.start(),
    async stop(reason) {
      await manager.stop(reason)
      await recorder.stop()
    },
  }
}

export function webhookSetsOf({ caches, ledger }: Pick<CapiWorld, 'caches' | 'ledger'>): readonly WebhookSet[] {
  const office: WebhookSet<PoolFacts> = {
    name: 'office',
    webhooks: poolWebhooks,
    facts: () => poolFacts({ views: caches, ledger, shown: [caches.reports] }),
  }
  const capi: WebhookSet<CapiFacts> = { name: 'capi', webhooks: capiWebhooks, facts: () => capiFacts(caches) }
  return [office, capi]
}

/** The desks that exist; the others of the design are refused by name until they do. */
export const knownDesks = ['capi']

export function refuseUnknownDesks(list: string, known: readonly string[]): void {
  const unknown = list.split(',').filter(desk => !known.includes(desk))
  if (unknown.length === 0) return
  throw new Failure(
    exitCodes.usage,
    `--desks does not know ${unknown.map(desk => JSON.stringify(desk)).join(', ')}`,
    `It takes a list of: ${known.join(', ')}.`,
  )
}

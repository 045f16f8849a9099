// The composition root: the office and the desks that are on, put together over any Kubernetes API. `mooring up`, `mooring
// controller`, the behaviour tests and the fault plans all assemble the product here; what differs (clock, random, how the
// server is reached, which process leads) is passed in.

import type { Conversion } from '../admission/conversion.ts'
import type { WebhookSet } from '../admission/webhook.ts'
import type { Cache } from '../kube/cache.ts'
import type { Client } from '../kube/client.ts'
import type { Discovery } from '../kube/discovery.ts'
import { createRecorder, type Recorder } from '../kube/events.ts'
import { measureEvents } from '../kube/metrics.ts'
import type { Kind, KubeObject } from '../kube/object.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Admission, Domain } from '../runtime/domain.ts'
import { Manager, type ManagerState } from '../runtime/manager.ts'
import type { Random } from '../runtime/random.ts'
import type { CancelReason } from '../runtime/retry-policy.ts'
import type { Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { Component } from './component.ts'
import type { Desk } from './desk.ts'
import { officeComponent } from './office/component.ts'
import type { NetworkRules } from './office/networks.ts'
import { type MachineMode, openOffice } from './office/office.ts'
import { poolFacts } from './office/pool-facts.ts'
import { everything, type Scope } from './office/scope.ts'
import type { VCenters } from './office/vcenters.ts'

export interface AssembleOptions {
  readonly client: Client
  readonly discovery: Discovery
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** Names this process in events. */
  readonly instance: string
  /** Every desk there is: the ledger counts what the kinds of each show, whether it is on or not. */
  readonly desks: readonly Desk[]
  /** Names of the desks that work. */
  readonly on: readonly string[]
  readonly metrics?: Metrics | undefined
  /** Everything by default. */
  readonly scope?: Scope
  /** As the flags have them by default. */
  readonly networkRules?: NetworkRules | undefined
  /** As the flag has it by default. */
  readonly machineMode?: MachineMode | undefined
  /** None by default. */
  readonly vcenters?: VCenters | undefined
  /** What the passes of every desk wait for, besides complete caches: to be the leader. */
  readonly admitted?: (signal: AbortSignal) => Promise<void>
  /** What the passes of one component wait for: its kinds and permissions. */
  readonly admissionOf?: (component: string) => Admission
  /** Objects of the caches cannot be changed: for tests and the demo. */
  readonly isFrozen?: boolean
}

export interface Assembled {
  readonly state: ManagerState
  /** The office first, then the desks that are on. */
  readonly domains: readonly Domain[]
  /** The webhooks of the office and of the desks that are on. */
  readonly webhookSets: readonly WebhookSet[]
  cacheOf(kind: Kind): Cache<KubeObject> | undefined
  /** What is wrong, in sentences, and holds up no component as a whole. */
  problems(): string[]
  /** Resolves when every component works, or is known to wait for something. */
  start(): Promise<void>
  stop(reason: CancelReason): Promise<void>
}

export function assemble(options: AssembleOptions): Assembled {
  const { client, discovery, clock, random, log, instance, metrics, scope = everything, admitted } = options
  const manager = new Manager({ clock, random, log, metrics, ...(admitted && { admitted }) })
  const recorders: Recorder[] = []
  const eventMetrics = metrics && measureEvents(metrics)
  const recorderOf = (component: string): Recorder => {
    const controller = `mooring.dev/${component}`
    const recorder = createRecorder({ client, clock, random, log, controller, instance, metrics: eventMetrics })
    recorders.push(recorder)
    return recorder
  }
  const domainOf = ({ name }: Component, needs: readonly Domain[]): Domain => {
    const admission = options.admissionOf?.(name)
    return manager.domain(name, { needs, ...(admission && { admission }) })
  }

  const ofOffice = domainOf(officeComponent, [])
  const isFrozen = options.isFrozen === true
  const office = openOffice({
    client,
    discovery,
    clock,
    random,
    log,
    recorderOf,
    domain: ofOffice,
    scope,
    metrics,
    networkRules: options.networkRules,
    machineMode: options.machineMode,
    vcenters: options.vcenters,
    isFrozen,
  })
  const webhookSets: WebhookSet[] = [
    { name: officeComponent.name, webhooks: officeComponent.webhooks, facts: kind => poolFacts(office, kind) },
  ]
  for (const desk of options.desks) {
    const inView = desk.see(office)
    if (!options.on.includes(desk.name)) continue
    inView.open(domainOf(desk, [ofOffice]))
    webhookSets.push({ name: desk.name, webhooks: desk.webhooks, facts: () => inView.facts() })
  }
  return {
    get state() {
      return manager.state
    },
    domains: manager.domains,
    webhookSets,
    cacheOf: kind => office.cacheOf(kind),
    problems: () => office.problems(),
    start: () => manager.start(),
    async stop(reason) {
      await manager.stop(reason)
      await Promise.all(recorders.map(recorder => recorder.stop()))
    },
  }
}

/** Of every desk there is: what the kinds of a desk show is seen, and users read them, also while it is off. */
export function conversionsOf(desks: readonly Desk[]): readonly Conversion[] {
  return [officeComponent, ...desks].flatMap(({ conversions }) => conversions)
}

/** The office and the desks that are on: what is installed, registered and permitted. */
export function componentsOf(desks: readonly Desk[], on: readonly string[]): readonly Component[] {
  return [officeComponent, ...desks.filter(({ name }) => on.includes(name))]
}

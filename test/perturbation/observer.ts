// An independent observer of the stored history: it reads objects as they are stored, with none of the code that wrote
// them, and reports at every revision what may never be true. One address, one living holder; a choice is for life; an address
// that is released is given to no other claim too early.

import { FleetObserver } from './fleet-observer.ts'
import { MachineObserver } from './machine-observer.ts'
import { OrderObserver } from './order-observer.ts'
import type { Seen } from './server.ts'
import type { VCenterSeen } from './vcenter-observer.ts'

export interface Stored {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly resourceVersion?: string
    readonly deletionTimestamp?: string
    readonly finalizers?: readonly string[]
    readonly annotations?: Readonly<Record<string, string>>
    readonly labels?: Readonly<Record<string, string>>
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string; readonly uid: string }[]
  }
  readonly spec?: {
    readonly address?: string
    readonly mac?: string
    readonly space?: string
    readonly network?: string
    readonly 'network-name'?: string
    readonly config?: string
    readonly entries?: Readonly<Record<string, readonly string[]>>
    readonly bindings?: Readonly<Record<string, { readonly namespace: string; readonly virtualMachine?: string }>>
    readonly subnets?: readonly string[]
    readonly quarantineSeconds?: number
    readonly claimRef?: Reference & { readonly uid?: string; readonly part?: string }
    readonly poolRef?: Reference
    readonly owner?: Reference
    readonly providerID?: string
    readonly replicas?: number
  }
  readonly status?: {
    readonly state?: string
    readonly until?: string
    readonly addresses?: readonly string[]
    readonly mac?: string
    readonly addressRef?: { readonly name?: string }
    readonly ips?: readonly string[]
    readonly ownerPod?: { readonly name?: string }
    readonly phase?: string
    readonly providerStatus?: {
      readonly instanceId?: string
      readonly taskRef?: string
      readonly cloneOrderedAt?: string
    }
    readonly conditions?: readonly Condition[]
  }
}

interface Reference {
  readonly apiGroup?: string
  readonly kind?: string
  readonly namespace?: string
  readonly name?: string
}

export interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
}

const choiceKey = 'mooring.dev/address'
const claimFinalizer = 'ipam.cluster.x-k8s.io/ReleaseAddress'
const berthFinalizer = 'toy.example.org/release'

export const keyOf = ({ metadata }: Stored): string =>
  metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`
export const choiceOf = ({ metadata }: Stored): string | undefined => metadata.annotations?.[choiceKey]
/** What a berth chose, part by part. */
export function partsOf({ metadata }: Stored): Readonly<Record<string, string>> | undefined {
  const text = metadata.annotations?.['toy.example.org/choice']
  return text === undefined ? undefined : (JSON.parse(text) as Record<string, string>)
}
export const isLeaving = ({ metadata }: Stored): boolean => metadata.deletionTimestamp !== undefined
export const isBound = ({ status }: Stored): boolean =>
  status?.addressRef?.name !== undefined && readyOf(status.conditions)?.status === 'True'
export const readyOf = (conditions: readonly Condition[] = []): Condition | undefined =>
  conditions.find(({ type }) => type === 'Ready')

/** Which claim used an address last, and since when no longer. */
interface Release {
  readonly claim: string
  readonly owner: string
  readonly uid: string
  readonly atMs: number
  readonly restMs: number
}

export class Observer {
  readonly claims = new Map<string, Stored>()
  readonly holds = new Map<string, Stored>()
  readonly reports = new Map<string, Stored>()
  readonly macHolds = new Map<string, Stored>()
  readonly berths = new Map<string, Stored>()
  readonly networks = new Map<string, Stored>()
  /** By kind, namespace and name. */
  readonly pools = new Map<string, Stored>()
  readonly namespaces = new Map<string, Stored>()
  readonly violations: string[] = []
  readonly machines = new MachineObserver(
    violation => this.#say(violation),
    this.holds,
    this.macHolds,
    () => this.#now(),
  )
  /** Machines of OpenShift. */
  readonly orders: OrderObserver
  /** What migrates over which network. */
  readonly fleet = new FleetObserver(violation => this.#say(violation), this.machines.attachments, this.machines.pods)
  readonly #choices = new Map<string, string>()
  /** Uids of holds that a living claim's choice rested on. What a pass took and gave back at once is none. */
  readonly #used = new Set<string>()
  readonly #released = new Map<string, Release>()
  readonly #spaces = new Map<string, string>()
  readonly #now: () => number

  constructor(now: () => number, vcenter?: VCenterSeen) {
    this.#now = now
    const say = (violation: string) => this.#say(violation)
    this.orders = new OrderObserver(say, { claims: this.claims, reports: this.reports, holds: this.holds }, vcenter)
  }

  see({ type, revision, ...seen }: Seen): void {
    const object = seen.object as Stored
    const before = seen.previous as Stored | undefined
    const kept = this.#keptOf(object)
    if (kept === undefined) return
    const isGone = type === 'delete'
    const key = kept === this.pools ? poolKey(object) : keyOf(object)
    if (isGone) kept.delete(key)
    else kept.set(key, object)
    if (kept === this.pools && !isGone)
      this.#spaces.set(poolKey(object), object.spec?.space ?? `own ${poolKey(object)}`)
    if (kept === this.holds || kept === this.macHolds) this.#seeHold(isGone ? undefined : object, before)
    if (kept === this.reports) this.#seeReport(isGone ? undefined : object, before)
    if (kept === this.claims) this.#seeClaim(isGone ? undefined : object, before)
    if (kept === this.berths) this.#seeBerth(isGone ? undefined : object, before)
    if (kept === this.fleet.settings && !isGone) this.fleet.seeSetting(revision)
    if (isGone) this.machines.seeGone(object)
    else this.machines.seeWritten(object, before)
    if (kept !== this.namespaces && kept !== this.pools) this.#seeWhole(revision)
  }

  claim(key: string): Stored | undefined {
    return this.claims.get(key)
  }

  #keptOf({ kind }: Stored): Map<string, Stored> | undefined {
    if (kind === 'IPAddressClaim') return this.claims
    if (kind === 'IPAddress') return this.reports
    if (kind === 'Hold') return this.holds
    if (kind === 'MACHold') return this.macHolds
    if (kind === 'Berth') return this.berths
    if (kind === 'ToyNetwork') return this.networks
    if (kind === 'Namespace') return this.namespaces
    if (kind === 'Machine') return this.orders.machines
    if (this.fleet.keptOf(kind) !== undefined) return this.fleet.keptOf(kind)
    return this.machines.keptOf(kind) ?? (kind.endsWith('Pool') ? this.pools : undefined)
  }

  #say(violation: string): void {
    if (this.violations.length < 20 && !this.violations.includes(violation)) this.violations.push(violation)
  }

  /** What must be true of all that is stored at this revision. */
  #seeWhole(revision: number): void {
    const bound = new Map<string, string>()
    for (const [key, claim] of this.claims) {
      const choice = choiceOf(claim)
      if (isLeaving(claim)) continue
      if (choice === undefined) {
        if (isBound(claim)) this.#say(`revision ${revision}: ${key} says it is bound and stores no choice`)
        continue
      }
      const place = `${this.#spaceOf(claim)} ${choice}`
      const other = bound.get(place)
      if (other !== undefined) this.#say(`revision ${revision}: ${other} and ${key} both have ${place}`)
      bound.set(place, key)
      if (!(claim.metadata.finalizers ?? []).includes(claimFinalizer)) {
        this.#say(`revision ${revision}: ${key} has a choice and lacks the finalizer`)
      }
      if (!this.#isHeldBy(claim, choice)) this.#say(`revision ${revision}: ${key} has ${choice} and no hold of it`)
      if (!isBound(claim)) continue
      const report = this.reports.get(`${claim.metadata.namespace}/${claim.status?.addressRef?.name}`)
      if (report === undefined || !isOwnedBy(report, claim.metadata.uid) || report.spec?.address !== choice) {
        this.#say(`revision ${revision}: ${key} is bound to ${choice} and its IPAddress does not say so`)
      }
    }
    this.#seeReports(revision)
    this.#seeBerths(revision, bound)
    this.orders.see(revision)
    this.fleet.see(revision)
    this.machines.see(revision, ({ metadata }) => this.#used.add(metadata.uid))
  }

  #seeReports(revision: number): void {
    const shown = new Map<string, string>()
    for (const [key, report] of this.reports) {
      const owner = report.metadata.ownerReferences?.find(({ kind }) => kind === 'IPAddressClaim')
      const claim = owner && this.claims.get(`${report.metadata.namespace}/${owner.name}`)
      if (owner === undefined || claim === undefined || claim.metadata.uid !== owner.uid) continue
      if (choiceOf(claim) !== report.spec?.address) {
        this.#say(`revision ${revision}: IPAddress ${key} shows ${report.spec?.address}, its claim ${choiceOf(claim)}`)
      }
      const place = `${this.#spaceOf(claim)} ${report.spec?.address}`
      const other = shown.get(place)
      if (other !== undefined) this.#say(`revision ${revision}: IPAddress ${other} and ${key} both show ${place}`)
      shown.set(place, key)
    }
  }

  /** All parts or none, each held for its part; no address and no MAC of a network is had twice, by whichever desk. */
  #seeBerths(revision: number, bound: Map<string, string>): void {
    for (const [key, berth] of this.berths) {
      if (isLeaving(berth)) continue
      const parts = partsOf(berth)
      const isServed = readyOf(berth.status?.conditions)?.status === 'True'
      if (parts === undefined) {
        if (isServed) this.#say(`revision ${revision}: ${key} says it is served and stores no choice`)
        continue
      }
      for (const [part, what] of Object.entries(parts)) {
        const place = `${berth.spec?.network} ${what}`
        const other = bound.get(place)
        if (other !== undefined) this.#say(`revision ${revision}: ${other} and ${key} both have ${place}`)
        bound.set(place, key)
        if (!this.#isPartHeldBy(berth, part, what))
          this.#say(`revision ${revision}: ${key} has ${what} as ${part} and no hold of it`)
      }
      const asked = this.#partsAsked(berth).toSorted()
      if (Object.keys(parts).toSorted().join() !== asked.join())
        this.#say(`revision ${revision}: ${key} has ${Object.keys(parts)} of ${asked}`)
      if (!(berth.metadata.finalizers ?? []).includes(berthFinalizer))
        this.#say(`revision ${revision}: ${key} has a choice and lacks the finalizer`)
      const { addresses = [], mac } = berth.status ?? {}
      const shown = [...addresses, ...(mac === undefined ? [] : [mac])]
      if (isServed && shown.toSorted().join() !== Object.values(parts).toSorted().join())
        this.#say(`revision ${revision}: ${key} shows ${shown} and chose ${Object.values(parts)}`)
    }
  }

  #partsAsked({ spec }: Stored): string[] {
    const { subnets = [] } = this.networks.get(spec?.network ?? '')?.spec ?? {}
    return [...subnets.map(subnet => (subnet.includes(':') ? 'v6' : 'v4')), ...(spec?.mac === undefined ? [] : ['mac'])]
  }

  #isPartHeldBy({ metadata }: Stored, part: string, what: string): boolean {
    const holds = part === 'mac' ? this.macHolds : this.holds
    for (const { metadata: own, spec, status } of holds.values()) {
      const { uid, part: of } = spec?.claimRef ?? {}
      const held = part === 'mac' ? spec?.mac : spec?.address
      if (uid !== metadata.uid || of !== part || held !== what || status?.state !== 'held') continue
      this.#used.add(own.uid)
      return true
    }
    return false
  }

  #seeBerth(berth: Stored | undefined, before: Stored | undefined): void {
    const parts = berth && partsOf(berth)
    if (berth !== undefined && parts !== undefined) {
      const choice = JSON.stringify(parts)
      const first = this.#choices.get(berth.metadata.uid)
      if (first !== undefined && first !== choice) this.#say(`${keyOf(berth)} chose ${first} and then ${choice}`)
      if (first === undefined) this.#mustHaveRested(berth, Object.values(parts))
      this.#choices.set(berth.metadata.uid, first ?? choice)
    }
    if (berth === undefined || before === undefined || !isLeaving(berth) || isLeaving(before)) return
    // From here on it is not used: that is what a rest counts from.
    const restMs = (this.networks.get(berth.spec?.network ?? '')?.spec?.quarantineSeconds ?? 0) * 1000
    for (const what of Object.values(parts ?? {})) {
      const release = { claim: keyOf(berth), owner: '', uid: berth.metadata.uid, atMs: this.#now(), restMs }
      this.#released.set(`${berth.spec?.network} ${what}`, release)
    }
  }

  #mustHaveRested(berth: Stored, chosen: readonly string[]): void {
    for (const what of chosen) {
      const last = this.#released.get(`${berth.spec?.network} ${what}`)
      if (last === undefined || last.uid === berth.metadata.uid || last.claim === keyOf(berth)) continue
      const sinceMs = this.#now() - last.atMs
      if (sinceMs < last.restMs) this.#say(`${keyOf(berth)} got ${what} ${sinceMs} ms after ${last.claim} left it`)
    }
  }

  #isHeldBy({ metadata }: Stored, choice: string): boolean {
    for (const { metadata: own, spec, status } of this.holds.values()) {
      if (spec?.claimRef?.uid !== metadata.uid || spec.address !== choice || status?.state !== 'held') continue
      this.#used.add(own.uid)
      return true
    }
    return false
  }

  #seeClaim(claim: Stored | undefined, before: Stored | undefined): void {
    const choice = claim && choiceOf(claim)
    if (claim !== undefined && choice !== undefined) {
      const first = this.#choices.get(claim.metadata.uid)
      if (first !== undefined && first !== choice) this.#say(`${keyOf(claim)} chose ${first} and then ${choice}`)
      this.#choices.set(claim.metadata.uid, first ?? choice)
    }
    if (claim === undefined && before !== undefined && isBound(before)) this.#release(before, choiceOf(before) ?? '')
  }

  #seeReport(report: Stored | undefined, before: Stored | undefined): void {
    if (report !== undefined && before === undefined) this.#mustBeRested(report)
    const owner = before?.metadata.ownerReferences?.find(({ kind }) => kind === 'IPAddressClaim')
    if (report !== undefined || before === undefined || owner === undefined) return
    const claim = this.claims.get(`${before.metadata.namespace}/${owner.name}`)
    if (claim?.metadata.uid === owner.uid) this.#release(claim, before.spec?.address ?? '')
  }

  #release(claim: Stored, address: string): void {
    const pool = this.pools.get(poolKeyOf(claim))
    const restMs = pool === undefined || isLeaving(pool) ? 0 : (pool.spec?.quarantineSeconds ?? 0) * 1000
    const place = `${this.#spaceOf(claim)} ${address}`
    const owner = claim.metadata.ownerReferences?.[0]
    const release = {
      claim: keyOf(claim),
      owner: owner?.name ?? '',
      uid: claim.metadata.uid,
      atMs: this.#now(),
      restMs,
    }
    if (this.#released.get(place)?.uid !== release.uid) this.#released.set(place, release)
  }

  #mustBeRested(report: Stored): void {
    const owner = report.metadata.ownerReferences?.find(({ kind }) => kind === 'IPAddressClaim')
    const claim = owner && this.claims.get(`${report.metadata.namespace}/${owner.name}`)
    if (claim === undefined) return
    const last = this.#released.get(`${this.#spaceOf(claim)} ${report.spec?.address}`)
    if (last === undefined || last.uid === claim.metadata.uid || last.claim === keyOf(claim)) return
    const machine = claim.metadata.ownerReferences?.[0]?.name ?? ''
    if (machine !== '' && machine === last.owner) return
    if (this.#now() < last.atMs + last.restMs) {
      this.#say(
        `${keyOf(report)} got ${report.spec?.address} ${this.#now() - last.atMs} ms after ${last.claim} left it`,
      )
    }
  }

  #seeHold(hold: Stored | undefined, before: Stored | undefined): void {
    if (before === undefined) return
    const name = before.metadata.name
    if (before.status?.state === 'quarantined') {
      const untilMs = Date.parse(before.status.until ?? '')
      const isStranger = hold !== undefined && !isSameApplicant(before, hold)
      if (isStranger) this.#say(`${name} went from quarantine to a stranger`)
      if (hold === undefined && this.#now() < untilMs) this.#say(`${name} left quarantine early`)
      return
    }
    const uid = before.spec?.claimRef?.uid ?? ''
    const isOther = hold !== undefined && hold.spec?.claimRef?.uid !== uid
    if (isOther) this.#say(`${name} went from one claim to another without a rest`)
    if (hold === undefined && this.#used.has(before.metadata.uid)) {
      this.#say(`${name} was deleted while held`)
    }
  }

  #spaceOf(claim: Stored): string {
    return this.#spaces.get(poolKeyOf(claim)) ?? `unknown ${poolKeyOf(claim)}`
  }
}

const nameOf = (owner: Reference | undefined): string => `${owner?.kind} ${owner?.namespace}/${owner?.name}`

const isSameApplicant = (before: Stored, after: Stored): boolean => {
  const [one, other] = [before.spec?.claimRef, after.spec?.claimRef]
  if (one?.uid === other?.uid) return true
  if (one?.name === other?.name && one?.namespace === other?.namespace) return true
  return before.spec?.owner !== undefined && nameOf(before.spec.owner) === nameOf(after.spec?.owner)
}

const isOwnedBy = ({ metadata }: Stored, uid: string): boolean =>
  (metadata.ownerReferences ?? []).some(owner => owner.uid === uid)

const poolKey = ({ kind, metadata }: Stored): string => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`

const clusterWide = /^(Cluster|Global)/

function poolKeyOf({ metadata, spec }: Stored): string {
  const { kind = '', name = '' } = spec?.poolRef ?? {}
  return `${kind} ${clusterWide.test(kind) ? '' : (metadata.namespace ?? '')}/${name}`
}

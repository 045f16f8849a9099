// What the machine desk knows and may touch. Its reconcilers take all of it from here and nothing from anywhere else.

import type { IPAddress } from '../../api/ip-address.ts'
import type { IPAddressClaim } from '../../api/ip-address-claim.ts'
import { controllingMachine } from '../../api/machine.ts'
import { parseIP, toIPText } from '../../ip/address.ts'
import { isMalformed } from '../../ip/malformed.ts'
import { Cache } from '../../kube/cache.ts'
import type { Client } from '../../kube/client.ts'
import type { Recorder } from '../../kube/events.ts'
import { type Kind, type KubeObject, keyOf } from '../../kube/object.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Note } from '../office/journal.ts'
import { readable } from '../office/kept.ts'
import type { MachineMode, Office } from '../office/office.ts'
import type { Scope } from '../office/scope.ts'
import { claims, reports } from './kinds.ts'
import { claimOf, keepClaim, keepReport, reportOf } from './parsed.ts'

export interface Caches {
  /** Whole: lists of conditions are written back, with fields in them that are not read. */
  readonly machines: Cache<KubeObject>
  readonly claims: Cache<KubeObject>
  readonly reports: Cache<KubeObject>
}

export interface MachineWorld {
  readonly client: Client
  readonly clock: Clock
  readonly recorder: Pick<Recorder, 'event'>
  readonly scope: Scope
  readonly mode: MachineMode
  readonly caches: Caches
  readonly owned: OwnedClaims
  readonly shown: ShownAddresses
  /** Of the pass that runs. */
  readonly note: Note
}

/** Claims and IPAddresses are kept by the desk that serves them: one cache of each is enough. */
export function createCaches(office: Office): Caches {
  const sharedOr = (kind: Kind, keep: (object: KubeObject) => KubeObject): Cache<KubeObject> =>
    office.cacheOf(kind) ?? new Cache<KubeObject>({ isFrozen: office.isFrozen, keep })
  return {
    machines: new Cache<KubeObject>({ isFrozen: office.isFrozen }),
    claims: sharedOr(claims, keepClaim),
    reports: sharedOr(reports, keepReport),
  }
}

/** The claims that Machines control, by the key of the Machine: what is left of one that is gone is found here. */
export class OwnedClaims {
  readonly #cache: Cache<KubeObject>
  readonly #byMachine = new Map<string, Set<string>>()

  constructor(cache: Cache<KubeObject>) {
    this.#cache = cache
    for (const object of cache.values()) this.#put(object)
    cache.subscribe(({ old, new: next }) => {
      if (old !== undefined) this.#remove(old)
      if (next !== undefined) this.#put(next)
    })
  }

  of(machineKey: string): readonly IPAddressClaim[] {
    const keys = this.#byMachine.get(machineKey) ?? []
    return [...keys].flatMap(key => readable(this.#cache.get(key), claimOf) ?? [])
  }

  #put(object: KubeObject): void {
    const machine = machineKeyOf(object)
    if (machine !== undefined)
      this.#byMachine.set(machine, (this.#byMachine.get(machine) ?? new Set()).add(keyOf(object)))
  }

  #remove(object: KubeObject): void {
    const machine = machineKeyOf(object)
    const keys = machine === undefined ? undefined : this.#byMachine.get(machine)
    if (machine === undefined || keys === undefined) return
    keys.delete(keyOf(object))
    if (keys.size === 0) this.#byMachine.delete(machine)
  }
}

/**
 * IPAddresses by pool and address: two of one address are seen here, also where there is no pool that the ledger knows. Made when
 * it is first asked for: a cluster may have tens of thousands of IPAddresses and no Machine.
 */
export class ShownAddresses {
  readonly #cache: Cache<KubeObject>
  #byAddress: ByAddress | undefined

  constructor(cache: Cache<KubeObject>) {
    this.#cache = cache
    cache.subscribe(({ old, new: next }) => {
      if (this.#byAddress === undefined) return
      remove(this.#byAddress, readable(old, reportOf))
      put(this.#byAddress, readable(next, reportOf))
    })
  }

  /** Those with the pool and the address of this one. */
  alike(report: IPAddress): IPAddress[] {
    this.#byAddress ??= byAddressOf(this.#cache)
    return [...(this.#byAddress.get(placeOf(report)) ?? [])]
  }

  /** One with the address of this one that was there before it. */
  before(report: IPAddress): IPAddress | undefined {
    const [first] = this.alike(report).toSorted((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1))
    return first === undefined || first.metadata.name === report.metadata.name ? undefined : first
  }
}

type ByAddress = Map<string, Set<IPAddress>>

function byAddressOf(cache: Cache<KubeObject>): ByAddress {
  const byAddress: ByAddress = new Map()
  for (const object of cache.values()) put(byAddress, readable(object, reportOf))
  return byAddress
}

function put(byAddress: ByAddress, report: IPAddress | undefined): void {
  if (report === undefined || report.isDeleting) return
  const place = placeOf(report)
  byAddress.set(place, (byAddress.get(place) ?? new Set()).add(report))
}

function remove(byAddress: ByAddress, report: IPAddress | undefined): void {
  if (report === undefined) return
  const place = placeOf(report)
  const there = byAddress.get(place)
  for (const one of there ?? []) if (one.metadata.name === report.metadata.name) there?.delete(one)
  if (there?.size === 0) byAddress.delete(place)
}

/** Pools are taken for those of the namespace: where they are of the cluster, the ledger counts. */
function placeOf({ metadata, poolRef: { apiGroup, kind, name }, address }: IPAddress): string {
  const ip = parseIP(address)
  return [metadata.namespace, apiGroup, kind, name, isMalformed(ip) ? address : toIPText(ip)].join(' ')
}

const ageOf = ({ metadata: { creationTimestamp, name } }: IPAddress): string => `${creationTimestamp} ${name}`

/** Key of the Machine that controls the claim, by its owner reference. */
export function machineKeyOf(object: KubeObject): string | undefined {
  const claim = readable(object, claimOf)
  const owner = claim && controllingMachine(claim.metadata)
  return owner && `${claim.metadata.namespace}/${owner.name}`
}

// The same independent look at virtual machines: what their claims say to have is held; it does not change while a claim lives;
// it is given up by no hold while a pod of the machine can still run; no two claims have one address of a network; a pod is told
// what a claim of its own machine holds, and nothing else; a claim that asks for an address is given that one; and what was rendered
// of a network does not go while a claim of its namespace has an address of it. MACs and IPPools: mac-observer.ts,
// reservation-observer.ts.

import { MACObserver } from './mac-observer.ts'
import { isLeaving, keyOf, type Stored } from './observer.ts'
import { ReservationObserver } from './reservation-observer.ts'

const domainKey = 'kubevirt.io/domain'
const claimFinalizer = 'kubevirt.io/persistent-ipam'

export const addressesOf = ({ status }: Stored): readonly string[] => status?.ips ?? []

export const allocatedOf = (claim: Stored | undefined) =>
  claim?.status?.conditions?.find(({ type }) => type === 'IPsAllocated')

export const createdOf = (network: Stored | undefined) =>
  network?.status?.conditions?.find(({ type }) => type === 'NetworkCreated')

interface Told {
  readonly ip_addresses?: readonly string[]
  readonly mac_address?: string
}

const entriesOf = ({ metadata }: Stored): [string, Told][] =>
  Object.entries(JSON.parse(metadata.annotations?.['k8s.ovn.org/pod-networks'] ?? '{}') as Record<string, Told>)

/** The addresses that a pod is told, by the key of the attachment. */
export const toldTo = (pod: Stored): ReadonlyMap<string, readonly string[]> =>
  new Map(entriesOf(pod).map(([key, { ip_addresses = [] }]) => [key, ip_addresses]))

export const macsToldTo = (pod: Stored): ReadonlyMap<string, string> =>
  new Map(entriesOf(pod).flatMap(([key, { mac_address }]) => (mac_address === undefined ? [] : [[key, mac_address]])))

/** Undefined for none. */
export const macAskedBy = ({ spec, metadata }: Stored): string | undefined =>
  spec?.mac ?? (metadata.annotations?.['mooring.dev/requested-mac'] || undefined)

const ipsAskedBy = ({ metadata }: Stored): readonly string[] =>
  (metadata.annotations?.['mooring.dev/requested-ips'] ?? '').split(',').flatMap(ip => bare(ip.trim()) || [])

export const machineOf = ({ metadata }: Stored): string => metadata.annotations?.[domainKey] ?? ''

export const canRun = ({ status }: Stored): boolean => status?.phase !== 'Succeeded' && status?.phase !== 'Failed'

const bare = (ip: string): string => ip.split('/')[0] ?? ''

export class MachineObserver {
  readonly claims = new Map<string, Stored>()
  readonly vms = new Map<string, Stored>()
  readonly vmis = new Map<string, Stored>()
  readonly pods = new Map<string, Stored>()
  readonly attachments = new Map<string, Stored>()
  /** ClusterUserDefinedNetworks. */
  readonly definedNetworks = new Map<string, Stored>()
  readonly ipPools = new Map<string, Stored>()
  /** Claims with what other programs wrote into their status: no more than a wish, until they say that they have it. */
  readonly writtenByOthers = new Set<string>()
  /** Pods that other programs configured. */
  readonly configuredByOthers = new Set<string>()
  readonly #choices = new Map<string, string>()
  readonly #say: (violation: string) => void
  readonly #holds: ReadonlyMap<string, Stored>
  readonly #macHolds: ReadonlyMap<string, Stored>
  readonly #macs: MACObserver
  readonly #reservations: ReservationObserver

  constructor(
    say: (violation: string) => void,
    holds: ReadonlyMap<string, Stored>,
    macHolds: ReadonlyMap<string, Stored>,
    now: () => number,
  ) {
    this.#say = say
    this.#holds = holds
    this.#macHolds = macHolds
    this.#macs = new MACObserver(say, macHolds)
    this.#reservations = new ReservationObserver(say, now)
  }

  keptOf(kind: string): Map<string, Stored> | undefined {
    if (kind === 'IPAMClaim') return this.claims
    if (kind === 'VirtualMachine') return this.vms
    if (kind === 'VirtualMachineInstance') return this.vmis
    if (kind === 'NetworkAttachmentDefinition') return this.attachments
    if (kind === 'ClusterUserDefinedNetwork') return this.definedNetworks
    if (kind === 'IPPool') return this.ipPools
    return kind === 'Pod' ? this.pods : undefined
  }

  /** What must be true of all that is stored at this revision. */
  see(revision: number, use: (hold: Stored) => void): void {
    for (const [key, claim] of this.claims) this.#seeClaim(revision, key, claim, use)
    this.#seeTwins(revision)
    this.#seePods(revision)
    this.#seeHeldTwice(revision)
    this.#macs.see(revision, {
      seen: this,
      isUsed: claim => !isLeaving(claim) || this.#runs(claim),
      machineHolding: hold => this.#machineHolding(hold),
      use,
    })
  }

  /** One object was written. */
  seeWritten(object: Stored, before: Stored | undefined): void {
    if (object.kind === 'IPPool') this.#reservations.seePool(object, false)
    if (object.kind === 'IPAMClaim') {
      this.#macs.seeClaim(object, before)
      this.#seeFirst(object, before)
    }
    if (object.kind !== 'Hold' && object.kind !== 'MACHold') return
    const uid = object.spec?.claimRef?.uid
    const claim = [...this.claims.values()].find(({ metadata }) => metadata.uid === uid)
    if (claim !== undefined) this.#reservations.seeHold(object, before, claim)
  }

  /** What is asked for is given, or nothing. */
  #seeFirst(claim: Stored, before: Stored | undefined): void {
    const ips = addressesOf(claim)
    if (ips.length === 0 || (before !== undefined && addressesOf(before).length > 0) || this.#isWish(claim)) return
    const had = ips.map(bare)
    for (const ip of ipsAskedBy(claim))
      if (!had.includes(ip)) this.#say(`${keyOf(claim)} asks for ${ip} and was given ${ips.join()}`)
  }

  #isWish(claim: Stored): boolean {
    const isWritten = this.writtenByOthers.has(`${keyOf(claim)} ${addressesOf(claim).join()}`)
    return isWritten && allocatedOf(claim)?.status !== 'True'
  }

  #seeHeldTwice(revision: number): void {
    const held = new Map<string, string>()
    for (const [name, { spec, status }] of [...this.#holds, ...this.#macHolds]) {
      if (status?.state !== 'held') continue
      const place = `${spec?.space} ${spec?.address ?? spec?.mac}`
      const other = held.get(place)
      if (other !== undefined) this.#say(`revision ${revision}: ${other} and ${name} both hold ${place}`)
      held.set(place, name)
    }
  }

  seeGone(object: Stored): void {
    const { kind, metadata } = object
    if (kind === 'IPPool') this.#reservations.seePool(object, true)
    const [owner] = metadata.ownerReferences ?? []
    if (kind !== 'NetworkAttachmentDefinition' || owner?.kind !== 'ClusterUserDefinedNetwork') return
    for (const [key, claim] of this.claims) {
      const isOnIt =
        claim.metadata.namespace === metadata.namespace && claim.spec?.network === `cluster_udn_${owner.name}`
      if (isOnIt && addressesOf(claim).length > 0 && this.#isOfMachine(claim))
        this.#say(`${key} has an address, and its network is gone`)
    }
  }

  /** Its machine lives. A process that begins in the past makes claims, and networks, of what is gone: they go again. */
  #isOfMachine({ metadata }: Stored): boolean {
    const machines = [...this.vms.values(), ...this.vmis.values()]
    return machines.some(one => metadata.ownerReferences?.some(({ uid }) => uid === one.metadata.uid))
  }

  #seeClaim(revision: number, key: string, claim: Stored, use: (hold: Stored) => void): void {
    const ips = addressesOf(claim)
    if (ips.length === 0 || this.#isWish(claim)) return
    const { uid } = claim.metadata
    const first = this.#choices.get(uid)
    if (first !== undefined && first !== ips.join()) this.#say(`${key} had ${first} and then ${ips.join()}`)
    this.#choices.set(uid, first ?? ips.join())
    if (!(claim.metadata.finalizers ?? []).includes(claimFinalizer))
      this.#say(`revision ${revision}: ${key} has ${ips.join()} and lacks the finalizer`)
    if (ips.length !== new Set(ips.map(ip => ip.includes(':'))).size)
      this.#say(`revision ${revision}: ${key} has ${ips.join()}: more than one of a family`)
    // On its way out it may have given up some, once no pod of its machine can run.
    if (isLeaving(claim) && !this.#runs(claim)) return
    for (const ip of ips) {
      const hold = this.#holdOf(uid, bare(ip))
      if (hold === undefined) this.#say(`revision ${revision}: ${key} has ${ip} and no hold of it`)
      else use(hold)
    }
  }

  /** Also of those that only show it. */
  #seeTwins(revision: number): void {
    const had = new Map<string, string>()
    for (const [key, claim] of this.claims) {
      if (isLeaving(claim) || this.#isWish(claim)) continue
      for (const ip of addressesOf(claim)) {
        const place = `${claim.spec?.network} ${bare(ip)}`
        const other = had.get(place)
        if (other !== undefined) this.#say(`revision ${revision}: ${other} and ${key} both have ${place}`)
        had.set(place, key)
      }
    }
  }

  #holdOf(uid: string, address: string): Stored | undefined {
    for (const hold of this.#holds.values()) {
      const { spec, status } = hold
      if (spec?.claimRef?.uid === uid && spec.address === address && status?.state === 'held') return hold
    }
    return undefined
  }

  /** A pod that can still run was told an address of the claim. */
  #runs(claim: Stored): boolean {
    const ips = addressesOf(claim)
    return [...this.pods.values()].some(
      pod => canRun(pod) && [...toldTo(pod).values()].some(told => told.some(ip => ips.includes(ip))),
    )
  }

  #seePods(revision: number): void {
    const told = new Map<string, string>()
    for (const [key, pod] of this.pods) {
      if (!canRun(pod) || this.configuredByOthers.has(key)) continue
      const vm = machineOf(pod)
      for (const [attachment, ips] of toldTo(pod)) {
        for (const ip of ips) {
          const place = `${attachment} ${bare(ip)}`
          const other = told.get(place)
          if (other !== undefined && other !== vm)
            this.#say(`revision ${revision}: ${other} and ${vm} both use ${place}`)
          told.set(place, vm)
          const holders = this.#machinesAt(bare(ip))
          if (holders.length === 0) this.#say(`revision ${revision}: ${vm} uses ${place} and nothing holds it`)
          else if (!holders.includes(vm))
            this.#say(`revision ${revision}: ${vm} uses ${place}, which is held for ${holders.join()}`)
        }
      }
    }
  }

  /** A claim that was made beforehand may have no owner yet: then its name says which machine may use it. */
  #machineHolding({ spec }: Stored): string {
    if (spec?.owner?.name !== undefined) return spec.owner.name
    const claim = [...this.claims.values()].find(({ metadata }) => metadata.uid === spec?.claimRef?.uid)
    return claim?.metadata.ownerReferences?.[0]?.name ?? claim?.metadata.name.split('.')[0] ?? ''
  }

  /** For which machines an address is held, in whichever space. */
  #machinesAt(address: string): string[] {
    return [...this.#holds.values()]
      .filter(({ spec, status }) => spec?.address === address && status?.state === 'held')
      .map(hold => this.#machineHolding(hold))
  }
}

// MACs of virtual machines: a claim that says to have what it asks for holds its MAC, as long as it asks for that one and lives;
// no two machines are told one MAC of a network; and a pod is told a MAC that its machine holds, or one that is made of its own
// address, which then no other holds.

import { allocatedOf, canRun, macAskedBy, machineOf, macsToldTo, toldTo } from './machine-observer.ts'
import { keyOf, type Stored } from './observer.ts'

interface Look {
  readonly seen: Seen
  /** Its guest may still use what it has. */
  isUsed(claim: Stored): boolean
  machineHolding(hold: Stored): string
  use(hold: Stored): void
}

interface Seen {
  readonly claims: ReadonlyMap<string, Stored>
  readonly pods: ReadonlyMap<string, Stored>
  readonly attachments: ReadonlyMap<string, Stored>
  readonly configuredByOthers: ReadonlySet<string>
}

export class MACObserver {
  /** What a claim said to have, by its uid. */
  readonly #had = new Map<string, string>()
  readonly #say: (violation: string) => void
  readonly #macHolds: ReadonlyMap<string, Stored>

  constructor(say: (violation: string) => void, macHolds: ReadonlyMap<string, Stored>) {
    this.#say = say
    this.#macHolds = macHolds
  }

  /** A claim was written. */
  seeClaim(claim: Stored, before: Stored | undefined): void {
    const { uid } = claim.metadata
    const mac = macAskedBy(claim)
    if (before === undefined || macAskedBy(before) !== mac) this.#had.delete(uid)
    if (allocatedOf(claim)?.status !== 'True') this.#had.delete(uid)
    else if (mac !== undefined && JSON.stringify(claim.status) !== JSON.stringify(before?.status)) {
      this.#had.set(uid, mac)
    }
  }

  see(revision: number, look: Look): void {
    const { seen, isUsed, use } = look
    for (const claim of seen.claims.values()) {
      const mac = this.#had.get(claim.metadata.uid)
      if (mac === undefined || !isUsed(claim)) continue
      const hold = this.#heldAt(mac).find(({ spec }) => spec?.claimRef?.uid === claim.metadata.uid)
      if (hold === undefined) this.#say(`revision ${revision}: ${keyOf(claim)} has ${mac} and no hold of it`)
      else use(hold)
    }
    this.#seePods(revision, look)
  }

  #seePods(revision: number, { seen, machineHolding }: Look): void {
    const { pods, attachments, configuredByOthers } = seen
    const told = new Map<string, string>()
    for (const [key, pod] of pods) {
      if (!canRun(pod) || configuredByOthers.has(key)) continue
      const vm = machineOf(pod)
      for (const [attachment, mac] of macsToldTo(pod)) {
        const place = `${attachment} ${mac}`
        const other = told.get(place)
        if (other !== undefined && other !== vm) this.#say(`revision ${revision}: ${other} and ${vm} both use ${place}`)
        told.set(place, vm)
        const space = networkOf(attachments.get(attachment))
        const holders = this.#heldAt(mac)
          .filter(({ spec }) => spec?.space === space)
          .map(machineHolding)
        const isMade =
          toldTo(pod)
            .get(attachment)
            ?.some(ip => madeOf(ip) === mac) === true
        if (holders.length === 0 && !isMade) this.#say(`revision ${revision}: ${vm} uses ${place} and nothing holds it`)
        if (holders.length > 0 && !holders.includes(vm))
          this.#say(`revision ${revision}: ${vm} uses ${place}, which is held for ${holders.join()}`)
      }
    }
  }

  #heldAt(mac: string): Stored[] {
    return [...this.#macHolds.values()].filter(({ spec, status }) => spec?.mac === mac && status?.state === 'held')
  }
}

/** The name inside of the config: spaces are called after it. */
function networkOf(attachment: Stored | undefined): string | undefined {
  return (JSON.parse(attachment?.spec?.config ?? '{}') as { name?: string }).name
}

/** As OVN-Kubernetes makes it of an IPv4 address. */
function madeOf(cidr: string): string | undefined {
  if (cidr.includes(':')) return undefined
  const bytes = (cidr.split('/')[0] ?? '').split('.').map(byte => Number(byte).toString(16).padStart(2, '0'))
  return `0a:58:${bytes.join(':')}`
}

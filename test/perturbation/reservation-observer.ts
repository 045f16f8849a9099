// What an IPPool keeps is given to no other: neither the address nor the MAC of an entry. A process may be told of an entry as
// late as a swallowed event is made up for, and no later.

import { macAskedBy } from './machine-observer.ts'
import type { Stored } from './observer.ts'

/** A stream that swallowed an event is listed again after a minute. */
const graceMs = 75_000

interface Kept {
  readonly network: string
  /** An address, or a MAC. */
  readonly what: string
  readonly mac: string
  /** Namespace and name of the machine that it is bound to; undefined for any. */
  readonly boundTo: string | undefined
  readonly sinceMs: number
}

export class ReservationObserver {
  readonly #kept = new Map<string, readonly Kept[]>()
  readonly #say: (violation: string) => void
  readonly #now: () => number

  constructor(say: (violation: string) => void, now: () => number) {
    this.#say = say
    this.#now = now
  }

  seePool(pool: Stored, isGone: boolean): void {
    const before = this.#kept.get(pool.metadata.name) ?? []
    const network = pool.spec?.['network-name'] ?? ''
    const { entries = {}, bindings = {} } = isGone ? {} : (pool.spec ?? {})
    const kept = Object.entries(entries).flatMap(([mac, ips]) => {
      const binding = bindings[mac]
      const boundTo = binding && `${binding.namespace}/${binding.virtualMachine}`
      return [mac, ...ips.map(ip => ip.split('/')[0] ?? '')].map((what): Kept => {
        const same = before.find(one => one.what === what && one.mac === mac && one.boundTo === boundTo)
        return { network, what, mac, boundTo, sinceMs: same?.sinceMs ?? this.#now() }
      })
    })
    this.#kept.set(pool.metadata.name, kept)
  }

  /** A hold was written, in the name of this claim. */
  seeHold(hold: Stored, before: Stored | undefined, claim: Stored): void {
    const { claimRef, owner, space, address, mac } = hold.spec ?? {}
    const isSame = before?.spec?.claimRef?.uid === claimRef?.uid && before?.status?.state === 'held'
    if (isSame || hold.status?.state !== 'held') return
    for (const kept of [...this.#kept.values()].flat()) {
      if (kept.network !== space || kept.what !== (address ?? mac)) continue
      const isIts = kept.boundTo === undefined || kept.boundTo === `${claimRef?.namespace}/${owner?.name}`
      if (macAskedBy(claim) === kept.mac && isIts) continue
      if (this.#now() - kept.sinceMs > graceMs)
        this.#say(`${claimRef?.name} has ${kept.what}, which is kept for ${kept.mac} of ${kept.boundTo ?? 'any'}`)
    }
  }
}

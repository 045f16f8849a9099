// What an IPPool keeps of its network: MACs, and the addresses that go with them.
//
// They become reservations of the pools of the network, so that every rule for reservations is theirs. A claim has one by a key:
//
//   <namespace>/<virtual machine>/<mac>    an entry that is bound to a virtual machine
//   <namespace>/*/<mac>                    an entry that is bound to a namespace
//   <mac>                                  any other
//   <one of these>#2                       a further address of the same family: given if the claim asks for it by its address
//   !<n>                                   an address that no claim gets: of an entry that is listed twice, or cannot be read

import type { IPPoolEntry } from '../api/ip-pool.ts'
import type { Pool } from '../api/pool.ts'
import { type IP, type IPText, isSameIP, toIPText } from '../ip/address.ts'
import type { MACText } from '../ip/mac.ts'
import { hasIP } from '../ip/range-set.ts'
import { type Refusal, refuse } from '../ipam/refusal.ts'

export interface Reserved {
  readonly macs: ReadonlyMap<MACText, ReservedMAC>
  /** Those that no claim gets. */
  readonly locked: readonly IP[]
}

export interface ReservedMAC {
  readonly ips: readonly IP[]
  /** Undefined where it is for the first that has the MAC. */
  readonly boundTo: IPPoolEntry['boundTo']
  /** It is listed twice, one of its addresses is, or something of it cannot be read. */
  readonly isLocked: boolean
}

export interface Duplicates {
  /** How often each is listed. */
  readonly macs: ReadonlyMap<MACText, number>
  /** With how many MACs each is listed. */
  readonly ips: ReadonlyMap<IPText, number>
}

type Entries = readonly IPPoolEntry[]

export function duplicatesOf(entries: Entries): Duplicates {
  const macs = new Map<MACText, number>()
  const ips = new Map<IPText, Set<string>>()
  for (const { key, mac, ips: listed } of entries) {
    if (mac !== undefined) macs.set(mac, (macs.get(mac) ?? 0) + 1)
    for (const ip of listed) {
      const text = toIPText(ip)
      ips.set(text, (ips.get(text) ?? new Set()).add(mac ?? key))
    }
  }
  const several = [...ips].map(([ip, { size }]) => [ip, size] as const)
  return { macs: moreThanOne(macs), ips: moreThanOne(several) }
}

const moreThanOne = <K>(counts: Iterable<readonly [K, number]>): Map<K, number> =>
  new Map([...counts].filter(([, count]) => count > 1))

export function reservedOf(entries: Entries): Reserved {
  const duplicates = duplicatesOf(entries)
  const macs = new Map<MACText, ReservedMAC>()
  const locked: IP[] = []
  for (const { mac, ips, boundTo, isWhole } of entries) {
    const isRepeated = mac !== undefined && duplicates.macs.has(mac)
    const isLocked = !isWhole || isRepeated || ips.some(ip => duplicates.ips.has(toIPText(ip)))
    if (isLocked) locked.push(...ips)
    if (mac !== undefined) macs.set(mac, { ips: isLocked ? [] : ips, boundTo, isLocked })
  }
  return { macs, locked }
}

/** The reservations of one pool of the network. */
export function reservationsIn({ macs, locked }: Reserved, pool: Pick<Pool, 'family' | 'addresses'>): Map<string, IP> {
  const reservations = new Map<string, IP>()
  for (const [mac, { ips, boundTo }] of macs) {
    const ofFamily = ips.filter(({ family }) => family === pool.family)
    // One that is not there is never in the way of one that is.
    const isThere = (ip: IP) => hasIP(pool.addresses, ip)
    const inOrder = [...ofFamily.filter(isThere), ...ofFamily.filter(ip => !isThere(ip))]
    for (const [i, ip] of inOrder.entries()) reservations.set(further(keyOf(mac, boundTo), i), ip)
  }
  const ofFamily = locked.filter(({ family }) => family === pool.family)
  for (const [i, ip] of ofFamily.entries()) reservations.set(`!${i}`, ip)
  return reservations
}

const keyOf = (mac: MACText, boundTo: ReservedMAC['boundTo']): string =>
  boundTo === undefined ? mac : `${boundTo.namespace}/${boundTo.virtualMachine ?? '*'}/${mac}`

const further = (key: string, i: number): string => (i === 0 ? key : `${key}#${i + 1}`)

/** A claim that asks for a MAC: by what it is, not by what it says of itself. */
export interface MACApplicant {
  readonly mac: MACText
  readonly namespace: string
  /** Name of the virtual machine that owns the claim. */
  readonly virtualMachine: string | undefined
}

/** The keys under which a pool keeps an address for the interface with this MAC. `wanted`: what it asks for by its address. */
export function keysOfMAC(
  { reservations }: Pick<Pool, 'reservations'>,
  { mac, namespace, virtualMachine }: MACApplicant,
  wanted: IP | undefined,
): string[] {
  if (reservations.size === 0) return []
  const keys = [...(virtualMachine === undefined ? [] : [`${namespace}/${virtualMachine}/${mac}`])]
  keys.push(`${namespace}/*/${mac}`, mac)
  const own = keys.find(key => reservations.has(key))
  if (own === undefined || wanted === undefined) return keys
  for (let i = 1; ; i++) {
    const key = further(own, i)
    const ip = reservations.get(key)
    if (ip === undefined) return keys
    if (isSameIP(ip, wanted)) return [key]
  }
}

/** Why a claim may not have a MAC, whether or not another claim has it; undefined if it may. */
export function whyMACReserved(reserved: Reserved | undefined, applicant: MACApplicant): Refusal | undefined {
  const { mac, namespace, virtualMachine } = applicant
  const kept = reserved?.macs.get(mac)
  if (kept === undefined) return undefined
  const { boundTo, isLocked } = kept
  const isFor =
    boundTo === undefined ||
    (boundTo.namespace === namespace &&
      (boundTo.virtualMachine === undefined || boundTo.virtualMachine === virtualMachine))
  if (!isFor) return refuse('MACReserved', `${mac} is kept for another virtual machine: ask for another MAC address`)
  if (!isLocked) return undefined
  const why = `what is kept for ${mac} on its network is not clear, and nothing of it is given out`
  return refuse('MACReserved', `${why}: have the entry corrected in the IPPool of the network`)
}

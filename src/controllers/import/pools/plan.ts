// What the status of an IPPool says: one pure function from what was seen. Its conditions:
//
//   Success                  no MAC and no IP address is listed twice, and every entry can be read
//   DuplicateMACAddresses    a MAC is listed twice, in whichever notations
//   DuplicateIPAddresses     an IP address is listed with several MACs
//   EntriesUsable            the pool counts for its network, and each address can be given to its virtual machine
//
// The first three are about the data alone, in the words of the enhancement that proposes the kind.

import type { ConditionFact } from '../../../api/condition.ts'
import type { EntryProblem, IPPool, IPPoolEntry } from '../../../api/ip-pool.ts'
import type { Identity } from '../../../api/object.ts'
import { type IP, toIPText } from '../../../ip/address.ts'
import type { MACText } from '../../../ip/mac.ts'
import { quoteText } from '../../../ip/malformed.ts'
import { quoteUnlessName } from '../../../ip/object-name.ts'
import { type NotOffered, whyNotOffered } from '../../../ipam/pool-set.ts'
import { poolText } from '../../../ipam/refusal.ts'
import type { Network } from '../../../networks/network.ts'
import {
  duplicatesOf,
  type MACApplicant,
  type Reserved,
  reservedOf,
  whyMACReserved,
} from '../../../networks/reserved.ts'

/** One claim, and what it has on the network. */
export interface Use {
  readonly claim: Identity
  readonly virtualMachine: string | undefined
  readonly mac: MACText | undefined
  /** In their order. */
  readonly ips: readonly IP[]
}

/** What there is under the name of the network. */
export type NetworkSeen =
  | { readonly kind: 'served'; readonly network: Network; readonly isObserved: boolean }
  /** Its addresses are not those of a network of OVN-Kubernetes. */
  | { readonly kind: 'other'; readonly network: Network }
  | { readonly kind: 'none' }

export interface Seen {
  readonly pool: IPPool
  /** Name of the one that counts for the network; this one, if no other was there first. */
  readonly counts: string
  readonly network: NetworkSeen
  /** Keys of its NetworkAttachmentDefinitions, in order. */
  readonly attachments: readonly string[]
  /** In the order of their addresses. */
  readonly uses: readonly Use[]
  /** Whether the network is offered to a namespace. */
  isOffered(namespace: string): boolean
}

export interface PlannedStatus {
  readonly facts: readonly ConditionFact[]
  readonly 'associated-nads': readonly { readonly name: string }[]
  readonly 'in-use': readonly object[]
  readonly 'in-use-count': number
}

/** As many as the definition lets in: the whole of it must fit into one object, beside the entries. */
const listedMax = 1_000

export function planStatus(seen: Seen): PlannedStatus {
  const { pool, attachments, uses } = seen
  const reserved = reservedOf(pool.entries)
  const facts = [...dataConditions(pool), usableCondition(seen, reserved)]
  const { generation: observedGeneration } = pool.metadata
  const listed = new Set(pool.entries.flatMap(({ ips }) => ips.map(toIPText)))
  return {
    facts: facts.map(fact => ({ ...fact, observedGeneration })),
    'associated-nads': attachments.slice(0, listedMax).map(name => ({ name })),
    'in-use': uses.slice(0, listedMax).map(({ claim, virtualMachine, mac, ips }) => ({
      ...(mac !== undefined && { mac }),
      ips: ips.map(toIPText),
      namespace: claim.namespace,
      claim: claim.name,
      ...(virtualMachine !== undefined && { 'virtual-machine': virtualMachine }),
      reserved: (mac !== undefined && reserved.macs.has(mac)) || ips.some(ip => listed.has(toIPText(ip))),
    })),
    'in-use-count': uses.length,
  }
}

// --- about the data ---

function dataConditions({ entries, problems }: IPPool): ConditionFact[] {
  const { macs, ips } = duplicatesOf(entries)
  const found = [
    ...[...macs.keys()].map(mac => `Duplicate MAC ${mac} found in entries`),
    ...[...ips.keys()].map(ip => `Duplicate IP ${ip} found in entries`),
  ]
  const success =
    found.length > 0
      ? ({ status: 'False', reason: 'DuplicatesExist', message: several(found) } as const)
      : problems.length > 0
        ? ({ status: 'False', reason: 'EntriesMalformed', message: several(problems.map(sentenceOf)) } as const)
        : ({ status: 'True', reason: 'NoDuplicates', message: 'All MAC and IP addresses are unique' } as const)
  const times = (what: string, counts: ReadonlyMap<string, number>) =>
    several([...counts].map(([one, count]) => `${what} ${one} appears ${count} times`))
  return [
    { type: 'Success', ...success },
    macs.size > 0
      ? duplicates('DuplicateMACAddresses', 'True', 'DuplicateMACFound', times('MAC address', macs))
      : duplicates('DuplicateMACAddresses', 'False', 'NoMACDuplicates', 'All MAC addresses are unique'),
    ips.size > 0
      ? duplicates('DuplicateIPAddresses', 'True', 'DuplicateIPFound', times('IP address', ips))
      : duplicates('DuplicateIPAddresses', 'False', 'NoIPDuplicates', 'All IP addresses are unique per MAC'),
  ]
}

const duplicates = (type: string, status: 'True' | 'False', reason: string, message: string): ConditionFact => ({
  type,
  status,
  reason,
  message,
})

/** Most of them name the value themselves. */
const sentenceOf = ({ field, value, problem }: EntryProblem): string => {
  const shown = typeof value === 'string' && !problem.startsWith('"') ? `${quoteText(value)} ` : ''
  const isPlain = field.length <= 120 && /^[ -~]*$/.test(field)
  return `${isPlain ? field : quoteText(field)}: ${shown}${problem}`
}

// --- about what can be given ---

function usableCondition(seen: Seen, reserved: Reserved): ConditionFact {
  const { pool, counts, network } = seen
  const name = `network ${quoteUnlessName(pool.networkName)}`
  const not = (reason: string, message: string): ConditionFact => ({
    type: 'EntriesUsable',
    status: 'False',
    reason,
    message,
  })
  if (counts !== pool.metadata.name) {
    const why = `IPPool ${counts} was there first for ${name}, and counts alone`
    return not('OtherPoolCounts', `${why}: move the entries there, or delete it`)
  }
  if (network.kind === 'none') {
    return not('NetworkNotFound', `${name} does not exist: its entries count as soon as it does`)
  }
  if (network.kind === 'other') return not('NetworkNotServed', otherNetwork(name, network.network))
  if (network.isObserved) {
    const why = `OVN-Kubernetes gives out the addresses of ${name}, and only hears what machines with these MACs ask for`
    return not('NetworkObserved', `${why}: keep these addresses from others by its reservedSubnets`)
  }
  if (!network.network.allowsPersistentIPs) {
    const why = `no virtual machine keeps its addresses on ${name}`
    return not('NetworkNotPersistent', `${why}: make it with ipam.lifecycle Persistent`)
  }
  const holders = holdersOf(seen.uses)
  const problems = pool.entries.flatMap(entry => whyNotUsable(entry, network.network, seen, reserved, holders))
  if (problems.length > 0) return not('EntriesNotUsable', several(problems))
  const message = 'Every entry can be given to its virtual machine'
  return { type: 'EntriesUsable', status: 'True', reason: 'AllUsable', message }
}

function otherNetwork(name: string, { source, pools }: Network): string {
  const what = pools.length === 0 ? poolText(source) : `ranges of its own, in ${poolText(source)}`
  return `${name} has its addresses from ${what}: keep them by spec.preAllocations of an AddressPool or ClusterAddressPool`
}

const notOfferedTexts: Readonly<Record<NotOffered, string>> = {
  outOfRange: 'is outside of the subnets of the network',
  excluded: 'is excluded from the network, or its own',
  gateway: 'is the gateway of the network',
  reserved: 'is no address for a host in its subnet',
}

/** By what they have: there may be thousands of entries, and of claims. */
interface Holders {
  readonly byMAC: ReadonlyMap<MACText, Use>
  readonly byIP: ReadonlyMap<string, Use>
}

const holdersOf = (uses: readonly Use[]): Holders => ({
  byMAC: new Map(uses.flatMap(use => (use.mac === undefined ? [] : [[use.mac, use] as const]))),
  byIP: new Map(uses.flatMap(use => use.ips.map(ip => [toIPText(ip), use] as const))),
})

function whyNotUsable(
  entry: IPPoolEntry,
  network: Network,
  seen: Seen,
  reserved: Reserved,
  { byMAC, byIP }: Holders,
): string[] {
  const { mac, ips, boundTo } = entry
  const name = mac ?? quoteText(entry.key)
  if (mac === undefined || reserved.macs.get(mac)?.isLocked === true) {
    return [`${name}: it is listed twice, or cannot be read: neither it nor its addresses are given out`]
  }
  if (boundTo !== undefined && !seen.isOffered(boundTo.namespace)) {
    return [`${name}: the network is not offered to namespace ${boundTo.namespace}`]
  }
  const holder = byMAC.get(mac)
  if (holder !== undefined && whyMACReserved(reserved, applicantOf(holder, mac)) !== undefined) {
    return [`${name}: it is held by ${claimText(holder)}, which it is not bound to`]
  }
  return ips.flatMap(ip => {
    const pool = network.pools.find(({ family }) => family === ip.family)
    const why = pool && whyNotOffered(pool, ip)
    if (pool === undefined) return [`${name}: ${toIPText(ip)} is IPv${ip.family}, and the network has none of these`]
    if (why !== undefined) return [`${name}: ${toIPText(ip)} ${notOfferedTexts[why]}`]
    const other = byIP.get(toIPText(ip))
    return other === undefined || other.mac === mac ? [] : [`${name}: ${toIPText(ip)} is held by ${claimText(other)}`]
  })
}

const applicantOf = ({ claim, virtualMachine }: Use, mac: MACText): MACApplicant => ({
  mac,
  namespace: claim.namespace,
  virtualMachine,
})

const claimText = ({ claim: { kind, namespace, name } }: Use): string => `${kind} ${namespace}/${name}`

/** More are counted: there may be thousands. */
const namedMax = 10

function several(sentences: readonly string[]): string {
  const more = sentences.length - namedMax
  const named = sentences.slice(0, namedMax).join('; ')
  return more > 0 ? `${named}; and ${more} more` : named
}

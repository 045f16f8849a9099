// Checks of MACs and addresses that more than one has: two machines of the import, or one of them and something in the cluster.

import { readEntries } from '../api/ip-pool.ts'
import { type IPText, toIPText } from '../ip/address.ts'
import type { MACText } from '../ip/mac.ts'
import { type PlannedCard, type PlannedMachine, sourceIdOf } from './cards.ts'
import type { Finding } from './finding.ts'
import type { Mapping } from './mapping.ts'
import type { ImportTarget } from './target.ts'

interface Place {
  readonly machine: PlannedMachine
  readonly card: PlannedCard
}

export function checkShared(planned: readonly PlannedMachine[], mapping: Mapping, target: ImportTarget): Finding[] {
  const places = planned.flatMap(machine => machine.cards.map(card => ({ machine, card })))
  const byMAC = groupBy(places, ({ card }) => (card.mac === undefined ? [] : [card.mac]))
  const byIP = groupBy(places, ({ card }) => card.ips.map(ip => placeOf(toIPText(ip), card.networkName)))
  const others = ownedByOthers(mapping, target)
  return places.flatMap(place => [
    ...macsInBatch(place, byMAC, mapping),
    ...ipsInBatch(place, byIP),
    ...macsInTarget(place, others, mapping),
    ...ipsInTarget(place, others),
  ])
}

const placeOf = (ip: IPText, networkName: string | undefined): string => `${ip} ${networkName ?? ''}`

function groupBy<T>(values: readonly T[], keysOf: (value: T) => readonly string[]): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>()
  for (const value of values) {
    for (const key of keysOf(value)) {
      const group = groups.get(key)
      if (group === undefined) groups.set(key, [value])
      else group.push(value)
    }
  }
  return groups
}

const about = ({ machine, card }: Place): Pick<Finding, 'machine' | 'nic'> => ({
  machine: machine.source.name,
  nic: card.nic.key,
})

const nameOf = ({ machine, card }: Place): string => `card ${card.nic.key} of ${machine.source.name}`

type Places = ReadonlyMap<string, readonly Place[]>

function macsInBatch(place: Place, byMAC: Places, { isSourceOff }: Mapping): Finding[] {
  const { mac, networkName } = place.card
  if (mac === undefined) return []
  const same = (byMAC.get(mac) ?? []).filter(other => other.card !== place.card)
  return same.map((other): Finding => {
    // On one network both could never run at once, and an IPPool has one entry for a MAC.
    const isOneNetwork = networkName !== undefined && other.card.networkName === networkName
    const fix = isOneNetwork
      ? 'Give one of them another MAC in the source, or skip one: --skip.'
      : 'Give one of them another MAC, or say --source-will-be-off if they never run at the same time.'
    const message = `the MAC ${mac} is also that of ${nameOf(other)}`
    const severity = isSourceOff && !isOneNetwork ? 'warn' : 'error'
    return { id: 'MacDuplicateInBatch', severity, ...about(place), message, fix }
  })
}

function ipsInBatch(place: Place, byIP: Places): Finding[] {
  const { card } = place
  return card.ips.map(toIPText).flatMap(ip => {
    const same = (byIP.get(placeOf(ip, card.networkName)) ?? []).filter(other => other.card !== card)
    return same.map((other): Finding => {
      const message = `${ip} is also the address of ${nameOf(other)}, on the same network`
      const fix = 'Give one of them another address in the source, or choose another with --address.'
      return { id: 'IpDuplicateInBatch', severity: 'error', ...about(place), message, fix }
    })
  })
}

// --- what is in the cluster ---

interface Owned {
  readonly macs: (mac: MACText, place: Place) => string[]
  readonly ips: (ip: IPText, place: Place) => string[]
}

/** What belongs to the VirtualMachine that was made of the very same machine earlier is no conflict. */
function ownedByOthers({ namespace }: Mapping, target: ImportTarget): Owned {
  const sources = new Map(target.machines.map(one => [`${one.namespace}/${one.name}`, one.source]))
  const isOwn = (vm: string | undefined, { machine }: Place) =>
    vm === `${namespace}/${machine.name}` && sources.get(vm) === sourceIdOf(machine.source)
  const cards = groupBy(target.cards, ({ mac }) => [mac])
  const addresses = groupBy(target.addresses, ({ ip, networkName }) => [placeOf(ip, networkName)])
  const entries = entriesOf(target)
  const entriesByMAC = groupBy(entries, ({ mac }) => [mac])
  const entriesByIP = groupBy(entries, ({ ips, networkName }) => ips.map(ip => placeOf(ip, networkName)))
  const isFor = (entry: Entry, { machine }: Place) =>
    entry.namespace === undefined ||
    (entry.namespace === namespace && (entry.vm === undefined || entry.vm === machine.name))
  const owners = (found: readonly { readonly owner: string; readonly vm: string | undefined }[], place: Place) =>
    found.filter(({ vm }) => !isOwn(vm, place)).map(({ owner }) => owner)
  return {
    macs: (mac, place) => [
      ...owners(cards.get(mac) ?? [], place),
      ...(entriesByMAC.get(mac) ?? [])
        .filter(one => one.networkName === place.card.networkName && !isFor(one, place))
        .map(({ owner }) => owner),
    ],
    ips: (ip, place) => [
      ...owners(addresses.get(placeOf(ip, place.card.networkName)) ?? [], place),
      ...(entriesByIP.get(placeOf(ip, place.card.networkName)) ?? [])
        .filter(one => one.mac !== place.card.mac || !isFor(one, place))
        .map(({ owner }) => owner),
    ],
  }
}

interface Entry {
  readonly mac: MACText
  readonly ips: readonly IPText[]
  readonly networkName: string
  /** Undefined where it is bound to none. */
  readonly namespace: string | undefined
  readonly vm: string | undefined
  readonly owner: string
}

function entriesOf({ pools }: ImportTarget): Entry[] {
  return pools.flatMap(({ name, networkName, entries, bindings }) =>
    readEntries({ entries, bindings }).entries.flatMap(({ mac, ips, boundTo }): Entry[] => {
      if (mac === undefined) return []
      const { namespace, virtualMachine: vm } = boundTo ?? {}
      const bound = namespace === undefined ? '' : ` for ${namespace}${vm === undefined ? '' : `/${vm}`}`
      const owner = `IPPool ${name}, which keeps it for ${mac}${bound}`
      return [{ mac, ips: ips.map(toIPText), networkName, namespace, vm, owner }]
    }),
  )
}

function macsInTarget(place: Place, others: Owned, { isSourceOff }: Mapping): Finding[] {
  const { mac } = place.card
  if (mac === undefined) return []
  return different(others.macs(mac, place)).map(owner => ({
    id: 'MacConflictTarget',
    severity: isSourceOff ? 'warn' : 'error',
    ...about(place),
    message: `the MAC ${mac} is that of ${owner}`,
    fix: 'Delete that, give the card another MAC, or say --source-will-be-off if both never run at the same time.',
  }))
}

function ipsInTarget(place: Place, others: Owned): Finding[] {
  return place.card.ips.map(toIPText).flatMap(ip =>
    different(others.ips(ip, place)).map(owner => ({
      id: 'IpConflictTarget',
      severity: 'error',
      ...about(place),
      message: `${ip} is that of ${owner}`,
      fix: 'Delete that, or give the machine another address.',
    })),
  )
}

const different = (texts: readonly string[]): string[] => [...new Set(texts)]

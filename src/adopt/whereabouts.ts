// The objects of whereabouts, read from what the API answers: which pod has which address, and what its networks offer.
//
// All allocations of a range are one IPPool, by their distance from the first address of the range. A reservation is one object per
// address, named after it; it guards the address where ranges overlap. The two are written one after the other, and may disagree.

import { type Metadata, metadataOf } from '../api/object.ts'
import { childOf, isRecord, jsonOf, malformedBy, requiredText, shapeOf, textOf } from '../api/shape.ts'
import { bitsOf, fromValue, highestValue, type IP, parseIP, toIPText, toValue } from '../ip/address.ts'
import { type CIDR, containsIP, parseCIDR, toCIDRText, toNetwork } from '../ip/cidr.ts'
import { isMalformed, type Malformed, quoteText } from '../ip/malformed.ts'
import { plainText, readConfig } from '../networks/config.ts'

export const whereaboutsGroup = 'whereabouts.cni.cncf.io'

/** One address that whereabouts has given to an interface of a pod. */
export interface Allocation {
  readonly ip: IP
  /** `namespace/name`. */
  readonly pod: string
  /** In the pod; empty where an old version did not write it. */
  readonly interface: string
  /** `IPPool kube-system/192.168.2.0-24` */
  readonly shownBy: string
}

export function parseWhereaboutsPool(object: unknown): readonly Allocation[] | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const metadata = metadataOf(childOf(root, 'metadata'))
  const spec = childOf(root, 'spec')
  const range = parseCIDR(requiredText(spec, 'range'))
  if (isMalformed(range)) return { malformed: `spec.range: ${range.malformed}` }
  const { allocations = {} } = spec.value as { readonly allocations?: unknown }
  const found = Object.entries(isRecord(allocations) ? allocations : {}).map(([offset, value]) => {
    const entry = shapeOf(value, `spec.allocations.${offset}`, faults)
    const ip = addressAt(range, offset)
    if (ip === undefined)
      faults.push(`spec.allocations has ${quoteText(offset)}, which is no place in ${toCIDRText(range)}`)
    return { ip, pod: textOf(entry, 'podref') ?? '', interface: textOf(entry, 'ifname') ?? '' }
  })
  if (faults.length > 0) return malformedBy(faults)
  const shownBy = `IPPool ${keyOf(metadata)}`
  return found.flatMap(({ ip, ...rest }) => (ip === undefined ? [] : [{ ip, ...rest, shownBy }]))
}

function addressAt({ ip }: CIDR, offset: string): IP | undefined {
  if (!/^\d{1,39}$/.test(offset)) return undefined
  const value = toValue(ip) + BigInt(offset)
  return value > highestValue(ip.family) ? undefined : fromValue(ip.family, value)
}

/** `10.0.0.5`, `fd00--5`, and behind the name of a network `blue-10.0.0.5`. */
export function parseReservation(object: unknown): Allocation | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const metadata = metadataOf(childOf(root, 'metadata'))
  const spec = childOf(root, 'spec')
  const [pod, own] = [textOf(spec, 'podref') ?? '', textOf(spec, 'ifname') ?? '']
  const ip = addressIn(metadata.name)
  if (ip === undefined) faults.push(`its name ${quoteText(metadata.name)} ends in no address`)
  const shownBy = `OverlappingRangeIPReservation ${keyOf(metadata)}`
  return ip === undefined || faults.length > 0 ? malformedBy(faults) : { ip, pod, interface: own, shownBy }
}

/** The longest end of the name that is an address: the name of a network may end in digits too. */
function addressIn(name: string): IP | undefined {
  const parts = name.split('-')
  for (let from = 0; from < parts.length; from++) {
    const ip = parseIP(parts.slice(from).join(':'))
    if (!isMalformed(ip)) return ip
  }
  return undefined
}

/** A NetworkAttachmentDefinition whose addresses come from whereabouts. */
export interface WhereaboutsNetwork {
  readonly metadata: Metadata
  readonly key: string
  /** What keeps its addresses apart from those of others; empty for what all have in common that name none. */
  readonly networkName: string
  readonly ranges: readonly WhereaboutsRange[]
  readonly gateway: string
  /** What whereabouts and Mooring spell alike: routes, dns. */
  readonly same: Readonly<Record<string, unknown>>
  /** The config again, with another ipam. */
  readonly withIPAM: (ipam: object) => string
}

export interface WhereaboutsRange {
  readonly subnet: CIDR
  readonly start?: IP
  readonly end?: IP
  readonly excluded: readonly string[]
}

/** Undefined where it is of another IPAM plugin. */
export function parseWhereaboutsNetwork(object: unknown): WhereaboutsNetwork | Malformed | undefined {
  const root = shapeOf(object, '', [])
  const metadata = metadataOf(childOf(root, 'metadata'))
  const text = textOf(childOf(root, 'spec'), 'config') ?? ''
  const config = text.trim() === '' ? undefined : readConfig(text)
  if (config === undefined || isMalformed(config)) return undefined
  const plugin = config.plugins.find(({ value }) => plainText(value.ipam, 'type') === 'whereabouts')
  if (plugin === undefined || !isRecord(plugin.value.ipam)) return undefined
  const { ipam } = plugin.value
  const faults: string[] = []
  const ranges = listedIn(ipam).map((one, i) => rangeOf(one, `${plugin.place}.ipam, range ${i + 1}`, faults))
  if (ranges.length === 0) faults.push(`${plugin.place}.ipam has no range: one on the nodes is not seen from here`)
  if (faults.length > 0) return malformedBy(faults)
  const same = Object.fromEntries(['routes', 'dns'].flatMap(key => (key in ipam ? [[key, ipam[key]]] : [])))
  return {
    metadata,
    key: keyOf(metadata),
    networkName: plainText(ipam, 'network_name') ?? '',
    ranges: ranges.flatMap(range => range ?? []),
    gateway: plainText(ipam, 'gateway') ?? '',
    same,
    withIPAM: next => replaced(text, plugin.place, next),
  }
}

type Fields = Readonly<Record<string, unknown>>

/** `range` comes before the list. */
function listedIn(ipam: Fields): Fields[] {
  const { ipRanges } = ipam
  const listed = Array.isArray(ipRanges) ? ipRanges.filter(isRecord) : []
  return plainText(ipam, 'range') ? [ipam, ...listed] : listed
}

function rangeOf(fields: Fields, place: string, faults: string[]): WhereaboutsRange | undefined {
  const text = plainText(fields, 'range') ?? ''
  // `10.0.0.5-10.0.0.25/24`: the second half names the subnet.
  const [first, second] = text.split('-')
  const subnet = parseCIDR(second ?? first ?? '')
  if (isMalformed(subnet)) {
    faults.push(`${place}: ${subnet.malformed}`)
    return undefined
  }
  const network = toNetwork(subnet)
  const [from, to] =
    second === undefined
      ? ['range_start', 'range_end'].map(key => plainText(fields, key))
      : [first, toIPText(subnet.ip)]
  // Whereabouts takes no notice of an end that lies elsewhere.
  const within = (end: string | undefined): IP | undefined => {
    const ip = parseIP(end ?? '')
    return isMalformed(ip) || !containsIP(network, ip) ? undefined : ip
  }
  const [start, end] = [within(from), within(to)]
  const exclude = Array.isArray(fields.exclude) ? fields.exclude.map(String) : []
  return {
    subnet: network,
    ...(start !== undefined && { start }),
    ...(end !== undefined && (start === undefined || toValue(end) >= toValue(start)) && { end }),
    excluded: exclude.map(one => excludedIn(one, place, faults)),
  }
}

function excludedIn(text: string, place: string, faults: string[]): string {
  const cidr = parseCIDR(text.includes('/') ? text : `${text}/${bitsOf(text.includes(':') ? 6 : 4)}`)
  if (isMalformed(cidr)) faults.push(`${place}.exclude: ${cidr.malformed}`)
  return isMalformed(cidr) ? '' : toCIDRText(toNetwork(cidr))
}

function replaced(text: string, place: string, ipam: object): string {
  const config = jsonOf(text) as { ipam?: object; plugins?: { ipam?: object }[] }
  const [, index] = /\[(\d+)\]$/.exec(place) ?? []
  const plugin = index === undefined ? config : config.plugins?.[Number(index)]
  if (plugin !== undefined) plugin.ipam = ipam
  return JSON.stringify(config, null, 2)
}

const keyOf = ({ namespace, name }: Metadata): string => `${namespace}/${name}`

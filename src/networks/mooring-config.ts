// `ipam` of type mooring: a network of any CNI plugin whose addresses come from Mooring, out of a pool that is named, or out of
// ranges that are listed in place.
//
//   {"type": "mooring", "pool": {"kind": "AddressPool", "name": "vms"}}
//   {"type": "mooring", "ranges": ["10.0.0.0/24", {"subnet": "fd00::/64", "rangeStart": "fd00::10"}]}
//
// With `"holder": "node"` each node has one address, which stays with it: pods on the network are told that of their node. Such a
// network lists its ranges in place. A pool may be named by any namespace that it is offered to, whose pods would then be told
// the address of a node too.

import { ipamGroup, mooringGroup } from '../api/names.ts'
import type { Identity } from '../api/object.ts'
import {
  childOf,
  has,
  integerOf,
  isRecord,
  pathTo,
  requiredText,
  type Shape,
  shapeOf,
  textOf,
  textsOf,
} from '../api/shape.ts'
import { ownPoolKindOf } from '../api/to-pool.ts'
import { type Family, type IP, parseIP, toIPText, toValue } from '../ip/address.ts'
import { type CIDR, containsIP, parseCIDR, toCIDRText, toNetwork } from '../ip/cidr.ts'
import { isMalformed, type Malformed, quoteText } from '../ip/malformed.ts'
import { parseEntry, type Range, rangeOfCIDR } from '../ip/range.ts'
import { type RangeSet, toRangeSet } from '../ip/range-set.ts'
import { configItemsMax } from '../limits.ts'

export const mooringIPAMType = 'mooring'

const holders = ['claim', 'node'] as const
/** What has the addresses of a network: claims, each its own; or nodes, one each. */
export type NetworkHolder = (typeof holders)[number]

export interface MooringConfig {
  readonly holder: NetworkHolder
  /** For the interface in the pod; none unless said. */
  readonly routes: readonly Route[]
  /** Undefined where it says nothing: then the name servers of the pool count. */
  readonly dns: DNS | undefined
  readonly from: { readonly pool: Identity } | { readonly ranges: readonly FamilyRanges[] }
}

/** As CNI has them: `dst` is a CIDR, `gw` an address. The numbers are of version 1.1. */
export interface Route {
  readonly dst: string
  readonly gw?: string
  readonly mtu?: number
  readonly advmss?: number
  readonly priority?: number
  readonly table?: number
  readonly scope?: number
}

export interface DNS {
  readonly nameservers?: readonly string[]
  readonly domain?: string
  readonly search?: readonly string[]
  readonly options?: readonly string[]
}

/** What is listed of one family. */
export interface FamilyRanges {
  readonly family: Family
  /** Of its one subnet. */
  readonly prefix: number
  readonly addresses: RangeSet
  readonly excluded: RangeSet
  readonly gateway: IP | undefined
}

/** Kinds of pool that such a network may name. */
export const poolGroups: Readonly<Record<string, string>> = {
  AddressPool: mooringGroup,
  ClusterAddressPool: mooringGroup,
  InClusterIPPool: ipamGroup,
  GlobalInClusterIPPool: ipamGroup,
}

/** `ipam` is the object of that name; `hasSubnets`: the plugin lists addresses in another way too. */
export function readMooringConfig(ipam: Shape, namespace: string, hasSubnets: boolean): MooringConfig {
  if (hasSubnets) ipam.faults.push('spec.config has subnets beside ipam: only one of the two can be')
  const [hasPool, hasRanges] = [has(ipam, 'pool'), has(ipam, 'ranges')]
  if (hasPool === hasRanges) {
    const which = hasPool ? 'names a pool and lists ranges: write only one of the two' : 'has neither pool nor ranges'
    ipam.faults.push(`${pathTo(ipam, 'pool')}: ipam ${which}`)
  }
  const from = hasPool ? { pool: poolIn(childOf(ipam, 'pool'), namespace) } : { ranges: rangesOf(ipam) }
  return { from, holder: holderIn(ipam, hasPool), routes: routesOf(ipam), dns: dnsOf(ipam) }
}

const routeNumbers = ['mtu', 'advmss', 'priority', 'table', 'scope'] as const

function routesOf(ipam: Shape): readonly Route[] {
  return listOf(ipam, 'routes').flatMap((item, i) => {
    const path = `${pathTo(ipam, 'routes')}[${i}]`
    const shape = shapeOf(item, path, ipam.faults)
    const before = ipam.faults.length
    const dst = parseCIDR(requiredText(shape, 'dst'))
    const gwText = textOf(shape, 'gw') || undefined
    const gw = gwText === undefined ? undefined : parseIP(gwText)
    const numbers = routeNumbers.flatMap(key => {
      const value = integerOf(shape, key, 0, 0xffff_ffff)
      return value === undefined ? [] : [[key, value] as const]
    })
    if (ipam.faults.length > before) return []
    if (isMalformed(dst)) ipam.faults.push(`${path}.dst: ${dst.malformed}`)
    else if (isMalformed(gw)) ipam.faults.push(`${path}.gw: ${gw.malformed}`)
    else if (gw !== undefined && gw.family !== dst.ip.family)
      ipam.faults.push(`${path}.gw is ${toIPText(gw)}, of another family than dst`)
    else
      return [{ dst: toCIDRText(dst), ...(gw !== undefined && { gw: toIPText(gw) }), ...Object.fromEntries(numbers) }]
    return []
  })
}

function dnsOf(ipam: Shape): DNS | undefined {
  if (!has(ipam, 'dns')) return undefined
  const shape = childOf(ipam, 'dns')
  const domain = textOf(shape, 'domain')
  const lists = (['nameservers', 'search', 'options'] as const).flatMap(key => {
    const texts = boundedTexts(shape, key)
    return texts.length === 0 ? [] : [[key, texts] as const]
  })
  const wrong = boundedTexts(shape, 'nameservers').find(text => isMalformed(parseIP(text)))
  if (wrong !== undefined)
    ipam.faults.push(`${pathTo(shape, 'nameservers')} has ${quoteText(wrong)}, which is no address`)
  return { ...Object.fromEntries(lists), ...(domain && { domain }) }
}

function holderIn(ipam: Shape, hasPool: boolean): NetworkHolder {
  const text = textOf(ipam, 'holder') ?? 'claim'
  const holder = holders.find(one => one === text)
  const at = pathTo(ipam, 'holder')
  if (holder === undefined) ipam.faults.push(`${at} is ${quoteText(text)}, which is none of ${holders.join(', ')}`)
  if (holder === 'node' && hasPool)
    ipam.faults.push(`${at} is node, and ipam names a pool: list ranges, which no other network takes from`)
  return holder ?? 'claim'
}

function poolIn(shape: Shape, namespace: string): Identity {
  const kind = requiredText(shape, 'kind')
  const name = requiredText(shape, 'name')
  const apiGroup = Object.hasOwn(poolGroups, kind) ? (poolGroups[kind] ?? '') : ''
  const known = ownPoolKindOf({ apiGroup, kind })
  if (known === undefined && kind !== '') {
    const kinds = Object.keys(poolGroups).join(', ')
    shape.faults.push(`${pathTo(shape, 'kind')} is ${quoteText(kind)}, which is none of ${kinds}`)
  }
  // A pool of another namespace cannot be named: there is no field for it.
  return { apiGroup, kind, namespace: known?.isNamespaced === false ? '' : namespace, name }
}

interface Listed {
  readonly subnet: CIDR
  readonly range: Range
  readonly gateway: IP | undefined
}

function rangesOf(ipam: Shape): FamilyRanges[] {
  const listed = listOf(ipam, 'ranges').flatMap((item, i) => {
    const one = rangeIn(item, `${pathTo(ipam, 'ranges')}[${i}]`, ipam.faults)
    return one === undefined ? [] : [one]
  })
  if (has(ipam, 'ranges') && listed.length === 0 && ipam.faults.length === 0) {
    ipam.faults.push(`${pathTo(ipam, 'ranges')} is empty: list a subnet, or one of each family`)
  }
  const gateways = gatewaysOf(ipam)
  const excluded = boundedTexts(ipam, 'excludeRanges').flatMap((text, i) => {
    const range = parseEntry(text)
    if (isMalformed(range)) ipam.faults.push(`${pathTo(ipam, 'excludeRanges')}[${i}]: ${range.malformed}`)
    return isMalformed(range) ? [] : [range]
  })
  const families = ([4, 6] as const).flatMap(family => ofFamily(family, listed, gateways, excluded, ipam))
  for (const ip of gateways) {
    if (families.some(({ family }) => family === ip.family)) continue
    ipam.faults.push(`${pathTo(ipam, 'gateway')}: ${toIPText(ip)} is of a family that ranges does not have`)
  }
  return families
}

function ofFamily(
  family: Family,
  all: readonly Listed[],
  gateways: readonly IP[],
  excluded: readonly Range[],
  ipam: Shape,
): FamilyRanges[] {
  const listed = all.filter(({ range }) => range.family === family)
  const [first] = listed
  if (first === undefined) return []
  const text = toCIDRText(first.subnet)
  const other = listed.find(({ subnet }) => toCIDRText(subnet) !== text)
  if (other !== undefined) {
    const both = `${text} and ${toCIDRText(other.subnet)}`
    ipam.faults.push(
      `${pathTo(ipam, 'ranges')} has two subnets of IPv${family}, ${both}: one network has one of a family`,
    )
  }
  const known = [...gateways.filter(ip => ip.family === family), ...listed.flatMap(({ gateway }) => gateway ?? [])]
  const texts = [...new Set(known.map(toIPText))]
  if (texts.length > 1) ipam.faults.push(`${pathTo(ipam, 'gateway')}: IPv${family} has several, ${texts.join(' and ')}`)
  const [gateway] = known
  if (gateway !== undefined && !containsIP(first.subnet, gateway)) {
    ipam.faults.push(`${pathTo(ipam, 'gateway')}: ${toIPText(gateway)} is not in ${text}`)
  }
  return [
    {
      family,
      prefix: first.subnet.bits,
      addresses: toRangeSet(
        family,
        listed.map(({ range }) => range),
      ),
      excluded: toRangeSet(
        family,
        excluded.filter(range => range.family === family),
      ),
      gateway,
    },
  ]
}

function rangeIn(item: unknown, path: string, faults: string[]): Listed | undefined {
  const fault = (sentence: string): undefined => void faults.push(`${path}${sentence}`)
  if (typeof item !== 'string' && !isRecord(item)) return fault(' is neither a CIDR nor an object with a subnet')
  const shape = shapeOf(typeof item === 'string' ? { subnet: item } : item, path, faults)
  const before = faults.length
  const subnetText = requiredText(shape, 'subnet')
  if (faults.length > before) return undefined
  const cidr = parseCIDR(subnetText)
  if (isMalformed(cidr)) return fault(`: ${cidr.malformed}`)
  const subnet = toNetwork(cidr)
  const ipAt = (field: string): IP | undefined => {
    const text = textOf(shape, field)
    if (text === undefined || text === '') return undefined
    const ip: IP | Malformed = parseIP(text)
    if (isMalformed(ip)) return fault(`.${field}: ${ip.malformed}`)
    if (!containsIP(subnet, ip)) return fault(`.${field} is ${toIPText(ip)}, which is not in ${toCIDRText(subnet)}`)
    return ip
  }
  const [start, end, gateway] = [ipAt('rangeStart'), ipAt('rangeEnd'), ipAt('gateway')]
  const whole = rangeOfCIDR(subnet)
  const range = {
    family: whole.family,
    first: start === undefined ? whole.first : toValue(start),
    last: end === undefined ? whole.last : toValue(end),
  }
  if (range.first > range.last) return fault('.rangeEnd is below rangeStart: exchange them')
  return { subnet, range, gateway }
}

function gatewaysOf(ipam: Shape): IP[] {
  const single = textOf(ipam, 'gateway')
  const texts = [...(single === undefined || single === '' ? [] : [single]), ...boundedTexts(ipam, 'gateways')]
  return texts.flatMap(text => {
    const ip = parseIP(text)
    if (isMalformed(ip)) ipam.faults.push(`${pathTo(ipam, 'gateway')}: ${ip.malformed}`)
    return isMalformed(ip) ? [] : [ip]
  })
}

function boundedTexts(shape: Shape, field: string): readonly string[] {
  const texts = textsOf(shape, field)
  if (texts.length <= configItemsMax) return texts
  shape.faults.push(`${pathTo(shape, field)} has ${texts.length} items: at most ${configItemsMax} are read`)
  return []
}

function listOf(shape: Shape, field: string): readonly unknown[] {
  const list = has(shape, field) ? shape.value[field] : []
  if (!Array.isArray(list)) {
    shape.faults.push(`${pathTo(shape, field)} is not a list`)
    return []
  }
  if (list.length <= configItemsMax) return list
  shape.faults.push(`${pathTo(shape, field)} has ${list.length} items: at most ${configItemsMax} are read`)
  return []
}

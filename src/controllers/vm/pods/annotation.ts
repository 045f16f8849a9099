// The annotation `k8s.ovn.org/pod-networks` of a pod: what OVN-Kubernetes configures each attachment with. One entry per
// attachment, keyed `namespace/name`, with `/1`, `/2` for further interfaces on the same NetworkAttachmentDefinition. Entries of
// others are kept as they stand there. Any user who may write a pod can write it: nothing is believed that is read here.

import { createHash } from 'node:crypto'
import type { LauncherPod } from '../../../api/launcher-pod.ts'
import { type NetworkSelection, parseNetworkSelections } from '../../../api/network-selection.ts'
import { isRecord, jsonOf } from '../../../api/shape.ts'
import { fromValue, type IP, isSameIP, parseIP, toIPText } from '../../../ip/address.ts'
import { parseCIDR, toCIDRText } from '../../../ip/cidr.ts'
import { type MACText, parseMAC } from '../../../ip/mac.ts'
import { isMalformed, type Malformed } from '../../../ip/malformed.ts'
import type { OVNDetails } from '../../../networks/network.ts'
import { once } from '../../office/kept.ts'

/** An element of the networks annotation, and the key of its entry. */
export interface KeyedSelection extends NetworkSelection {
  readonly key: string
}

type Annotated = Pick<LauncherPod, 'metadata' | 'networks' | 'podNetworks'>

export const parsedSelectionsOf: (pod: Annotated) => readonly KeyedSelection[] | Malformed = once(pod => {
  const { networks, metadata } = pod as Annotated
  const selections = parseNetworkSelections(networks, metadata.namespace)
  return isMalformed(selections) ? selections : withKeys(selections)
})

/** None where the annotation cannot be read. */
export function selectionsOf(pod: Annotated): readonly KeyedSelection[] {
  const selections = parsedSelectionsOf(pod)
  return isMalformed(selections) ? [] : selections
}

/** What a pod says about the network in the place of the pod network: its claim, and the MAC that it asks for. */
export interface PrimarySelection {
  readonly claim: string
  /** As typed; empty if none. */
  readonly mac: string
}

/** Undefined where the pod names no claim for it. The claim that the default network names counts before the older annotation. */
export const primarySelectionOf: (
  pod: Pick<LauncherPod, 'primaryClaim' | 'defaultNetwork'>,
) => PrimarySelection | Malformed | undefined = once(pod => {
  const { primaryClaim = '', defaultNetwork } = pod as LauncherPod
  const selections = parseNetworkSelections(defaultNetwork, '')
  if (isMalformed(selections)) return selections
  const [one, ...others] = selections
  if (others.length > 0) return { malformed: `it has ${selections.length} elements, and is to have one` }
  const claim = one?.claim || primaryClaim
  return claim === '' ? undefined : { claim, mac: one?.mac ?? '' }
})

/** The claims that a pod names. */
export function claimNamesOf(pod: LauncherPod): readonly string[] {
  const primary = primarySelectionOf(pod)
  const named = selectionsOf(pod).map(({ claim }) => claim)
  if (primary !== undefined && !isMalformed(primary)) named.push(primary.claim)
  return [...new Set(named.filter(name => name !== ''))]
}

/** It names the claim for an interface that it has no entry for. A pod does not say which entry is that of the pod network. */
export function isYetToBeTold(pod: LauncherPod, claim: string): boolean {
  const primary = primarySelectionOf(pod)
  if (primary !== undefined && !isMalformed(primary) && primary.claim === claim) return true
  const shown = shownNetworksOf(pod)
  return selectionsOf(pod).some(one => one.claim === claim && !shown.some(({ key }) => key === one.key))
}

function withKeys(selections: readonly NetworkSelection[]): readonly KeyedSelection[] {
  const counts = new Map<string, number>()
  return selections.map(selection => {
    const attachment = `${selection.namespace}/${selection.name}`
    const count = counts.get(attachment) ?? 0
    counts.set(attachment, count + 1)
    return { ...selection, key: count === 0 ? attachment : `${attachment}/${count}` }
  })
}

// --- what stands there ---

type Entries = Readonly<Record<string, unknown>>

export const entriesOf: (pod: Annotated) => Entries | Malformed = once(pod => {
  const { podNetworks } = pod as Annotated
  if (podNetworks === undefined || podNetworks.trim() === '') return {}
  const value = jsonOf(podNetworks)
  return isRecord(value) ? value : { malformed: 'the annotation k8s.ovn.org/pod-networks is no JSON object' }
})

export interface ShownNetwork {
  /** `namespace/name` of the NetworkAttachmentDefinition. */
  readonly attachment: string
  readonly key: string
  readonly ips: readonly IP[]
  /** Undefined where there is none that can be read. */
  readonly mac: MACText | undefined
}

/** What can be read of it; the entry of the pod network has no NetworkAttachmentDefinition. */
export const shownNetworksOf: (pod: Annotated) => readonly ShownNetwork[] = once(pod => {
  const entries = entriesOf(pod as Annotated)
  if (isMalformed(entries)) return []
  return Object.entries(entries).flatMap(([key, entry]): ShownNetwork[] => {
    const [namespace = '', name = '', count, ...rest] = key.split('/')
    const isKey = namespace !== '' && name !== '' && rest.length === 0 && (count === undefined || /^\d+$/.test(count))
    return isKey ? [{ attachment: `${namespace}/${name}`, key, ips: ipsOf(entry), mac: macOf(entry) }] : []
  })
})

export interface AttachedNetwork extends Omit<ShownNetwork, 'key' | 'mac'> {
  /** Of the pod; empty where it is not said. */
  readonly interface: string
}

/** What Multus says that the pod has: networks of every CNI are in it. */
export const attachedOf: (pod: Pick<LauncherPod, 'networkStatus'>) => readonly AttachedNetwork[] = once(pod => {
  const { networkStatus = '' } = pod as LauncherPod
  const value = networkStatus === '' ? [] : jsonOf(networkStatus)
  return (Array.isArray(value) ? value : []).flatMap((one): AttachedNetwork[] => {
    if (!isRecord(one) || typeof one.name !== 'string' || !Array.isArray(one.ips)) return []
    const ips = one.ips.map(text => parseIP(typeof text === 'string' ? (text.split('/')[0] ?? '') : ''))
    const own = typeof one.interface === 'string' ? one.interface : ''
    return [{ attachment: one.name, interface: own, ips: ips.flatMap(ip => (isMalformed(ip) ? [] : [ip])) }]
  })
})

/** The addresses of an entry that can be read. */
export function ipsOf(entry: unknown): IP[] {
  if (!isRecord(entry)) return []
  const listed = Array.isArray(entry.ip_addresses) ? entry.ip_addresses : []
  const texts = [...listed, entry.ip_address].filter(text => typeof text === 'string')
  const ips: IP[] = []
  for (const text of texts) {
    const cidr = parseCIDR(text)
    if (!isMalformed(cidr) && !ips.some(ip => isSameIP(ip, cidr.ip))) ips.push(cidr.ip)
  }
  return ips
}

function macOf(entry: unknown): MACText | undefined {
  const mac = isRecord(entry) && typeof entry.mac_address === 'string' ? parseMAC(entry.mac_address) : undefined
  return isMalformed(mac) ? undefined : mac
}

/** Whether one of the pods, that can still run, is configured with the MAC. */
export const isMACShownBy = (pods: readonly LauncherPod[], mac: MACText): boolean =>
  pods.some(pod => !pod.isCompleted && shownNetworksOf(pod).some(shown => shown.mac === mac))

/** Whether one of the pods, that can still run, is configured with the address. */
export const isShownBy = (pods: readonly LauncherPod[], ip: IP): boolean =>
  pods.some(
    pod =>
      !pod.isCompleted &&
      [...shownNetworksOf(pod), ...attachedOf(pod)].some(({ ips }) => ips.some(other => isSameIP(other, ip))),
  )

export const isSameSet = (some: readonly IP[], others: readonly IP[]): boolean =>
  some.length === others.length && some.every(ip => others.some(other => isSameIP(ip, other)))

// --- what is written ---

export interface EntryParts {
  readonly ips: readonly { readonly ip: IP; readonly prefix: number }[]
  readonly mac: MACText
  readonly ovn: Pick<OVNDetails, 'isPrimary' | 'gateways'>
}

/** The single forms beside the lists are for readers of old. */
export function toEntry({ ips, mac, ovn }: EntryParts): Entries {
  const addresses = ips.map(({ ip, prefix }) => toCIDRText({ ip, bits: prefix }))
  const families = ips.map(({ ip }) => ip.family)
  const gateways = ovn.isPrimary ? ovn.gateways.filter(({ family }) => families.includes(family)).map(toIPText) : []
  return {
    ip_addresses: addresses,
    mac_address: mac,
    ...(gateways.length > 0 && { gateway_ips: gateways }),
    ...(addresses.length === 1 && { ip_address: addresses[0] }),
    ...(addresses.length === 1 && gateways.length === 1 && { gateway_ip: gateways[0] }),
    ...(gateways.length > 0 && families.includes(6) && { ipv6_lla_gateway_ip: toIPText(routerOf(ovn.gateways)) }),
    role: ovn.isPrimary ? 'primary' : 'secondary',
  }
}

/** Where guests find the gateway of IPv6: router advertisements come from a link-local address, made of the MAC of the gateway. */
function routerOf(gateways: readonly IP[]): IP {
  const gateway = gateways.find(({ family }) => family === 4) ?? gateways[0]
  if (gateway === undefined) throw new Error('a primary network without a gateway')
  return linkLocalOf(macOfIP(gateway))
}

/** The address that an interface with this MAC gives itself. */
export function linkLocalOf(mac: MACText): IP {
  const [first = 0, second = 0, third = 0, ...rest] = mac.split(':').map(byte => Number.parseInt(byte, 16))
  const bytes = [first ^ 2, second, third, 0xff, 0xfe, ...rest]
  return fromValue(
    6,
    bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0xfe80n << 48n),
  )
}

/** As OVN-Kubernetes derives it from the first address of an interface. */
export function macOfIP(ip: IP): MACText {
  const bytes = ip.family === 4 ? octetsOf(ip) : [...createHash('sha256').update(toIPText(ip)).digest().subarray(0, 4)]
  const mac = parseMAC(['0a', '58', ...bytes.map(byte => byte.toString(16).padStart(2, '0'))].join(':'))
  if (isMalformed(mac)) throw new Error(mac.malformed)
  return mac
}

/** The IPv4 address that OVN-Kubernetes would make this MAC from; undefined for a MAC that is made from none. */
export function ipMadeInto(mac: MACText): IP | undefined {
  const [first, second, ...octets] = mac.split(':').map(pair => Number.parseInt(pair, 16))
  const ip = first === 0x0a && second === 0x58 ? parseIP(octets.join('.')) : undefined
  return isMalformed(ip) ? undefined : ip
}

const octetsOf = ({ w3 }: IP): number[] => [w3 >>> 24, (w3 >>> 16) & 255, (w3 >>> 8) & 255, w3 & 255]

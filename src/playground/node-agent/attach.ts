// What multus and the plugins that it calls would do for a pod, without doing it: which networks the pod is attached to, with
// which addresses, and what it still waits for.
//
//   the network is of                 it waits for
//   OVN-Kubernetes, persistent IPs    its entry in the annotation k8s.ovn.org/pod-networks
//   the same, as primary network      the entry of that role, if the pod names a claim for it
//   Mooring, with a claim             status.ips of the IPAMClaim that the element names
//   anything else                     nothing: no addresses
//   none that exists                  its NetworkAttachmentDefinition

import { createHash } from 'node:crypto'
import { podNetworksAnnotation, primaryClaimAnnotation } from '../../api/names.ts'
import type { NetworkSelection } from '../../api/network-selection.ts'
import { isRecord } from '../../api/shape.ts'
import type { Pod } from '../shapes.ts'
import { type Caches, machineKeyOf, selectionsOf } from './world.ts'

export interface Attached {
  /** Of the NetworkAttachmentDefinition, as namespace/name. */
  readonly name: string
  readonly interface: string
  /** Without prefix lengths, as multus shows them. */
  readonly ips: readonly string[]
  readonly mac: string
}

export interface Attachments {
  readonly attached: readonly Attached[]
  /** In sentences. */
  readonly waits: readonly string[]
}

type Addresses = { readonly ips: readonly string[]; readonly mac?: string } | { readonly waits: string }

/** As OVN-Kubernetes calls the interface of a primary network. */
export const primaryInterface = 'ovn-udn1'

export function attach(pod: Pod, caches: Pick<Caches, 'attachments' | 'claims'>): Attachments {
  const primary = primaryOf(pod)
  const attached: Attached[] = primary !== undefined && 'mac' in primary ? [primary] : []
  const waits: string[] = primary !== undefined && 'waits' in primary ? [primary.waits] : []
  const seen = new Map<string, number>()
  selectionsOf(pod).forEach((selection, i) => {
    const name = `${selection.namespace}/${selection.name}`
    const repeats = seen.get(name) ?? 0
    seen.set(name, repeats + 1)
    const found = addressesOf(pod, selection, repeats === 0 ? name : `${name}/${repeats}`, caches)
    if ('waits' in found) {
      waits.push(found.waits)
      return
    }
    const device = selection.interface || `net${i + 1}`
    const mac = selection.mac || found.mac || macOf(`${machineKeyOf(pod)}/${device}`)
    attached.push({ name, interface: device, ips: found.ips.map(withoutPrefix), mac: mac.toLowerCase() })
  })
  return { attached, waits }
}

/** Undefined for a pod that is on no primary network, or on one whose addresses do not last. */
function primaryOf(pod: Pod): Attached | { readonly waits: string } | undefined {
  if ((pod.metadata.annotations?.[primaryClaimAnnotation] ?? '') === '') return undefined
  const all = readJSON(pod.metadata.annotations?.[podNetworksAnnotation])
  const found = Object.entries(isRecord(all) ? all : {}).find(
    ([key, entry]) => key !== 'default' && isRecord(entry) && entry.role === 'primary',
  )
  const name = found?.[0] ?? ''
  const entry = entryOf(pod, name)
  if (entry === undefined) return { waits: `no primary network in the annotation ${podNetworksAnnotation}` }
  return { name, interface: primaryInterface, ips: entry.ips.map(withoutPrefix), mac: (entry.mac ?? '').toLowerCase() }
}

function addressesOf(
  pod: Pod,
  { namespace, name, claim }: NetworkSelection,
  /** In the annotation of OVN-Kubernetes. */
  entryKey: string,
  caches: Pick<Caches, 'attachments' | 'claims'>,
): Addresses {
  const attachment = caches.attachments.get(`${namespace}/${name}`)
  if (attachment === undefined) return { waits: `the NetworkAttachmentDefinition ${namespace}/${name} does not exist` }
  const plugin = pluginOf(attachment.spec?.config)
  if (plugin === 'ovn' || (plugin === 'ovn without claims' && claim !== '')) {
    const entry = entryOf(pod, entryKey)
    return entry ?? { waits: `no addresses for ${entryKey} in the annotation ${podNetworksAnnotation}` }
  }
  if (plugin !== 'mooring' || claim === '') return { ips: [] }
  const ips = caches.claims.get(`${pod.metadata.namespace}/${claim}`)?.status?.ips ?? []
  return ips.length > 0 ? { ips } : { waits: `the IPAMClaim ${pod.metadata.namespace}/${claim} has no addresses` }
}

type Plugin = 'ovn' | 'ovn without claims' | 'mooring' | 'another'

/** By its config, which is one plugin or a list of them. */
function pluginOf(config: string | undefined): Plugin {
  const whole = readJSON(config)
  const plugins = isRecord(whole) && Array.isArray(whole.plugins) ? whole.plugins : [whole]
  for (const plugin of plugins) {
    if (!isRecord(plugin)) continue
    if (isRecord(plugin.ipam) && plugin.ipam.type === 'mooring') return 'mooring'
    if (plugin.type === 'ovn-k8s-cni-overlay') return plugin.allowPersistentIPs === true ? 'ovn' : 'ovn without claims'
  }
  return 'another'
}

function entryOf({ metadata }: Pod, key: string): { ips: readonly string[]; mac?: string } | undefined {
  const all = readJSON(metadata.annotations?.[podNetworksAnnotation])
  const entry = isRecord(all) && Object.hasOwn(all, key) ? all[key] : undefined
  if (!isRecord(entry)) return undefined
  const ips = Array.isArray(entry.ip_addresses) ? entry.ip_addresses.filter(ip => typeof ip === 'string') : []
  return { ips, ...(typeof entry.mac_address === 'string' && { mac: entry.mac_address }) }
}

function readJSON(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

const withoutPrefix = (address: string): string => address.split('/')[0] ?? address

/** The same for every pod of one interface of one virtual machine: locally administered, unicast. */
function macOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 5)
  return ['02', ...Array.from(bytes, byte => byte.toString(16).padStart(2, '0'))].join(':')
}

/** The annotation of multus: the pod network first, then what the pod asked for. */
export function toNetworkStatus(podIP: string, attached: readonly Attached[]): string {
  const isPrimary = (device: string): boolean => device === primaryInterface
  const isInPlace = attached.some(one => isPrimary(one.interface))
  const ofPod = { name: 'playground', interface: 'eth0', ips: [podIP], ...(!isInPlace && { default: true }), dns: {} }
  const others = attached.map(({ name, interface: device, ips, mac }) => ({
    name,
    interface: device,
    ips,
    mac,
    ...(isPrimary(device) && { default: true }),
    dns: {},
  }))
  return JSON.stringify([ofPod, ...others])
}

/** What that annotation of a pod says, by name of the interface in the pod. */
export function readNetworkStatus(text: string | undefined): ReadonlyMap<string, Pick<Attached, 'ips' | 'mac'>> {
  const list = readJSON(text)
  const found = new Map<string, Pick<Attached, 'ips' | 'mac'>>()
  for (const entry of Array.isArray(list) ? list : []) {
    if (!isRecord(entry) || typeof entry.interface !== 'string') continue
    const ips = Array.isArray(entry.ips) ? entry.ips.filter(ip => typeof ip === 'string') : []
    found.set(entry.interface, { ips, mac: typeof entry.mac === 'string' ? entry.mac : '' })
  }
  return found
}

// Which claim belongs to which virtual machine, and to which of its interfaces; and which pods may still use it.

import { hasRequest, type IPAMClaim } from '../../../api/ipam-claim.ts'
import type { LauncherPod } from '../../../api/launcher-pod.ts'
import { parseNetworkSelections } from '../../../api/network-selection.ts'
import { type AddressRequest, requestsOf } from '../../../api/requests.ts'
import {
  type VirtualMachine,
  type VirtualMachineInstance,
  type VMInterface,
  virtualMachineKind,
} from '../../../api/virtual-machine.ts'
import { isSameIP } from '../../../ip/address.ts'
import { parseCIDR } from '../../../ip/cidr.ts'
import { isMalformed, type Malformed } from '../../../ip/malformed.ts'
import type { NetworksView } from '../../office/networks.ts'
import { attachedOf, claimNamesOf, shownNetworksOf } from '../pods/annotation.ts'
import { claimName, movedClaimName, plainClaimName, podInterfaceName, podNetworkInterface } from './names.ts'

/** One interface of a virtual machine that may have a claim, on the network that it is on as far as that is known. */
export interface Wanted {
  /** Of the interface, and of the network in the spec of the virtual machine: they go by one name. */
  readonly name: string
  /** What the interface is called in the pod. */
  readonly podInterface: string
  /** As namespace/name; undefined for a pod network in whose place no NetworkAttachmentDefinition is known. */
  readonly attachment: string | undefined
  /** Undefined while it cannot be told: no NetworkAttachmentDefinition in view, or none that Mooring serves. */
  readonly network: { readonly name: string; readonly isPersistent: boolean } | undefined
  /** Its NetworkAttachmentDefinition is known, whatever it says. */
  readonly isInView: boolean
  /** On its way out: what it has is kept, and nothing is made for it. */
  readonly isAbsent: boolean
  /** The MAC and the addresses that it asks for; undefined where it asks for nothing. */
  readonly request: AddressRequest | Malformed | undefined
  /** Why its NetworkAttachmentDefinition gives no network; empty where that concerns its user in no way. */
  readonly refusal: string
}

type Networks = Pick<NetworksView, 'attachment' | 'primaryOf'>

export type Machine = Pick<VirtualMachine, 'interfaces' | 'addresses' | 'defaultNetwork'>

/** In the order of the spec. A network that takes the place of the pod network by Multus has no claim. */
export function wantedBy(machine: Machine | undefined, namespace: string, networks: Networks): readonly Wanted[] {
  if (machine === undefined) return []
  const { interfaces } = machine
  const requests = requestsOf(machine, interfaces)
  return interfaces
    .filter(({ isDefault }) => !isDefault)
    .map(one => ({ ...toWanted(one, namespace, networks), request: requests.get(one.name) }))
}

/** On the network alone, whatever is asked for. */
export function toWanted(
  { name, attachment: named, isAbsent }: Pick<VMInterface, 'name' | 'attachment' | 'isAbsent'>,
  namespace: string,
  networks: Networks,
): Wanted {
  const attachment = named ?? networks.primaryOf(namespace)
  const podInterface = named === undefined ? podNetworkInterface : podInterfaceName(name)
  const view = attachment === undefined ? undefined : networks.attachment(attachment)
  const network =
    view !== undefined && 'network' in view
      ? { name: view.network.name, isPersistent: view.network.allowsPersistentIPs }
      : undefined
  const refusal = view !== undefined && 'refused' in view ? view.refused.message : ''
  const request = undefined
  return { name, podInterface, attachment, network, isInView: view !== undefined, isAbsent, request, refusal }
}

/**
 * Whether a claim of the virtual machine is the one for this interface on this network. What is not known of the network is no
 * reason to think otherwise, and one that does not allow persistent addresses any more takes nothing away.
 */
export function isFor(claim: IPAMClaim, vm: string, { name, podInterface, attachment, network }: Wanted): boolean {
  if (claim.interface !== podInterface && !isNamedFor(claim, vm, name)) return false
  if (claim.attachment !== undefined && attachment !== undefined && claim.attachment !== attachment) return false
  return network?.isPersistent !== true || claim.network === network.name
}

/**
 * ipam-extensions leaves the interface empty. A claim that a user made before the virtual machine may say the interface of the
 * machine, and be named after the network.
 */
function isNamedFor({ metadata, interface: podInterface, network }: IPAMClaim, vm: string, name: string): boolean {
  if (podInterface !== '' && podInterface !== name) return false
  return metadata.name === plainClaimName(vm, name) || metadata.name === plainClaimName(vm, network)
}

/**
 * Made before the virtual machine, with what its interface is to have: of no owner, on the right network, under one of the names
 * that say so. Without a request it is any claim, and in the way.
 */
export function isMadeFor(claim: IPAMClaim, vm: string, wanted: Wanted): boolean {
  const { network } = wanted
  if (claim.metadata.ownerReferences.length > 0 || claim.vm !== undefined || !hasRequest(claim)) return false
  if (network?.isPersistent !== true || claim.network !== network.name) return false
  return namesBeforehand(vm, wanted).includes(claim.metadata.name) && isFor(claim, vm, wanted)
}

/** The names that such a claim may have. */
export const namesBeforehand = (vm: string, { name, network }: Wanted): readonly string[] => [
  claimName(vm, name),
  plainClaimName(vm, name),
  ...(network === undefined ? [] : [plainClaimName(vm, network.name)]),
]

/** The virtual machine that a claim says it is for, by its owner, else by its label; undefined for a claim of none. */
export function vmNameOf({ metadata, vm }: Pick<IPAMClaim, 'metadata' | 'vm'>): string | undefined {
  return metadata.ownerReferences.find(({ apiVersion }) => apiVersion.startsWith('kubevirt.io/'))?.name ?? vm
}

type Owned = Pick<VirtualMachine | VirtualMachineInstance, 'metadata'>

export const isOwnedBy = ({ metadata }: Owned, { metadata: owner }: Owned): boolean =>
  metadata.ownerReferences.some(({ uid }) => uid === owner.uid)

/** Whether a virtual machine controls the instance. One of a replica set stands for itself: no other of them is like it. */
export const isOfVM = ({ metadata }: Pick<VirtualMachineInstance, 'metadata'>): boolean =>
  metadata.ownerReferences.some(({ controller, kind }) => controller === true && kind === virtualMachineKind.kind)

/** Without any owner, and for this virtual machine by its label: its owner was deleted and left it behind, or it came before. */
export const isLeftFor = ({ metadata, vm }: IPAMClaim, name: string): boolean =>
  metadata.ownerReferences.length === 0 && vm === name

/**
 * Whether a pod that can still run may use the claim's addresses: it names the claim, has its interface, or shows that it was
 * given one of them. One whose networks cannot be read may.
 */
export function mayUse(pod: LauncherPod, claim: IPAMClaim): boolean {
  const { interface: podInterface } = claim
  const { name, namespace } = claim.metadata
  if (pod.isCompleted) return false
  if (pod.primaryClaim === name || claimNamesOf(pod).includes(name)) return true
  if (podInterface === podNetworkInterface && pod.primaryClaim === undefined) return true
  const selections = parseNetworkSelections(pod.networks, namespace)
  if (isMalformed(selections)) return true
  if (selections.some(one => one.claim === name || (one.claim === '' && one.interface === podInterface))) return true
  return shows(pod, claim)
}

/**
 * Whether a pod was given an address of the claim, by its annotation of OVN-Kubernetes or of Multus. Addresses are told apart by the
 * network they are on: two networks may have the same subnets.
 */
export function shows(pod: LauncherPod, { attachment, ips }: IPAMClaim): boolean {
  const cidrs = ips.map(text => parseCIDR(text))
  return [...shownNetworksOf(pod), ...attachedOf(pod)].some(
    shown =>
      (attachment === undefined || shown.attachment === attachment) &&
      // What cannot be read may be anything.
      cidrs.some(cidr => isMalformed(cidr) || shown.ips.some(ip => isSameIP(ip, cidr.ip))),
  )
}

/** Who has a name already: no claim, one of this virtual machine's own, or another. */
export type NameHolder = 'none' | 'own' | 'other'

/**
 * The name of the claim to be made for an interface. While the interface has a claim on another network, that one keeps the name:
 * pods still run with it, and the machine may be sent back. Undefined where claims of others are in the way.
 */
export function nameToMake(vm: string, wanted: Wanted, holderOf: (name: string) => NameHolder): string | undefined {
  const name = claimName(vm, wanted.name)
  const holder = holderOf(name)
  if (holder !== 'own') return holder === 'none' ? name : undefined
  const moved = movedClaimName(vm, wanted.name, wanted.attachment ?? '', wanted.network?.name ?? '')
  return holderOf(moved) === 'none' ? moved : undefined
}

/** Of several claims for one interface: the one that pods use, that has addresses, that was there first. */
export function best(claims: readonly IPAMClaim[], pods: readonly LauncherPod[]): IPAMClaim | undefined {
  const rank = (claim: IPAMClaim): number =>
    (claim.isDeleting ? 0 : 4) + (pods.some(pod => mayUse(pod, claim)) ? 2 : 0) + (claim.ips.length > 0 ? 1 : 0)
  return claims.toSorted((one, other) => rank(other) - rank(one) || byAge(one, other))[0]
}

function byAge({ metadata: one }: IPAMClaim, { metadata: other }: IPAMClaim): number {
  const [a, b] = [`${one.creationTimestamp} ${one.name}`, `${other.creationTimestamp} ${other.name}`]
  if (a === b) return 0
  return a < b ? -1 : 1
}

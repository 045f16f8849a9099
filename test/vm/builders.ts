// Virtual machines, their pods and claims with good defaults, and networks that a test puts there.

import { type IPAMClaim, parseIPAMClaim } from '../../src/api/ipam-claim.ts'
import { type LauncherPod, parseLauncherPod } from '../../src/api/launcher-pod.ts'
import type { Pool } from '../../src/api/pool.ts'
import {
  parseVirtualMachine,
  parseVirtualMachineInstance,
  type VirtualMachine,
  type VirtualMachineInstance,
} from '../../src/api/virtual-machine.ts'
import type { AttachmentInView, NetworksChange, NetworksView } from '../../src/controllers/office/networks.ts'
import { refuse } from '../../src/ipam/refusal.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { orThrow } from '../harness/or-throw.ts'

const home = 'lab'
const deleted = { deletionTimestamp: '2030-01-01T00:00:00Z' }

/** `net1` is on the NetworkAttachmentDefinition of that name; `net1:blue` on another; `:pod` the pod network. */
export type InterfaceText = string

export interface MachineParts {
  readonly name?: string
  readonly namespace?: string
  readonly uid?: string
  readonly interfaces?: readonly InterfaceText[]
  readonly absent?: readonly string[]
  readonly isDefault?: readonly string[]
  readonly isDeleting?: boolean
  /** Uid of the VirtualMachine that controls an instance, or of what is of this kind. */
  readonly of?: string
  readonly ofKind?: string
  readonly activePods?: Readonly<Record<string, string>>
  readonly shown?: string
  /** Instead of bridge. */
  readonly masqueraded?: readonly string[]
  /** What it asks for: macAddress by interface, and the two annotations. */
  readonly macs?: Readonly<Record<string, string>>
  readonly addresses?: string | object
  readonly defaultNetwork?: string | object
}

const textOf = (value: string | object): string => (typeof value === 'string' ? value : JSON.stringify(value))

const asking = ({ addresses, defaultNetwork }: MachineParts) => ({
  ...(addresses !== undefined && { 'network.kubevirt.io/addresses': textOf(addresses) }),
  ...(defaultNetwork !== undefined && { 'v1.multus-cni.io/default-network': textOf(defaultNetwork) }),
})

function specOf(all: MachineParts) {
  const { interfaces = ['net1'], absent = [], isDefault = [], masqueraded = [], macs = {} } = all
  const parts = interfaces.map(text => {
    const [name = '', on = name] = text.split(':')
    return { name, on }
  })
  const networks = parts.map(({ name, on }) =>
    on === 'pod'
      ? { name, pod: {} }
      : { name, multus: { networkName: on, ...(isDefault.includes(name) && { default: true }) } },
  )
  const devices = {
    interfaces: parts.map(({ name }) => ({
      name,
      ...(masqueraded.includes(name) ? { masquerade: {} } : { bridge: {} }),
      ...(absent.includes(name) && { state: 'absent' }),
      ...(macs[name] !== undefined && { macAddress: macs[name] }),
    })),
  }
  return { domain: { devices }, networks }
}

export function aVMObject(parts: MachineParts = {}): KubeObject {
  const { name = 'vm1', namespace = home, uid, isDeleting, shown } = parts
  const object = {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: {
      name,
      namespace,
      ...(uid !== undefined && { uid }),
      ...(isDeleting && deleted),
      ...(shown !== undefined && { annotations: { 'mooring.dev/network-interfaces': shown } }),
    },
    spec: { template: { metadata: { annotations: asking(parts) }, spec: specOf(parts) } },
  }
  return object
}

export const aVM = (parts: MachineParts = {}): VirtualMachine =>
  orThrow(parseVirtualMachine(aVMObject({ uid: 'vm-1', ...parts })))

const controller = (kind: string, name: string, uid: string) => ({
  apiVersion: 'kubevirt.io/v1',
  kind,
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
})

export function aVMIObject(parts: MachineParts = {}): KubeObject {
  const { name = 'vm1', namespace = home, uid, isDeleting, of, ofKind = 'VirtualMachine', activePods } = parts
  const object = {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: {
      name,
      namespace,
      ...(uid !== undefined && { uid }),
      ...(isDeleting && deleted),
      ...(of !== undefined && { ownerReferences: [controller(ofKind, name, of)] }),
      annotations: asking(parts),
    },
    spec: specOf(parts),
    ...(activePods && { status: { activePods } }),
  }
  return object
}

export const aVMI = (parts: MachineParts = {}): VirtualMachineInstance =>
  orThrow(parseVirtualMachineInstance(aVMIObject({ uid: 'vmi-1', ...parts })))

export interface PodParts {
  readonly name?: string
  readonly namespace?: string
  readonly domain?: string
  /** Uid of its instance; empty for none. */
  readonly instance?: string
  readonly networks?: readonly object[] | string
  readonly primaryClaim?: string
  /** As OVN-Kubernetes reads it. */
  readonly podNetworks?: string
  /** As Multus writes it. */
  readonly networkStatus?: string
  /** Uids, by commas. */
  readonly endedClaims?: string
  readonly phase?: string
  readonly node?: string
}

export function aPodObject(parts: PodParts = {}): KubeObject {
  const { name = 'virt-launcher-vm1-x', namespace = home, domain = 'vm1', instance = 'vmi-1' } = parts
  const { networks, primaryClaim, podNetworks, networkStatus, endedClaims, phase = 'Running', node } = parts
  const object = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      labels: { 'kubevirt.io': 'virt-launcher' },
      annotations: {
        'kubevirt.io/domain': domain,
        ...(networks !== undefined && {
          'k8s.v1.cni.cncf.io/networks': typeof networks === 'string' ? networks : JSON.stringify(networks),
        }),
        ...(podNetworks !== undefined && { 'k8s.ovn.org/pod-networks': podNetworks }),
        ...(networkStatus !== undefined && { 'k8s.v1.cni.cncf.io/network-status': networkStatus }),
        ...(endedClaims !== undefined && { 'mooring.dev/ended-claims': endedClaims }),
        ...(primaryClaim !== undefined && { 'k8s.ovn.org/primary-udn-ipamclaim': primaryClaim }),
      },
      ownerReferences: instance === '' ? [] : [controller('VirtualMachineInstance', domain, instance)],
    },
    spec: { ...(node && { nodeName: node }), containers: [{ name: 'compute', image: 'virt-launcher' }] },
    status: { phase },
  }
  return object
}

export const aPod = (parts: PodParts = {}): LauncherPod => orThrow(parseLauncherPod(aPodObject(parts)))

export interface ClaimParts {
  readonly name?: string
  readonly uid?: string
  /** Uid of the owner; empty for none. */
  readonly owner?: string
  readonly ownerName?: string
  readonly ownerKind?: string
  readonly label?: string
  readonly finalizers?: readonly string[]
  readonly network?: string
  readonly interface?: string
  /** Empty for none. */
  readonly attachment?: string
  readonly ips?: readonly string[]
  readonly isDeleting?: boolean
  readonly createdAt?: string
  /** What it asks for, in its spec and in annotations. */
  readonly asks?: { readonly ips?: readonly string[]; readonly mac?: string }
  readonly annotations?: Readonly<Record<string, string>>
}

/** As Mooring makes it for the interface `net1` of `vm1`. */
export function aClaim(parts: ClaimParts = {}): IPAMClaim {
  const { name = 'vm1.net1', owner = 'vm-1', ownerName = 'vm1', ownerKind = 'VirtualMachine', label = 'vm1' } = parts
  const { finalizers = ['kubevirt.io/persistent-ipam'], network = 'net1', attachment = 'lab/net1', ips } = parts
  const object = {
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    metadata: {
      name,
      namespace: home,
      uid: parts.uid ?? `claim-${name}`,
      resourceVersion: '7',
      creationTimestamp: parts.createdAt ?? '2026-01-01T00:00:00Z',
      ...(parts.isDeleting && deleted),
      labels: label === '' ? {} : { 'kubevirt.io/vm': label },
      annotations: { ...(attachment !== '' && { 'mooring.dev/attachment': attachment }), ...parts.annotations },
      finalizers,
      ownerReferences: owner === '' ? [] : [controller(ownerKind, ownerName, owner)],
    },
    spec: { network, interface: parts.interface ?? 'pod6c270ef2f25', ...parts.asks },
    ...(ips && { status: { ips } }),
  }
  return orThrow(parseIPAMClaim(object))
}

/** As ipam-extensions makes it. */
export const aPlainClaim = (parts: ClaimParts = {}): IPAMClaim => aClaim({ interface: '', attachment: '', ...parts })

/** As a user makes it before there is a virtual machine. */
export const aClaimBeforehand = (parts: ClaimParts = {}): IPAMClaim =>
  aPlainClaim({ owner: '', label: '', finalizers: [], ...parts })

/** Of a NetworkAttachmentDefinition: the name of its network, which allows persistent addresses unless it begins with `!`. */
export type NetworkText = string | 'foreign' | 'refused'

export class StubNetworks implements NetworksView {
  readonly #known = new Map<string, NetworkText>()
  readonly #primaries = new Map<string, string>()
  readonly #subscribers: ((change: NetworksChange) => void)[] = []
  readonly #pools: readonly Pool[]
  readonly hasSynced = true
  readonly defaultNetworkNamespace = 'ovn-kubernetes'

  constructor(
    known: Readonly<Record<string, NetworkText>> = {},
    primaries: Readonly<Record<string, string>> = {},
    pools: readonly Pool[] = [],
  ) {
    this.#pools = pools
    for (const [key, text] of Object.entries(known)) this.#known.set(key, text)
    for (const [namespace, key] of Object.entries(primaries)) this.#primaries.set(namespace, key)
  }

  put(key: string, text: NetworkText | undefined): void {
    if (text === undefined) this.#known.delete(key)
    else this.#known.set(key, text)
    for (const subscriber of this.#subscribers) subscriber({ attachments: [key], names: [] })
  }

  attachment(key: string): AttachmentInView | undefined {
    const text = this.#known.get(key)
    if (text === undefined) return undefined
    if (text === 'foreign') return { foreign: 'it is of another CNI' }
    if (text === 'refused') return { refused: refuse('PoolMalformed', 'its subnets overlap') }
    const source = { apiGroup: 'k8s.cni.cncf.io', kind: 'Network', namespace: '', name: text }
    const allowsPersistentIPs = !text.startsWith('!')
    return {
      network: { name: text.replace('!', ''), source, pools: [], allowsPersistentIPs, holder: 'claim', ovn: undefined },
    }
  }

  primaryOf(namespace: string): string | undefined {
    return this.#primaries.get(namespace)
  }

  ofClaim() {
    return refuse('PoolNotFound', 'not asked')
  }

  poolsFor(): readonly Pool[] {
    return this.#pools
  }

  isObserved(): boolean {
    return false
  }

  isObservedThough(): boolean {
    return false
  }

  subscribe(onChange: (change: NetworksChange) => void): void {
    this.#subscribers.push(onChange)
  }
}

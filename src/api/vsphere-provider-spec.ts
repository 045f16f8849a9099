// VSphereMachineProviderSpec of OpenShift: which virtual machine a Machine wants on vSphere, and which addresses on its network
// devices. It is an opaque field of Machine, so the API server checks nothing of it: whatever a user wrote arrives here. A field of
// the wrong type is a fault that names its path; whether an address or a gateway makes sense is judged where it is used.

import type { Malformed } from '../ip/malformed.ts'
import type { PoolReference } from './ip-address-claim.ts'
import { shared } from './repeated.ts'
import { childOf, integerOf, malformedBy, type Shape, shapeOf, shapesOf, textOf, textsOf } from './shape.ts'

export const vsphereProviderSpecKind = 'VSphereMachineProviderSpec'

/** One network device, in the order of the spec, which is that of the devices of the virtual machine. */
export interface NetworkDevice {
  /** Empty in the template of a ControlPlaneMachineSet: the failure domain says it. */
  readonly networkName: string
  /** One for the device, of either family; empty if none. */
  readonly gateway: string
  /** As typed, `192.168.1.100/24`. */
  readonly ipAddrs: readonly string[]
  readonly nameservers: readonly string[]
  readonly addressesFromPools: readonly AddressesFromPool[]
}

/** As typed: `resource` is what a claim calls the kind of the pool. */
export interface AddressesFromPool {
  readonly group: string
  readonly resource: string
  readonly name: string
}

export interface Workspace {
  readonly server: string
  readonly datacenter: string
  readonly folder: string
  readonly datastore: string
  readonly resourcePool: string
  readonly vmGroup: string
}

/** A text that is left out is empty, a number that is left out 0: then the template of the virtual machine decides. */
export interface VSphereProviderSpec {
  readonly devices: readonly NetworkDevice[]
  readonly template: string
  readonly snapshot: string
  readonly cloneMode: string
  readonly workspace: Workspace
  readonly numCPUs: number
  readonly numCoresPerSocket: number
  readonly memoryMiB: number
  readonly diskGiB: number
  readonly tagIDs: readonly string[]
  /** Names of Secrets in the namespace of the Machine. */
  readonly userDataSecret: string
  readonly credentialsSecret: string
}

/** Undefined where the spec is that of another platform. `path` begins the paths of faults. */
export function parseVSphereProviderSpec(value: unknown, path: string): VSphereProviderSpec | Malformed | undefined {
  const faults: string[] = []
  const root = shapeOf(value, path, faults)
  if (faults.length === 0 && textOf(root, 'kind') !== vsphereProviderSpecKind) return undefined
  const spec = {
    devices: shapesOf(childOf(root, 'network'), 'devices').map(deviceOf),
    template: textOf(root, 'template') ?? '',
    snapshot: textOf(root, 'snapshot') ?? '',
    cloneMode: textOf(root, 'cloneMode') ?? '',
    workspace: workspaceOf(childOf(root, 'workspace')),
    numCPUs: integerOf(root, 'numCPUs', 0, int32Max) ?? 0,
    numCoresPerSocket: integerOf(root, 'numCoresPerSocket', 0, int32Max) ?? 0,
    memoryMiB: integerOf(root, 'memoryMiB', 0, Number.MAX_SAFE_INTEGER) ?? 0,
    diskGiB: integerOf(root, 'diskGiB', 0, int32Max) ?? 0,
    tagIDs: textsOf(root, 'tagIDs'),
    userDataSecret: textOf(childOf(root, 'userDataSecret'), 'name') ?? '',
    credentialsSecret: textOf(childOf(root, 'credentialsSecret'), 'name') ?? '',
  }
  return faults.length > 0 ? malformedBy(faults) : spec
}

const int32Max = 2 ** 31 - 1

function deviceOf(device: Shape): NetworkDevice {
  return {
    networkName: shared(textOf(device, 'networkName') ?? ''),
    gateway: shared(textOf(device, 'gateway') ?? ''),
    ipAddrs: textsOf(device, 'ipAddrs'),
    nameservers: textsOf(device, 'nameservers'),
    addressesFromPools: shapesOf(device, 'addressesFromPools').map(from => ({
      group: shared(textOf(from, 'group') ?? ''),
      resource: shared(textOf(from, 'resource') ?? ''),
      name: shared(textOf(from, 'name') ?? ''),
    })),
  }
}

function workspaceOf(workspace: Shape): Workspace {
  return {
    server: shared(textOf(workspace, 'server') ?? ''),
    datacenter: shared(textOf(workspace, 'datacenter') ?? ''),
    folder: shared(textOf(workspace, 'folder') ?? ''),
    datastore: shared(textOf(workspace, 'datastore') ?? ''),
    resourcePool: shared(textOf(workspace, 'resourcePool') ?? ''),
    vmGroup: shared(textOf(workspace, 'vmGroup') ?? ''),
  }
}

/** `urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc9578:GLOBAL`: what a vCenter calls a tag, whatever name people gave it. */
export const isTagID = (text: string): boolean =>
  /^urn:vmomi:InventoryServiceTag:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[\w.-]+$/i.test(text)

/** Whether the spec says anything about addresses. Without it every device uses DHCP, and the Machine says nothing of claims. */
export function hasStaticNetwork({ devices }: Pick<VSphereProviderSpec, 'devices'>): boolean {
  return devices.some(
    ({ gateway, ipAddrs, nameservers, addressesFromPools }) =>
      gateway !== '' || ipAddrs.length > 0 || nameservers.length > 0 || addressesFromPools.length > 0,
  )
}

/** What the claim for such an entry says of its pool. The resource is taken as it is written: that is what clusters have stored. */
export const poolReferenceOfEntry = ({ group, resource, name }: AddressesFromPool): PoolReference => ({
  apiGroup: group,
  kind: resource,
  name,
})

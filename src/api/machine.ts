// Machine of OpenShift's machine API: the order for one virtual machine, and what became of it. Its provider spec and provider status
// are opaque to the API server, so either may hold anything. A Machine whose provider spec cannot be read is still a Machine: it can
// be deleted, and what it holds is then given back.

import type { Malformed } from '../ip/malformed.ts'
import { type Condition, conditionsOf } from './condition.ts'
import { machineGroup } from './names.ts'
import {
  hasDeletionTimestamp,
  isParsed,
  type Metadata,
  metadataOf,
  type OwnerReference,
  type Parsed,
  type VersionedKind,
} from './object.ts'
import { shared } from './repeated.ts'
import { childOf, isRecord, malformedBy, type Shape, shapeOf, shapesOf, textOf } from './shape.ts'
import { parseVSphereProviderSpec, type VSphereProviderSpec } from './vsphere-provider-spec.ts'

export const machineKind: VersionedKind = {
  group: machineGroup,
  version: 'v1beta1',
  kind: 'Machine',
  plural: 'machines',
  isNamespaced: true,
}

export interface Machine {
  readonly metadata: Metadata
  /** Undefined where the Machine is one of another platform. */
  readonly providerSpec: VSphereProviderSpec | Malformed | undefined
  /** Empty until the virtual machine is known. */
  readonly providerID: string
  /** Empty while it has none. */
  readonly phase: string
  /** Of the status itself. They have a severity too, which is written and never read. */
  readonly conditions: readonly Condition[]
  readonly providerStatus: MachineProviderStatus
  /** Why its controller does nothing more about it; empty while it does. */
  readonly errorMessage: string
  /** Those of the status: what its guest reports, and its name. */
  readonly addresses: readonly MachineAddress[]
  /** The Node that runs on it; empty while there is none. */
  readonly nodeName: string
  /** Names of lifecycle hooks: others are not done with the Machine. While there is one, its Node is not drained. */
  readonly preDrainHooks: readonly string[]
  /** The same, after it was drained: its virtual machine is not taken down. */
  readonly preTerminateHooks: readonly string[]
  readonly isDeleting: boolean
}

export interface MachineAddress {
  /** `InternalIP`, `InternalDNS`. */
  readonly type: string
  readonly address: string
}

export interface MachineProviderStatus {
  readonly instanceId: string
  readonly instanceState: string
  /** The vSphere task that runs now; empty if none. */
  readonly taskRef: string
  /**
   * When a clone was ordered, by the clock of the vCenter; empty if none was, or it failed. Written before the order: whatever becomes
   * of the answer, it is known that a virtual machine may come.
   */
  readonly cloneOrderedAt: string
  readonly conditions: readonly Condition[]
}

/** Where the paths of a provider spec begin, in the words that users of the machine API know. */
export const providerSpecPath = 'providerSpec'

export function parseMachine(object: unknown, readMetadata = metadataOf): Parsed<Machine> | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const metadata = readMetadata(childOf(root, 'metadata'))
  const spec = childOf(root, 'spec')
  const status = childOf(root, 'status')
  const machine: Parsed<Machine> = {
    [isParsed]: true,
    apiVersion: shared(textOf(root, 'apiVersion') ?? ''),
    kind: shared(textOf(root, 'kind') ?? ''),
    metadata,
    providerSpec: providerSpecOf(spec),
    providerID: textOf(spec, 'providerID') ?? '',
    phase: shared(textOf(status, 'phase') ?? ''),
    conditions: knownConditionsOf(status),
    providerStatus: providerStatusOf(status),
    errorMessage: textOf(status, 'errorMessage') ?? '',
    addresses: shapesOf(status, 'addresses').map(one => ({
      type: shared(textOf(one, 'type') ?? ''),
      address: textOf(one, 'address') ?? '',
    })),
    nodeName: textOf(childOf(status, 'nodeRef'), 'name') ?? '',
    preDrainHooks: hooksOf(spec, 'preDrain'),
    preTerminateHooks: hooksOf(spec, 'preTerminate'),
    isDeleting: hasDeletionTimestamp(metadata),
  }
  return faults.length > 0 ? malformedBy(faults) : machine
}

/** The provider spec under a `spec`; also of the template of a set. */
export function providerSpecOf(spec: Shape): VSphereProviderSpec | Malformed | undefined {
  const { value } = childOf(spec, 'providerSpec').value
  return parseVSphereProviderSpec(value, providerSpecPath)
}

/** What another program wrote into an opaque field is no fault of the Machine: what cannot be read counts as not there. */
function providerStatusOf(status: Shape): MachineProviderStatus {
  const { providerStatus } = status.value
  const shape = shapeOf(isRecord(providerStatus) ? providerStatus : {}, '', [])
  return {
    instanceId: textOf(shape, 'instanceId') ?? '',
    instanceState: shared(textOf(shape, 'instanceState') ?? ''),
    taskRef: textOf(shape, 'taskRef') ?? '',
    cloneOrderedAt: textOf(shape, 'cloneOrderedAt') ?? '',
    conditions: knownConditionsOf(shape),
  }
}

const hooksOf = (spec: Shape, list: string): readonly string[] =>
  shapesOf(childOf(spec, 'lifecycleHooks'), list).map(hook => textOf(hook, 'name') ?? '')

function knownConditionsOf({ value }: Shape): readonly Condition[] {
  const faults: string[] = []
  const conditions = conditionsOf(shapeOf(value, '', faults), 'conditions')
  return faults.length === 0 ? conditions : conditions.filter(({ type }) => type !== '')
}

/** Whether a virtual machine was ordered for it before: from then on its addresses are in use. */
export const hasInstance = ({ providerID, providerStatus }: Machine): boolean =>
  providerID !== '' ||
  providerStatus.instanceId !== '' ||
  providerStatus.taskRef !== '' ||
  providerStatus.cloneOrderedAt !== ''

/** `<machine>-claim-<device>-<pool>`: the name by which every program of the machine API finds the claim. */
export const claimNameOf = (machineName: string, device: number, pool: number): string =>
  `${machineName}-claim-${device}-${pool}`

/** What a claim of a Machine has as its controller. */
export function ownerReferenceTo({ metadata: { name, uid } }: Pick<Machine, 'metadata'>): OwnerReference {
  const { group, version, kind } = machineKind
  return { apiVersion: `${group}/${version}`, kind, name, uid, controller: true, blockOwnerDeletion: true }
}

/** The Machine that has an object under control, by its owner reference. */
export function controllingMachine({ ownerReferences }: Pick<Metadata, 'ownerReferences'>): OwnerReference | undefined {
  return ownerReferences.find(
    ({ apiVersion, kind, controller }) =>
      controller === true && kind === machineKind.kind && apiVersion.startsWith(`${machineGroup}/`),
  )
}

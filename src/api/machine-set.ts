// MachineSet and ControlPlaneMachineSet of OpenShift: templates of Machines, and how many are wanted. Of a template only the provider
// spec and the labels of the Machines are read.

import type { Malformed } from '../ip/malformed.ts'
import { machineKind, providerSpecOf } from './machine.ts'
import { hasDeletionTimestamp, isParsed, type Metadata, metadataOf, type Parsed, type VersionedKind } from './object.ts'
import { shared } from './repeated.ts'
import { type LabelSelector, selectorOf } from './selector.ts'
import { childOf, integerOf, malformedBy, type Shape, shapeOf, shapesOf, textMapOf, textOf } from './shape.ts'
import type { VSphereProviderSpec } from './vsphere-provider-spec.ts'

export const machineSetKind: VersionedKind = { ...machineKind, kind: 'MachineSet', plural: 'machinesets' }

export const controlPlaneMachineSetKind: VersionedKind = {
  ...machineKind,
  version: 'v1',
  kind: 'ControlPlaneMachineSet',
  plural: 'controlplanemachinesets',
}

export interface MachineSet {
  readonly metadata: Metadata
  readonly replicas: number
  readonly selector: LabelSelector
  /** Of its Machines. */
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  /** The spec of its Machines, as it is written. */
  readonly machineSpec: Readonly<Record<string, unknown>>
  /** Which Machines go first when there are too many: `Random`, `Newest` or `Oldest`. */
  readonly deletePolicy: string
  readonly providerSpec: VSphereProviderSpec | Malformed | undefined
  readonly isDeleting: boolean
}

export interface ControlPlaneMachineSet extends MachineSet {
  /** Only an active set replaces Machines. */
  readonly isActive: boolean
  /** `RollingUpdate` or `OnDelete`. */
  readonly strategy: string
  /** Names of failure domains of vSphere, in order. */
  readonly failureDomains: readonly string[]
}

export function parseMachineSet(object: unknown, readMetadata = metadataOf): Parsed<MachineSet> | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const spec = childOf(root, 'spec')
  const set = setOf(root, spec, childOf(spec, 'template'), readMetadata)
  return faults.length > 0 ? malformedBy(faults) : set
}

export function parseControlPlaneMachineSet(
  object: unknown,
  readMetadata = metadataOf,
): Parsed<ControlPlaneMachineSet> | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const spec = childOf(root, 'spec')
  const template = childOf(childOf(spec, 'template'), controlPlaneTemplateField)
  const set: Parsed<ControlPlaneMachineSet> = {
    ...setOf(root, spec, template, readMetadata),
    isActive: textOf(spec, 'state') === 'Active',
    strategy: textOf(childOf(spec, 'strategy'), 'type') ?? 'RollingUpdate',
    failureDomains: shapesOf(childOf(template, 'failureDomains'), 'vsphere').map(one => textOf(one, 'name') ?? ''),
  }
  return faults.length > 0 ? malformedBy(faults) : set
}

/** Under `spec.template`: the one type of Machine there is. */
export const controlPlaneTemplateField = 'machines_v1beta1_machine_openshift_io'

function setOf(root: Shape, spec: Shape, template: Shape, readMetadata: typeof metadataOf): Parsed<MachineSet> {
  const metadata = readMetadata(childOf(root, 'metadata'))
  return {
    [isParsed]: true,
    apiVersion: shared(textOf(root, 'apiVersion') ?? ''),
    kind: shared(textOf(root, 'kind') ?? ''),
    metadata,
    replicas: integerOf(spec, 'replicas', 0, 2 ** 31 - 1) ?? 1,
    selector: selectorOf(childOf(spec, 'selector')),
    labels: textMapOf(childOf(template, 'metadata'), 'labels'),
    annotations: textMapOf(childOf(template, 'metadata'), 'annotations'),
    machineSpec: childOf(template, 'spec').value,
    deletePolicy: textOf(spec, 'deletePolicy') ?? 'Random',
    providerSpec: providerSpecOf(childOf(template, 'spec')),
    isDeleting: hasDeletionTimestamp(metadata),
  }
}

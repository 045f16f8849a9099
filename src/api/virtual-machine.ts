// VirtualMachine and VirtualMachineInstance of KubeVirt: what of them says which interfaces there are, on which networks, and
// which pods run the machine. A VirtualMachine has the spec of its instances as a template.

import type { Malformed } from '../ip/malformed.ts'
import { addressesAnnotation, defaultNetworkAnnotation, interfacesAnnotation, kubevirtGroup } from './names.ts'
import { hasDeletionTimestamp, isParsed, type Metadata, metadataOf, type Parsed, type VersionedKind } from './object.ts'
import { shared } from './repeated.ts'
import type { RequestTexts } from './requests.ts'
import {
  childOf,
  flagOf,
  has,
  isRecord,
  malformedBy,
  ownText,
  requiredText,
  type Shape,
  shapeOf,
  shapesOf,
  textMapOf,
  textOf,
} from './shape.ts'

export const virtualMachineKind: VersionedKind = {
  group: kubevirtGroup,
  version: 'v1',
  kind: 'VirtualMachine',
  plural: 'virtualmachines',
  isNamespaced: true,
}

export const virtualMachineInstanceKind: VersionedKind = {
  ...virtualMachineKind,
  kind: 'VirtualMachineInstance',
  plural: 'virtualmachineinstances',
}

/** One interface of a machine and the network it is on; both go by one name. */
export interface VMInterface {
  readonly name: string
  /** `namespace/name` of a NetworkAttachmentDefinition; undefined for the pod network. */
  readonly attachment: string | undefined
  /** The attachment takes the place of the pod network. */
  readonly isDefault: boolean
  /** As typed; empty if none. */
  readonly mac: string
  /** On its way out by hot-unplug. */
  readonly isAbsent: boolean
}

export interface VirtualMachine extends RequestTexts {
  readonly metadata: Metadata
  /** Of its template. */
  readonly interfaces: readonly VMInterface[]
  /** Which addresses its annotation says that it has, as it stands there; undefined where it has none. */
  readonly shown: string | undefined
  readonly isDeleting: boolean
}

export interface VirtualMachineInstance extends RequestTexts {
  readonly metadata: Metadata
  readonly interfaces: readonly VMInterface[]
  /** Empty while it has none. */
  readonly phase: string
  readonly nodeName: string
  /** Uids of its pods, by KubeVirt. */
  readonly activePods: readonly string[]
  readonly isDeleting: boolean
}

export function parseVirtualMachine(object: unknown, readMetadata = metadataOf): Parsed<VirtualMachine> | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const whole = childOf(root, 'metadata')
  const metadata = readMetadata(whole)
  const template = childOf(childOf(root, 'spec'), 'template')
  const vm: Parsed<VirtualMachine> = {
    [isParsed]: true,
    apiVersion: shared(textOf(root, 'apiVersion') ?? ''),
    kind: shared(textOf(root, 'kind') ?? ''),
    metadata,
    interfaces: interfacesOf(childOf(template, 'spec'), metadata.namespace),
    ...requestTextsOf(childOf(template, 'metadata')),
    shown: ownText(textMapOf(whole, 'annotations'), interfacesAnnotation),
    isDeleting: hasDeletionTimestamp(metadata),
  }
  return faults.length > 0 ? malformedBy(faults) : vm
}

export function parseVirtualMachineInstance(
  object: unknown,
  readMetadata = metadataOf,
): Parsed<VirtualMachineInstance> | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const whole = childOf(root, 'metadata')
  const metadata = readMetadata(whole)
  const status = childOf(root, 'status')
  const vmi: Parsed<VirtualMachineInstance> = {
    [isParsed]: true,
    apiVersion: shared(textOf(root, 'apiVersion') ?? ''),
    kind: shared(textOf(root, 'kind') ?? ''),
    metadata,
    interfaces: interfacesOf(childOf(root, 'spec'), metadata.namespace),
    ...requestTextsOf(whole),
    phase: shared(textOf(status, 'phase') ?? ''),
    nodeName: shared(textOf(status, 'nodeName') ?? ''),
    activePods: Object.keys(childOf(status, 'activePods').value),
    isDeleting: hasDeletionTimestamp(metadata),
  }
  return faults.length > 0 ? malformedBy(faults) : vmi
}

function requestTextsOf(metadata: Shape): RequestTexts {
  const annotations = textMapOf(metadata, 'annotations')
  return {
    addresses: ownText(annotations, addressesAnnotation),
    defaultNetwork: ownText(annotations, defaultNetworkAnnotation),
  }
}

/** The interfaces of a virtual machine, or of an instance, behind which the guest has an address of KubeVirt's own. */
export function masqueradedIn(object: unknown): readonly string[] {
  const spec = childOf(shapeOf(object, '', []), 'spec')
  const ofInstance = has(spec, 'template') ? childOf(childOf(spec, 'template'), 'spec') : spec
  const devices = childOf(childOf(ofInstance, 'domain'), 'devices')
  return shapesOf(devices, 'interfaces').flatMap(one => (has(one, 'masquerade') ? (textOf(one, 'name') ?? '') : []))
}

/** In the order of the networks: it is that of the elements in the annotation of the pod. */
function interfacesOf(spec: Shape, namespace: string): VMInterface[] {
  const devices = childOf(childOf(spec, 'domain'), 'devices')
  const byName = new Map(shapesOf(devices, 'interfaces').map(one => [textOf(one, 'name') ?? '', one]))
  return shapesOf(spec, 'networks').flatMap((network): VMInterface[] => {
    const name = shared(requiredText(network, 'name'))
    const device = byName.get(name)
    const multus = has(network, 'multus') ? childOf(network, 'multus') : undefined
    if (multus === undefined && !isRecord(network.value.pod)) return []
    const attachment = multus && shared(withNamespace(requiredText(multus, 'networkName'), namespace))
    return [
      {
        name,
        attachment,
        isDefault: multus !== undefined && flagOf(multus, 'default'),
        mac: (device && textOf(device, 'macAddress')) ?? '',
        isAbsent: device !== undefined && textOf(device, 'state') === 'absent',
      },
    ]
  })
}

const withNamespace = (name: string, namespace: string): string => (name.includes('/') ? name : `${namespace}/${name}`)

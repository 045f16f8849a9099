// The pod that a virtual machine runs in, as KubeVirt makes it, without what runs in it.

import { createHash } from 'node:crypto'
import { domainAnnotation, launcherLabel, migrationJobLabel, networksAnnotation } from '../../api/names.ts'
import { podInterfaceName } from '../interface-names.ts'
import { createdByLabel, migrationNameAnnotation } from '../names.ts'
import { type Instance, type InstanceSpec, interfacesOf, type Migration, networksOf, type Pod } from '../shapes.ts'

/** What KubeVirt does not copy from an instance to its pod. */
const ownAnnotations = [
  'kubectl.kubernetes.io',
  'kubevirt.io/storage-observed-api-version',
  'kubevirt.io/latest-observed-api-version',
]

/**
 * Of an instance, or of a migration, there is one such name: a pod that was made is not made again, whether or not that is known
 * yet.
 */
export function launcherName({ metadata }: Instance, migration?: Migration): string {
  const uid = (migration ?? { metadata }).metadata.uid ?? ''
  const suffix = createHash('sha256').update(uid).digest().readUIntBE(0, 6).toString(36).padStart(5, '0').slice(-5)
  return `${`virt-launcher-${metadata.name ?? ''}`.slice(0, 247)}-${suffix}`
}

/** With a migration: the pod it goes to. */
export function toLauncher(instance: Instance, migration?: Migration): Pod {
  const { name = '', namespace = '', uid = '' } = instance.metadata
  const { terminationGracePeriodSeconds = 30, nodeSelector, hostname } = instance.spec ?? {}
  const owner = {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: launcherName(instance, migration),
      namespace,
      labels: {
        ...instance.metadata.labels,
        [launcherLabel]: 'virt-launcher',
        [createdByLabel]: uid,
        'vm.kubevirt.io/name': labelValue(hostname ?? name),
        ...(migration && { [migrationJobLabel]: migration.metadata.uid ?? '' }),
      },
      annotations: {
        ...annotationsOf(instance),
        ...(migration && { [migrationNameAnnotation]: migration.metadata.name ?? '' }),
      },
      ownerReferences: [owner],
    },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds,
      containers: [{ name: 'compute', image: 'playground.mooring.dev/virt-launcher:stand-in' }],
      ...(nodeSelector && { nodeSelector }),
    },
  }
}

function annotationsOf(instance: Instance): Readonly<Record<string, string>> {
  const { annotations = {}, name = '', namespace = '' } = instance.metadata
  const copied = Object.entries(annotations).filter(([key]) => !ownAnnotations.some(prefix => key.startsWith(prefix)))
  const elements = toElements(instance.spec, namespace)
  const inPlaceOfPodNetwork = networksOf(instance.spec).find(({ multus }) => multus?.default === true)?.multus
  return {
    ...Object.fromEntries(copied),
    [domainAnnotation]: name,
    'kubectl.kubernetes.io/default-container': 'compute',
    ...(inPlaceOfPodNetwork && { 'v1.multus-cni.io/default-network': inPlaceOfPodNetwork.networkName }),
    ...(elements.length > 0 && { [networksAnnotation]: JSON.stringify(elements) }),
  }
}

export interface Element {
  readonly name: string
  readonly namespace: string
  readonly mac?: string
  readonly interface: string
}

/** The network selection elements of a spec: of each network of multus whose interface is not on its way out. */
export function toElements(spec: InstanceSpec | undefined, home: string): readonly Element[] {
  const interfaces = new Map(interfacesOf(spec).map(one => [one.name, one]))
  return networksOf(spec).flatMap(({ name, multus }): Element[] => {
    const device = interfaces.get(name)
    if (multus === undefined || multus.default === true || device === undefined || device.state === 'absent') return []
    const path = multus.networkName.split('/')
    const [namespace, attachment] = path.length > 1 ? [path[0] ?? '', path[1] ?? ''] : [home, multus.networkName]
    return [
      {
        name: attachment,
        namespace,
        ...(device.macAddress !== undefined && { mac: device.macAddress }),
        interface: podInterfaceName(name),
      },
    ]
  })
}

/** At most 63 characters, the last of them a letter or a digit. */
export const labelValue = (text: string): string => text.slice(0, 63).replace(/[^A-Za-z0-9]+$/, '')

// Failure domains of vSphere: where they come from, and what a Machine in one of them is made of. The template of a control plane names
// pools and no networks: each domain has networks of its own.

import { isParsed, type Metadata, metadataOf, type Parsed } from '../../../api/object.ts'
import { childOf, isRecord, malformedBy, type Shape, shapeOf, shapesOf, textOf, textsOf } from '../../../api/shape.ts'
import { parseVSphereProviderSpec, type VSphereProviderSpec } from '../../../api/vsphere-provider-spec.ts'
import type { Malformed } from '../../../ip/malformed.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import { defineKind, type KubeObject } from '../../../kube/object.ts'

export const infrastructures = defineKind<KubeObject>({
  group: 'config.openshift.io',
  versions: ['v1'],
  plural: 'infrastructures',
  kind: 'Infrastructure',
  namespaced: false,
})

/** There is one, of this name. */
export const infrastructureName = 'cluster'

export interface FailureDomain {
  readonly name: string
  readonly server: string
  readonly datacenter: string
  readonly computeCluster: string
  readonly datastore: string
  readonly resourcePool: string
  readonly folder: string
  readonly template: string
  readonly networks: readonly string[]
}

export interface Infrastructure {
  readonly metadata: Metadata
  /** Virtual machines without a folder of their domain are in one of this name. */
  readonly infrastructureName: string
  readonly failureDomains: readonly FailureDomain[]
}

export function parseInfrastructure(object: unknown): Parsed<Infrastructure> | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const vsphere = childOf(childOf(childOf(root, 'spec'), 'platformSpec'), 'vsphere')
  const parsed: Parsed<Infrastructure> = {
    [isParsed]: true,
    apiVersion: textOf(root, 'apiVersion') ?? '',
    kind: textOf(root, 'kind') ?? '',
    metadata: metadataOf(childOf(root, 'metadata')),
    infrastructureName: textOf(childOf(root, 'status'), 'infrastructureName') ?? '',
    failureDomains: shapesOf(vsphere, 'failureDomains').map(domainOf),
  }
  return faults.length > 0 ? malformedBy(faults) : parsed
}

function domainOf(domain: Shape): FailureDomain {
  const topology = childOf(domain, 'topology')
  const text = (key: string): string => textOf(topology, key) ?? ''
  return {
    name: textOf(domain, 'name') ?? '',
    server: textOf(domain, 'server') ?? '',
    datacenter: text('datacenter'),
    computeCluster: text('computeCluster'),
    datastore: text('datastore'),
    resourcePool: text('resourcePool'),
    folder: text('folder'),
    template: text('template'),
    networks: textsOf(topology, 'networks'),
  }
}

type Raw = Readonly<Record<string, unknown>>

/**
 * The provider spec of a Machine in a domain, from that of the template. Devices with pools stay, and get the networks of the domain in
 * order; a network more is a device more. Addresses that are written out belong to one machine and are in no template.
 */
export function inDomain(template: Raw, domain: FailureDomain, clusterName: string): Raw {
  const { server, datacenter, computeCluster, datastore, networks } = domain
  const workspace = {
    ...(isRecord(template.workspace) ? template.workspace : {}),
    server,
    datacenter,
    datastore,
    resourcePool: domain.resourcePool || `${computeCluster}/Resources`,
    folder: domain.folder || `/${datacenter}/vm/${clusterName}`,
  }
  return {
    ...template,
    ...(domain.template !== '' && { template: baseName(domain.template) }),
    workspace,
    network: { devices: devicesIn(devicesOf(template), networks) },
  }
}

const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

function devicesIn(devices: readonly Raw[], networks: readonly string[]): Raw[] {
  const kept = hasPools(devices[0]) ? devices : []
  return Array.from({ length: Math.max(kept.length, networks.length) }, (_, i) => {
    const { ipAddrs: _ipAddrs, gateway: _gateway, nameservers, ...device } = kept[i] ?? {}
    const networkName = networks[i] ?? device.networkName
    return {
      ...device,
      ...(hasPools(device) && nameservers !== undefined && { nameservers }),
      ...(networkName !== undefined && { networkName }),
    }
  })
}

function devicesOf(template: Raw): Raw[] {
  const devices = isRecord(template.network) ? template.network.devices : undefined
  return Array.isArray(devices) ? devices.filter(isRecord) : []
}

const hasPools = (device: Raw | undefined): boolean =>
  Array.isArray(device?.addressesFromPools) && device.addressesFromPools.length > 0

/** Whether a Machine is in the domain: its virtual machine is where the domain puts them. */
export function isIn({ workspace }: VSphereProviderSpec, domain: FailureDomain): boolean {
  const pool = domain.resourcePool || `${domain.computeCluster}/Resources`
  return (
    workspace.server === domain.server &&
    workspace.datacenter === domain.datacenter &&
    workspace.datastore === domain.datastore &&
    workspace.resourcePool.replaceAll(/\/+/g, '/') === pool.replaceAll(/\/+/g, '/')
  )
}

/** Whether a Machine is not what the template makes. What is written out on one machine, its address and gateway, is not compared. */
export function differs(machine: VSphereProviderSpec, wanted: Raw): boolean {
  const spec = parseVSphereProviderSpec(wanted, 'template')
  if (spec === undefined || isMalformed(spec)) return false
  return JSON.stringify(compared(machine)) !== JSON.stringify(compared(spec))
}

function compared({ devices, workspace, template, ...rest }: VSphereProviderSpec) {
  const { numCPUs, numCoresPerSocket, memoryMiB, diskGiB, snapshot, cloneMode, userDataSecret, credentialsSecret } =
    rest
  const { server, datacenter, datastore, folder, resourcePool } = workspace
  return {
    hardware: [numCPUs, numCoresPerSocket, memoryMiB, diskGiB, snapshot, cloneMode],
    secrets: [userDataSecret, credentialsSecret],
    template: baseName(template),
    place: [server, datacenter, datastore, folder, resourcePool].map(path => path.replaceAll(/\/+/g, '/')),
    devices: devices.map(({ networkName, addressesFromPools, nameservers }) => ({
      networkName,
      pools: addressesFromPools.map(({ group, resource, name }) => [group, resource, name]),
      nameservers: addressesFromPools.length > 0 ? nameservers : [],
    })),
  }
}

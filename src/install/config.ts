// What an installation on vSphere with fixed addresses needs to know of install-config.yaml. Of `hosts` every key is known; of the
// rest only what hosts are compared with and what machines are made of, and other keys are left to the installer. Judged is here only
// whether a value is of the right type: what it says is looked at by `check.ts`.

import {
  type Field,
  integerAt,
  mapAt,
  mapsAt,
  missingAt,
  readDocument,
  refuseOtherKeys,
  textAt,
  textsAt,
} from './document.ts'
import type { Fault, Marked, Place } from './fault.ts'

export interface Located {
  readonly path: string
  readonly place: Place
}

export interface HostDevice extends Located {
  readonly ipAddrs: readonly Marked<string>[]
  readonly gateway: Marked<string> | undefined
  readonly nameservers: readonly Marked<string>[]
}

export interface Host extends Located {
  readonly role: Marked<string>
  readonly failureDomain: Marked<string> | undefined
  readonly networkDevice: HostDevice | undefined
}

export interface FailureDomain extends Located {
  readonly name: string
  readonly region: string
  readonly zone: string
  readonly zoneType: string
  readonly server: Marked<string>
  readonly datacenter: string
  readonly computeCluster: string
  readonly datastore: Marked<string>
  readonly networks: readonly string[]
  readonly networksAt: Located
  readonly resourcePool: string
  readonly folder: string
  readonly template: string
  readonly tagIDs: readonly Marked<string>[]
  readonly tagsAt: Located
}

/** What machines of a pool are made of. */
export interface MachineShape {
  readonly cpus: number
  readonly coresPerSocket: number
  readonly memoryMiB: number
  readonly diskGiB: number
}

export interface MachinePool extends Located {
  /** `master`, `worker`. */
  readonly name: string
  readonly replicas: number
  readonly zones: readonly Marked<string>[]
  readonly shape: MachineShape
}

export interface InstallConfig {
  readonly clusterName: string
  readonly baseDomain: string
  readonly controlPlane: MachinePool
  readonly compute: readonly MachinePool[]
  /** Of the vCenters; undefined where none is listed. */
  readonly servers: readonly string[] | undefined
  readonly failureDomains: readonly FailureDomain[]
  /** Undefined: all machines use DHCP. */
  readonly hosts: readonly Host[] | undefined
  readonly hostsAt: Located
  /** Undefined where it is left to the installer, which then takes 10.0.0.0/16. */
  readonly machineNetworks: readonly Marked<string>[] | undefined
  readonly vips: readonly Marked<string>[]
}

/** Undefined where there is nothing to read in the text; the faults say why. */
export function readInstallConfig(text: string, faults: Fault[]): InstallConfig | undefined {
  const root = readDocument(text, faults)
  const platform = root && mapAt(root, 'platform')
  const vsphere = platform && mapAt(platform, 'vsphere')
  if (root === undefined) return undefined
  if (vsphere === undefined) {
    root.report('TypeWrong', missingAt(root, 'platform.vsphere'), 'Required value: the platform of hosts is vsphere')
    return undefined
  }
  const shape = shapeOf(mapAt(vsphere, 'defaultMachinePlatform'), usualShape)
  const controlPlane = mapAt(root, 'controlPlane')
  const compute = mapsAt(root, 'compute')
  const networking = mapAt(root, 'networking')
  const metadata = mapAt(root, 'metadata')
  return {
    clusterName: (metadata && textAt(metadata, 'name')?.value) ?? '',
    baseDomain: textAt(root, 'baseDomain')?.value ?? '',
    controlPlane: poolOf(controlPlane, missingAt(root, 'controlPlane'), 'master', shape),
    compute: (compute ?? [undefined]).map((field, i) => {
      const name = field && textAt(field, 'name')?.value
      return poolOf(field, missingAt(root, `compute[${i}]`), name ?? 'worker', shape)
    }),
    servers: serversOf(vsphere),
    failureDomains: failureDomainsOf(vsphere),
    hosts: mapsAt(vsphere, 'hosts')?.map(hostOf),
    hostsAt: missingAt({ path: vsphere.path, place: vsphere.value.get('hosts')?.place ?? vsphere.place }, 'hosts'),
    machineNetworks: networking && mapsAt(networking, 'machineNetwork')?.flatMap(one => textAt(one, 'cidr') ?? []),
    vips: vipsOf(vsphere),
  }
}

// --- hosts ---

const hostKeys = ['role', 'failureDomain', 'networkDevice']
const deviceKeys = ['ipAddrs', 'gateway', 'nameservers']

function hostOf(field: Field): Host {
  refuseOtherKeys(field, hostKeys, [{ below: 'networkDevice', keys: deviceKeys }])
  const device = mapAt(field, 'networkDevice')
  if (device !== undefined) refuseOtherKeys(device, deviceKeys)
  return {
    path: field.path,
    place: field.place,
    role: textAt(field, 'role') ?? { ...missingAt(field, 'role'), value: '' },
    failureDomain: filled(textAt(field, 'failureDomain')),
    networkDevice: device && {
      path: device.path,
      place: device.place,
      ipAddrs: textsAt(device, 'ipAddrs') ?? [],
      gateway: filled(textAt(device, 'gateway')),
      nameservers: textsAt(device, 'nameservers') ?? [],
    },
  }
}

/** An empty text says as much as none. */
const filled = (text: Marked<string> | undefined): Marked<string> | undefined => (text?.value === '' ? undefined : text)

// --- failure domains ---

const serversOf = (vsphere: Field): readonly string[] | undefined => {
  const vcenters = mapsAt(vsphere, 'vcenters')?.map(one => textAt(one, 'server')?.value ?? '')
  const older = textAt(vsphere, 'vCenter')
  return vcenters ?? (older && [older.value])
}

function failureDomainsOf(vsphere: Field): readonly FailureDomain[] {
  const listed = mapsAt(vsphere, 'failureDomains')
  if (listed !== undefined && listed.length > 0) return listed.map(failureDomainOf)
  const older = olderFailureDomainOf(vsphere)
  return older === undefined ? [] : [older]
}

function failureDomainOf(field: Field): FailureDomain {
  const text = (of: Field | undefined, key: string) => (of && textAt(of, key)?.value) ?? ''
  const topology = mapAt(field, 'topology')
  const within = topology ?? { path: `${field.path}.topology`, place: field.place }
  const incomplete = (at: Located) =>
    field.report('FailureDomainIncomplete', at, 'Required value: machines cannot be made without it')
  const needed = (of: Field | undefined, at: Located, key: string) => {
    const value = text(of, key)
    if (value === '') incomplete(missingAt(at, key))
    return value
  }
  return {
    path: field.path,
    place: field.place,
    name: needed(field, field, 'name'),
    region: text(field, 'region'),
    zone: text(field, 'zone'),
    zoneType: text(field, 'zoneType'),
    server: textAt(field, 'server') ?? { ...missingAt(field, 'server'), value: '' },
    datacenter: needed(topology, within, 'datacenter'),
    computeCluster: needed(topology, within, 'computeCluster'),
    datastore: (topology && textAt(topology, 'datastore')) ?? { ...missingAt(within, 'datastore'), value: '' },
    networks: (topology && textsAt(topology, 'networks'))?.map(({ value }) => value) ?? [],
    networksAt: missingAt(within, 'networks'),
    resourcePool: text(topology, 'resourcePool'),
    folder: text(topology, 'folder'),
    template: text(topology, 'template'),
    tagIDs: (topology && textsAt(topology, 'tagIDs')) ?? [],
    tagsAt: missingAt(within, 'tagIDs'),
  }
}

/** A file of the older form names one vCenter, cluster and network: the installer makes one failure domain of them. */
function olderFailureDomainOf(vsphere: Field): FailureDomain | undefined {
  const server = textAt(vsphere, 'vCenter')
  const datacenter = textAt(vsphere, 'datacenter')?.value
  const network = textAt(vsphere, 'network')?.value
  const datastore = textAt(vsphere, 'defaultDatastore')
  if (server === undefined || datacenter === undefined || network === undefined || datastore === undefined)
    return undefined
  const inside = (kind: string, name: string) => (name.startsWith('/') ? name : `/${datacenter}/${kind}/${name}`)
  return {
    path: vsphere.path,
    place: vsphere.place,
    name: 'generated-failure-domain',
    region: 'generated-region',
    zone: 'generated-zone',
    zoneType: '',
    server,
    datacenter,
    computeCluster: inside('host', textAt(vsphere, 'cluster')?.value ?? ''),
    datastore: { ...datastore, value: inside('datastore', datastore.value) },
    networks: [network],
    networksAt: missingAt(vsphere, 'network'),
    resourcePool: textAt(vsphere, 'resourcePool')?.value ?? '',
    folder: textAt(vsphere, 'folder')?.value ?? '',
    template: '',
    tagIDs: [],
    tagsAt: missingAt(vsphere, 'tagIDs'),
  }
}

// --- pools of machines ---

/** What the installer gives a machine about which nothing is said. */
const usualShape: MachineShape = { cpus: 4, coresPerSocket: 4, memoryMiB: 16384, diskGiB: 120 }
const usualReplicas = 3

function poolOf(field: Field | undefined, at: Located, name: string, shape: MachineShape): MachinePool {
  const platform = field && mapAt(field, 'platform')
  const vsphere = platform && mapAt(platform, 'vsphere')
  return {
    path: field?.path ?? at.path,
    place: field?.place ?? at.place,
    name,
    replicas: (field && integerAt(field, 'replicas')?.value) ?? usualReplicas,
    zones: (vsphere && textsAt(vsphere, 'zones')) ?? [],
    shape: shapeOf(vsphere, shape),
  }
}

function shapeOf(field: Field | undefined, otherwise: MachineShape): MachineShape {
  if (field === undefined) return otherwise
  const disk = mapAt(field, 'osDisk')
  const number = (key: string, otherwiseNumber: number) => integerAt(field, key)?.value || otherwiseNumber
  return {
    cpus: number('cpus', otherwise.cpus),
    coresPerSocket: number('coresPerSocket', otherwise.coresPerSocket),
    memoryMiB: number('memoryMB', otherwise.memoryMiB),
    diskGiB: (disk && integerAt(disk, 'diskSizeGB')?.value) || otherwise.diskGiB,
  }
}

// --- addresses of the cluster ---

function vipsOf(vsphere: Field): readonly Marked<string>[] {
  const lists = ['apiVIPs', 'ingressVIPs'].flatMap(key => textsAt(vsphere, key) ?? [])
  const single = ['apiVIP', 'ingressVIP'].flatMap(key => textAt(vsphere, key) ?? [])
  return [...lists, ...single]
}

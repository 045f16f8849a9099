// The objects that an installation begins with, each in the file that the installer of OpenShift would write it to: Machines, the sets
// that replace them later, and for every address of a host a claim and the IPAddress that it is bound to. The same file gives the same
// bytes.
//
// Two things differ from the installer, where what it writes cannot work. An IPAddress names a gateway only of its own family. And the
// template of a MachineSet asks for as many addresses on its first device as its hosts have, and for none on others: pool default-1
// is the second address of the first device, and not the first of the second.

import { claimNameOf } from '../api/machine.ts'
import {
  claimProtectionFinalizer,
  installerGroup,
  ipamGroup,
  machineClusterLabel,
  machineGroup,
  machineRoleLabel,
  machineSetLabel,
  machineTypeLabel,
} from '../api/names.ts'
import { vsphereProviderSpecKind } from '../api/vsphere-provider-spec.ts'
import { parseIP, toIPText } from '../ip/address.ts'
import { parseCIDR } from '../ip/cidr.ts'
import { isMalformed } from '../ip/malformed.ts'
import { type Assignment, assignHosts, type Placed, zonesOf } from './assign.ts'
import type { FailureDomain, Host, HostDevice, InstallConfig, MachinePool } from './config.ts'

export interface Manifest {
  /** `99_openshift-cluster-api_master-machines-0.yaml`. */
  readonly file: string
  readonly object: Readonly<Record<string, unknown>>
}

export const machineNamespace = 'openshift-machine-api'

/** Of a config without errors: every failure domain that is named exists. */
export function renderManifests(config: InstallConfig, infraID: string): Manifest[] {
  const assignment = assignHosts(config)
  const { controlPlane, compute } = assignment
  return [
    ...inFiles(
      '99_openshift-cluster-api_master-machines',
      controlPlane.map(one => toMachine(one, config, infraID)),
    ),
    ...inFiles(
      '99_openshift-cluster-api_worker-machines',
      compute.map(one => toMachine(one, config, infraID)),
    ),
    ...inFiles(
      '99_openshift-cluster-api_worker-machineset',
      config.compute.flatMap(pool => toMachineSets(pool, config, assignment, infraID)),
    ),
    ...controlPlaneSet(config, assignment, infraID),
    ...[...controlPlane, ...compute].flatMap(one => addressFiles(one, infraID)),
  ]
}

/** Numbered with as many digits as their number has. */
function inFiles(prefix: string, objects: readonly Manifest['object'][]): Manifest[] {
  const digits = `${objects.length}`.length
  return objects.map((object, i) => ({ file: `${prefix}-${`${i}`.padStart(digits, '0')}.yaml`, object }))
}

// --- machines ---

const roleOf = ({ name }: MachinePool): string => (name === 'master' ? 'master' : 'worker')

export const machineNameOf = ({ pool, index }: Pick<Placed, 'pool' | 'index'>, infraID: string): string =>
  `${infraID}-${pool.name}-${index}`

function labelsOf(pool: MachinePool, infraID: string) {
  const role = roleOf(pool)
  return { [machineClusterLabel]: infraID, [machineRoleLabel]: role, [machineTypeLabel]: role }
}

function toMachine(placed: Placed, config: InstallConfig, infraID: string): Manifest['object'] {
  const { pool, host, zone } = placed
  const domain = config.failureDomains.find(({ name }) => name === zone)
  return {
    apiVersion: `${machineGroup}/v1beta1`,
    kind: 'Machine',
    metadata: {
      creationTimestamp: null,
      labels: labelsOf(pool, infraID),
      name: machineNameOf(placed, infraID),
      namespace: machineNamespace,
    },
    spec: {
      lifecycleHooks: {},
      metadata: {},
      providerSpec: { value: providerSpecOf(pool, domain, host?.networkDevice, infraID) },
    },
    status: {},
  }
}

/** Without a failure domain it is the template of the control plane, of which each machine gets its own. */
function providerSpecOf(
  pool: MachinePool,
  domain: FailureDomain | undefined,
  device: HostDevice | undefined,
  infraID: string,
): object {
  const { cpus, coresPerSocket, memoryMiB, diskGiB } = pool.shape
  return {
    apiVersion: `${machineGroup}/v1beta1`,
    credentialsSecret: { name: 'vsphere-cloud-credentials' },
    diskGiB,
    kind: vsphereProviderSpecKind,
    memoryMiB,
    metadata: { creationTimestamp: null },
    network: { devices: devicesOf(domain?.networks, device) },
    numCPUs: cpus,
    numCoresPerSocket: coresPerSocket,
    snapshot: '',
    ...tagsOf(domain),
    template: domain === undefined ? '' : domain.template || `${infraID}-rhcos-${domain.name}`,
    userDataSecret: { name: `${roleOf(pool)}-user-data` },
    workspace: domain === undefined ? {} : workspaceOf(domain, infraID),
  }
}

const tagsOf = (domain: FailureDomain | undefined) =>
  domain === undefined || domain.tagIDs.length === 0 ? {} : { tagIDs: domain.tagIDs.map(({ value }) => value) }

/** A host describes one device, the first. */
function devicesOf(networks: readonly string[] | undefined, device: HostDevice | undefined): object[] {
  const first = device && {
    addressesFromPools: device.ipAddrs.map((_, i) => ({
      group: installerGroup,
      name: poolNameOf(i),
      resource: poolKind,
    })),
    ...(device.nameservers.length > 0 && { nameservers: device.nameservers.map(({ value }) => value) }),
  }
  if (networks === undefined) return first === undefined ? [] : [first]
  return networks.map((networkName, i) => ({ ...(i === 0 && first), networkName }))
}

const poolKind = 'IPPool'

/** The pool of the n-th address of hosts. */
export const poolNameOf = (index: number): string => `default-${index}`

function workspaceOf(domain: FailureDomain, infraID: string) {
  const { name, server, datacenter, datastore, computeCluster } = domain
  const clean = (path: string) => path.replaceAll(/\/{2,}/g, '/')
  return {
    datacenter,
    datastore: datastore.value,
    folder: clean(domain.folder || `/${datacenter}/vm/${infraID}`),
    resourcePool: clean(domain.resourcePool || `${computeCluster}/Resources`),
    server: server.value,
    ...(domain.zoneType === 'HostGroup' && { vmGroup: `${infraID}-${name}` }),
  }
}

// --- sets ---

function toMachineSets(
  pool: MachinePool,
  config: InstallConfig,
  assignment: Assignment,
  infraID: string,
): Manifest['object'][] {
  const zones = zonesOf(pool, config.failureDomains)
  const model = firstOf(pool, assignment)
  return zones.map((zone, i) => {
    const name = `${infraID}-${pool.name}-${i}`
    const domain = config.failureDomains.find(one => one.name === zone)
    // Where hosts are described, each machine of the installation has its own manifest.
    const spread = Math.floor(pool.replicas / zones.length) + (i < pool.replicas % zones.length ? 1 : 0)
    return {
      apiVersion: `${machineGroup}/v1beta1`,
      kind: 'MachineSet',
      metadata: {
        creationTimestamp: null,
        labels: { [machineClusterLabel]: infraID },
        name,
        namespace: machineNamespace,
      },
      spec: {
        replicas: config.hosts === undefined ? spread : 0,
        selector: { matchLabels: { [machineClusterLabel]: infraID, [machineSetLabel]: name } },
        template: {
          metadata: { labels: { ...labelsOf(pool, infraID), [machineSetLabel]: name } },
          spec: {
            lifecycleHooks: {},
            metadata: {},
            providerSpec: { value: providerSpecOf(pool, domain, model, infraID) },
          },
        },
      },
      status: { replicas: 0 },
    }
  })
}

/** The first host of the pool is what its sets are made after; where the pool has none, the first of all. */
function firstOf(pool: MachinePool, { compute }: Assignment): HostDevice | undefined {
  return (compute.find(one => one.pool === pool) ?? compute[0])?.host?.networkDevice
}

function controlPlaneSet(config: InstallConfig, { controlPlane }: Assignment, infraID: string): Manifest[] {
  const { controlPlane: pool } = config
  if (pool.replicas <= 1) return []
  const last = controlPlane.at(-1)
  const domain = config.failureDomains.find(({ name }) => name === last?.zone)
  const labels = labelsOf(pool, infraID)
  const object = {
    apiVersion: `${machineGroup}/v1`,
    kind: 'ControlPlaneMachineSet',
    metadata: {
      creationTimestamp: null,
      labels: { [machineClusterLabel]: infraID },
      name: 'cluster',
      namespace: machineNamespace,
    },
    spec: {
      replicas: pool.replicas,
      selector: { matchLabels: labels },
      state: 'Active',
      strategy: {},
      template: {
        machineType: 'machines_v1beta1_machine_openshift_io',
        machines_v1beta1_machine_openshift_io: {
          failureDomains: {
            platform: 'VSphere',
            vsphere: [...new Set(controlPlane.map(({ zone }) => zone))].map(name => ({ name })),
          },
          metadata: { labels },
          spec: {
            lifecycleHooks: {},
            metadata: {},
            providerSpec: {
              value: { ...providerSpecOf(pool, undefined, last?.host?.networkDevice, infraID), ...tagsOf(domain) },
            },
          },
        },
      },
    },
    status: {},
  }
  return [{ file: '99_openshift-machine-api_master-control-plane-machine-set.yaml', object }]
}

// --- claims and addresses ---

function addressFiles(placed: Placed, infraID: string): Manifest[] {
  const { host } = placed
  return addressesOf(host).flatMap(({ address, prefix, gateway }, i) => {
    const name = claimNameOf(machineNameOf(placed, infraID), 0, i)
    const poolRef = { apiGroup: installerGroup, kind: poolKind, name: poolNameOf(i) }
    return [
      {
        file: `99_openshift-machine-api_claim-${name}.yaml`,
        object: {
          apiVersion: `${ipamGroup}/v1beta1`,
          kind: 'IPAddressClaim',
          metadata: {
            creationTimestamp: null,
            finalizers: [claimProtectionFinalizer],
            name,
            namespace: machineNamespace,
          },
          spec: { poolRef },
          status: { addressRef: { name } },
        },
      },
      {
        file: `99_openshift-machine-api_address-${name}.yaml`,
        object: {
          apiVersion: `${ipamGroup}/v1beta1`,
          kind: 'IPAddress',
          metadata: { creationTimestamp: null, name, namespace: machineNamespace },
          spec: { address, claimRef: { name }, ...(gateway !== '' && { gateway }), poolRef, prefix },
        },
      },
    ]
  })
}

export interface HostAddress {
  /** In its one short spelling: the ledger knows no other. */
  readonly address: string
  readonly prefix: number
  /** Empty where the host has none of this family. */
  readonly gateway: string
}

export function addressesOf(host: Host | undefined): HostAddress[] {
  const { ipAddrs = [], gateway } = host?.networkDevice ?? {}
  const router = gateway && parseIP(gateway.value)
  return ipAddrs.flatMap(({ value }) => {
    const cidr = parseCIDR(value)
    if (isMalformed(cidr)) return []
    const isOfFamily = router !== undefined && !isMalformed(router) && router.family === cidr.ip.family
    return [{ address: toIPText(cidr.ip), prefix: cidr.bits, gateway: isOfFamily ? toIPText(router) : '' }]
  })
}

// Machines, their sets, claims, pools and holds as they stand in a cluster, with plain defaults, all in one namespace.

import { toHoldObject } from '../../src/api/hold.ts'
import { claimNameOf } from '../../src/api/machine.ts'
import { claimProtectionFinalizer } from '../../src/api/names.ts'
import { pools as poolKinds } from '../../src/controllers/office/kinds.ts'
import { keyOfKind } from '../../src/controllers/office/views.ts'
import { parseIP } from '../../src/ip/address.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { type Fleet, fleetOf } from '../../src/machines/fleet.ts'
import { orThrow } from '../harness/or-throw.ts'

export const namespace = 'openshift-machine-api'

export interface Thing extends KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly [field: string]: unknown
}

export interface Device {
  readonly networkName?: string
  readonly ipAddrs?: readonly string[]
  /** Names of AddressPools; or a whole entry. */
  readonly pools?: readonly (string | { readonly group: string; readonly resource: string; readonly name: string })[]
}

const machineAPI = 'machine.openshift.io/v1beta1'

function aProviderSpec(...devices: readonly Device[]) {
  return {
    value: {
      apiVersion: machineAPI,
      kind: 'VSphereMachineProviderSpec',
      network: {
        devices: devices.map(({ networkName = 'lab', ipAddrs = [], pools = [] }) => ({
          networkName,
          ...(ipAddrs.length > 0 && { ipAddrs }),
          ...(pools.length > 0 && { addressesFromPools: pools.map(toEntry) }),
        })),
      },
    },
  }
}

const toEntry = (pool: NonNullable<Device['pools']>[number]) =>
  typeof pool === 'string' ? { group: 'mooring.dev', resource: 'AddressPool', name: pool } : pool

const uidOf = (kind: string, name: string): string => `${kind}-${name}`

export const aMachineSet = (name: string, replicas: number, ...devices: readonly Device[]): Thing => ({
  apiVersion: machineAPI,
  kind: 'MachineSet',
  metadata: { name, namespace, uid: uidOf('MachineSet', name) },
  spec: {
    replicas,
    selector: { matchLabels: { set: name } },
    template: { metadata: { labels: { set: name } }, spec: { providerSpec: aProviderSpec(...devices) } },
  },
})

export interface ControlPlaneParts {
  readonly state?: string
  readonly failureDomains?: readonly string[]
}

export const aControlPlane = (
  replicas: number,
  { state = 'Active', failureDomains = ['a', 'b', 'c'] }: ControlPlaneParts,
  ...devices: readonly Device[]
): Thing => ({
  apiVersion: 'machine.openshift.io/v1',
  kind: 'ControlPlaneMachineSet',
  metadata: { name: 'cluster', namespace, uid: uidOf('ControlPlaneMachineSet', 'cluster') },
  spec: {
    replicas,
    state,
    strategy: { type: 'RollingUpdate' },
    selector: { matchLabels: { set: 'cluster' } },
    template: {
      machineType: 'machines_v1beta1_machine_openshift_io',
      machines_v1beta1_machine_openshift_io: {
        failureDomains: { platform: 'VSphere', vsphere: failureDomains.map(name => ({ name })) },
        metadata: { labels: { set: 'cluster' } },
        spec: { providerSpec: aProviderSpec(...devices) },
      },
    },
  },
})

export interface MachineParts {
  readonly set?: string
  readonly devices?: readonly Device[]
  readonly reported?: readonly string[]
  readonly isRunning?: boolean
}

export function aMachine(
  name: string,
  { set = '', devices = [], reported = [], isRunning = true }: MachineParts = {},
): Thing {
  const kind = set === 'cluster' ? 'ControlPlaneMachineSet' : 'MachineSet'
  const owner = { apiVersion: machineAPI, kind, name: set, uid: uidOf(kind, set), controller: true }
  return {
    apiVersion: machineAPI,
    kind: 'Machine',
    metadata: {
      name,
      namespace,
      uid: uidOf('Machine', name),
      ...(set !== '' && { labels: { set }, ownerReferences: [owner] }),
    },
    spec: { providerSpec: aProviderSpec(...devices), ...(isRunning && { providerID: `vsphere://${name}` }) },
    status: {
      ...(reported.length > 0 && { addresses: reported.map(address => ({ type: 'InternalIP', address })) }),
    },
  }
}

export interface ClaimParts {
  /** Of the Machine that controls it; '' for none. */
  readonly machine?: string
  readonly pool?: string
  /** Name of the IPAddress that its status names. */
  readonly boundTo?: string
  readonly finalizers?: readonly string[]
  readonly isDeleting?: boolean
  readonly ofNamespace?: string
  readonly created?: string
}

export function aClaim(name: string, parts: ClaimParts = {}): Thing {
  const {
    machine = '',
    pool = 'lab',
    boundTo = '',
    finalizers = [claimProtectionFinalizer],
    isDeleting = false,
  } = parts
  const owner = {
    apiVersion: machineAPI,
    kind: 'Machine',
    name: machine,
    uid: uidOf('Machine', machine),
    controller: true,
  }
  return {
    apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
    kind: 'IPAddressClaim',
    metadata: {
      name,
      namespace: parts.ofNamespace ?? namespace,
      uid: uidOf('IPAddressClaim', name),
      creationTimestamp: parts.created ?? '2026-01-01T00:00:00Z',
      finalizers,
      ...(machine !== '' && { ownerReferences: [owner] }),
      ...(isDeleting && { deletionTimestamp: '2026-01-02T00:00:00Z' }),
    },
    spec: { poolRef: { apiGroup: 'mooring.dev', kind: 'AddressPool', name: pool } },
    ...(boundTo !== '' && { status: { addressRef: { name: boundTo } } }),
  }
}

export const anAddress = (name: string, address: string, claim = name, pool = 'lab'): Thing => ({
  apiVersion: 'ipam.cluster.x-k8s.io/v1beta2',
  kind: 'IPAddress',
  metadata: { name, namespace, uid: uidOf('IPAddress', name) },
  spec: {
    claimRef: { name: claim },
    poolRef: { apiGroup: 'mooring.dev', kind: 'AddressPool', name: pool },
    address,
    prefix: 24,
  },
})

/** An AddressPool. */
export const aPool = (name: string, addresses: string, spec: object = {}, metadata: object = {}): Thing => ({
  apiVersion: 'mooring.dev/v1alpha1',
  kind: 'AddressPool',
  metadata: { name, namespace, uid: uidOf('AddressPool', name), ...metadata },
  spec: { addresses: [addresses], prefix: addresses.includes(':') ? 64 : 24, ...spec },
})

export interface HoldParts {
  /** Its quarantine ends then. */
  readonly until?: string
  readonly pool?: string
  readonly uid?: string
}

export function aHold(address: string, claim: string, { until, pool = 'lab', uid }: HoldParts = {}): Thing {
  const identity = { apiGroup: 'mooring.dev', kind: 'AddressPool', namespace, name: pool }
  const ip = orThrow(parseIP(address))
  const object = toHoldObject(
    {
      space: `AddressPool.mooring.dev/${namespace}/${pool}`,
      ip,
      bits: ip.family === 4 ? 32 : 128,
      pool: identity,
      claim: {
        apiGroup: 'ipam.cluster.x-k8s.io',
        kind: 'IPAddressClaim',
        namespace,
        name: claim,
        uid: uid ?? uidOf('IPAddressClaim', claim),
      },
      owner: undefined,
    },
    '2026-01-01T00:00:00Z',
  )
  return until === undefined ? object : { ...object, status: { ...object.status, state: 'quarantined', until } }
}

/** A Machine of a set that runs with an address of the pool: itself, its claim, the IPAddress and the hold. */
export function aRunning(name: string, set: string, address: string, devices: readonly Device[] = fromLab): Thing[] {
  const claim = claimNameOf(name, 0, 0)
  const pool = devices[0]?.pools?.[0]
  const poolName = typeof pool === 'string' ? pool : 'lab'
  return [
    aMachine(name, { set, devices, reported: [address] }),
    aClaim(claim, { machine: name, boundTo: claim, pool: poolName }),
    anAddress(claim, address, claim, poolName),
    aHold(address, claim, { pool: poolName }),
  ]
}

export const fromLab: readonly Device[] = [{ pools: ['lab'] }]

export function aFleet(...things: readonly Thing[]): Fleet {
  const of = (...kinds: readonly string[]) => things.filter(({ kind }) => kinds.includes(kind))
  const isOf = (thing: Thing, kind: (typeof poolKinds)[number]) =>
    thing.kind === kind.kind && thing.apiVersion.startsWith(`${kind.group}/`)
  return fleetOf({
    namespace,
    machines: of('Machine'),
    machineSets: of('MachineSet'),
    controlPlanes: of('ControlPlaneMachineSet'),
    listed: {
      pools: new Map(poolKinds.map(kind => [keyOfKind(kind), things.filter(thing => isOf(thing, kind))])),
      claims: of('IPAddressClaim'),
      reports: of('IPAddress'),
      holds: of('Hold'),
      clusters: [],
      namespaces: [aNamespace(), ...of('Namespace')],
    },
  })
}

export const aNamespace = (name = namespace, labels: Readonly<Record<string, string>> = {}): Thing => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, uid: `namespace-${name}`, labels },
})

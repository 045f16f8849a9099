// Machines of OpenShift, as drafts, and what is promised of them. What the machine API and a vCenter would do with them is done by hand,
// and step by step.

import { expect } from 'vitest'
import type { KubeObject } from '../../src/kube/object.ts'
import { coreVersion } from './definitions.ts'
import { claims } from './kinds.ts'
import { nextName } from './machines.ts'
import type { Stored, Thing, World } from './world.ts'

type Fields = Readonly<Record<string, unknown>>

const machineAPI = 'machine.openshift.io'

/** A pool of Machines: ten addresses of 192.168.101.0/24, unless it is said otherwise. */
export function aMachinePool(spec: Fields = {}, group: string = machineAPI, name = nextName('pool')): Stored {
  return {
    apiVersion: `${group}/v1beta1`,
    kind: 'IPPool',
    metadata: { name },
    spec: { addresses: ['192.168.101.10-192.168.101.19'], prefix: 24, gateway: '192.168.101.1', ...spec },
  }
}

export const anInstallerPool = (spec: Fields = {}, name = nextName('default')): Stored =>
  aMachinePool(spec, 'installer.openshift.io', name)

/** What a device says of a pool. */
export const from = (pool: KubeObject): Fields => ({
  group: pool.apiVersion?.split('/')[0] ?? '',
  resource: pool.kind,
  name: pool.metadata.name,
})

/** A device that takes an address from each of these pools. */
export const aDevice = (...pools: KubeObject[]): Fields => ({
  networkName: 'lab',
  nameservers: ['192.168.101.2'],
  addressesFromPools: pools.map(from),
})

export function aProviderSpec(devices: readonly Fields[], more: Fields = {}): Fields {
  return {
    apiVersion: `${machineAPI}/v1beta1`,
    kind: 'VSphereMachineProviderSpec',
    credentialsSecret: { name: 'vsphere-cloud-credentials' },
    userDataSecret: { name: 'worker-user-data' },
    numCPUs: 4,
    memoryMiB: 16384,
    diskGiB: 120,
    template: 'rhcos',
    workspace: { server: 'vcenter.example', datacenter: 'dc', datastore: 'ds', folder: '/dc/vm/c1' },
    network: { devices },
    ...more,
  }
}

export function aMachine(devices: readonly Fields[], metadata: Fields = {}): Stored {
  return {
    apiVersion: `${machineAPI}/v1beta1`,
    kind: 'Machine',
    metadata: { name: nextName('worker'), ...metadata },
    spec: { providerSpec: { value: aProviderSpec(devices) } },
  }
}

/** The claim that a Machine has for an entry. */
export const claimOf = ({ metadata }: KubeObject, device = 0, pool = 0): Stored => ({
  apiVersion: `ipam.cluster.x-k8s.io/${coreVersion}`,
  kind: 'IPAddressClaim',
  metadata: {
    name: `${metadata.name}-claim-${device}-${pool}`,
    ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
  },
})

/** The finalizer of the machine API: its virtual machine goes first. */
export const machineFinalizer = 'machine.machine.openshift.io'
export const protection = 'machine.openshift.io/ip-claim-protection'

export interface Said {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime: string
}

export const saidBy = (machine: Stored | undefined): Said | undefined =>
  ((machine?.status?.conditions ?? []) as Said[]).find(({ type }) => type === 'IPAddressClaimed')

export const saidInProviderStatus = (machine: Stored | undefined): Said | undefined =>
  ((machine?.status?.providerStatus?.conditions ?? []) as Said[]).find(({ type }) => type === 'IPAddressClaimed')

export function isClaimed(world: World, machine: Thing): Promise<Stored> {
  return world.eventually(async () => {
    const stored = await world.get(machine)
    expect(saidBy(stored)).toMatchObject({
      status: 'True',
      reason: 'IPAddressesClaimed',
      message: 'All IP address claims are bound',
    })
    return stored as Stored
  })
}

export function waitsWith(
  world: World,
  machine: Thing,
  message: RegExp,
  reason = 'WaitingForIPAddress',
): Promise<Stored> {
  return world.eventually(async () => {
    const stored = await world.get(machine)
    expect(saidBy(stored)).toMatchObject({ status: 'False', reason })
    expect(saidBy(stored)?.message).toMatch(message)
    return stored as Stored
  })
}

/** As the machine API says it once it has ordered the virtual machine. */
export const isOrdered = (world: World, machine: Thing) =>
  world.patch(
    machine,
    { status: { phase: 'Running', providerStatus: { instanceId: 'vm-1', instanceState: 'poweredOn' } } },
    'status',
  )

export async function claimsOfHome(world: World): Promise<Stored[]> {
  return (await world.list(claims)).filter(({ metadata }) => metadata.namespace === world.home)
}

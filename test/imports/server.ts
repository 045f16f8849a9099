// The API server of the product in one process, with every kind that an import reads and makes. Nothing else runs there.

import { standInsOf } from '../../src/cli/definitions.ts'
import { attachments, clusterUserDefinedNetworks, ipPools, namespaces } from '../../src/controllers/office/kinds.ts'
import { ipamClaims, pods, virtualMachineInstances, virtualMachines } from '../../src/controllers/vm/kinds.ts'
import type { Client } from '../../src/kube/client.ts'
import { events } from '../../src/kube/events.ts'
import type { Kind, KubeObject } from '../../src/kube/object.ts'
import { defineKind, refOf } from '../../src/kube/object.ts'
import { speak } from '../../src/kube/speak.ts'
import { ok } from '../harness/client.ts'
import { kubeWire } from '../harness/kube-wire.ts'
import type { MemoryDisk } from '../harness/memory-store.ts'
import { VirtualClock } from '../harness/virtual-clock.ts'
import { aWorld, certificates, toDER } from '../harness/world.ts'

export const kubeVirts = defineKind<KubeObject>({
  group: 'kubevirt.io',
  versions: ['v1'],
  plural: 'kubevirts',
  kind: 'KubeVirt',
  namespaced: true,
})

const kinds: readonly Kind[] = [
  attachments,
  clusterUserDefinedNetworks,
  ipPools,
  namespaces,
  ipamClaims,
  pods,
  virtualMachineInstances,
  virtualMachines,
  events,
  kubeVirts,
]

export interface Thing extends KubeObject {
  readonly [field: string]: unknown
}

export interface Server {
  readonly client: Client
  /** Makes it, and its status where it has one. */
  readonly put: (object: Thing) => Promise<void>
}

export async function aServer(): Promise<Server> {
  const { server } = await aWorld({ disk: await withKinds() })
  const wire = kubeWire({ handler: () => server.handler, peerCertificate: toDER(certificates().admin().certificate) })
  const { client } = speak({ wire, clock: new VirtualClock(), name: 'tester', absentMs: 0 })
  return {
    client,
    put: async object => {
      const kind = kinds.find(one => one.kind === object.kind)
      if (kind === undefined) throw new Error(`no import reads ${object.kind}`)
      await client.create(kind, object)
      const { status } = object
      if (status !== undefined && kind !== virtualMachineInstances) {
        await client.mergePatch(kind, refOf(object), { status }, { subresource: 'status' })
      }
    },
  }
}

let diskWithKinds: Promise<MemoryDisk> | undefined

/** The kinds are installed once for all tests of a file. */
async function withKinds(): Promise<MemoryDisk> {
  diskWithKinds ??= aWorld().then(async server => {
    for (const definition of standInsOf([{ standIns: ['crd/', 'crd/kubevirt/', 'crd/networks/'] }])) {
      ok(await server.admin.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition))
    }
    await server.settled()
    return server.disk
  })
  const { meta, rows } = await diskWithKinds
  return { meta, rows: new Map(rows) }
}

// --- builders ---

export const aNamespace = (name: string, labels: Readonly<Record<string, string>> = {}): Thing => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
})

export const forPrimary = { 'k8s.ovn.org/primary-user-defined-network': '' }

export const aClusterUDN = (name: string, namespace: string, layer2: object = {}): Thing => ({
  apiVersion: 'k8s.ovn.org/v1',
  kind: 'ClusterUserDefinedNetwork',
  metadata: { name },
  spec: {
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    network: {
      topology: 'Layer2',
      layer2: {
        role: 'Primary',
        subnets: ['10.0.0.0/24'],
        defaultGatewayIPs: ['10.0.0.254'],
        ipam: { lifecycle: 'Persistent' },
        ...layer2,
      },
    },
  },
})

export const aClaim = (namespace: string, name: string, vm: string, status: object): Thing => ({
  apiVersion: 'k8s.cni.cncf.io/v1alpha1',
  kind: 'IPAMClaim',
  metadata: { name, namespace, labels: { 'kubevirt.io/vm': vm } },
  spec: { network: 'cluster_udn_blue', interface: 'eth0' },
  status,
})

export interface MachineParts {
  readonly mac: string
  readonly ip?: string
  readonly source?: string
}

const templateOf = ({ mac }: MachineParts) => ({
  domain: { devices: { interfaces: [{ name: 'net-0', binding: { name: 'l2bridge' }, macAddress: mac }] } },
  networks: [{ name: 'net-0', pod: {} }],
})

export const aVM = (namespace: string, name: string, parts: MachineParts): Thing => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachine',
  metadata: { name, namespace, annotations: parts.source ? { 'mooring.dev/import-source': parts.source } : {} },
  spec: {
    runStrategy: 'Halted',
    template: {
      metadata: {
        annotations: parts.ip ? { 'network.kubevirt.io/addresses': JSON.stringify({ 'net-0': [parts.ip] }) } : {},
      },
      spec: templateOf(parts),
    },
  },
})

export const aVMI = (namespace: string, name: string, parts: MachineParts, status: object = {}): Thing => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachineInstance',
  metadata: { name, namespace },
  spec: templateOf(parts),
  status,
})

export const aPod = (namespace: string, name: string, podNetworks: object): Thing => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, annotations: { 'k8s.ovn.org/pod-networks': JSON.stringify(podNetworks) } },
  spec: { containers: [{ name: 'compute', image: 'launcher' }] },
})

let eventCount = 0

export const anEvent = (namespace: string, kind: string, name: string, reason: string, note: string): Thing => ({
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  metadata: { name: `event-${++eventCount}`, namespace },
  eventTime: '2026-01-02T03:04:05.000000Z',
  type: 'Warning',
  reason,
  action: 'Told',
  note,
  regarding: { apiVersion: 'kubevirt.io/v1', kind, namespace, name },
  reportingController: 'test',
  reportingInstance: 'test',
})

// Networks that users define, as drafts, and what is promised of them.

import { expect } from 'vitest'
import type { KubeObject } from '../../src/kube/object.ts'
import { nextName } from './machines.ts'
import type { Stored, Thing, World } from './world.ts'

type Fields = Readonly<Record<string, unknown>>

const apiVersion = 'k8s.ovn.org/v1'
export const primaryLabel = 'k8s.ovn.org/primary-user-defined-network'
export const finalizer = 'k8s.ovn.org/user-defined-network-protection'

/** By it OVN-Kubernetes is known to be installed. */
export const anEgressIPDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'egressips.k8s.ovn.org' },
  spec: {
    group: 'k8s.ovn.org',
    scope: 'Cluster',
    names: { plural: 'egressips', singular: 'egressip', kind: 'EgressIP', listKind: 'EgressIPList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
} as KubeObject

/** A primary network of 10.0.0.0/24, unless said otherwise. */
export const layer2 = (config: Fields = {}): Fields => ({
  topology: 'Layer2',
  layer2: { role: 'Primary', subnets: ['10.0.0.0/24'], ...config },
})

export const localnet = (config: Fields = {}): Fields => ({
  topology: 'Localnet',
  localnet: { role: 'Secondary', physicalNetworkName: 'lab', subnets: ['10.0.0.0/24'], ...config },
})

export function aUDN(namespace: string, spec: Fields, metadata: Fields = {}): Stored {
  const names = { name: nextName('udn'), namespace, ...metadata }
  return { apiVersion, kind: 'UserDefinedNetwork', metadata: names, spec }
}

/** For the namespaces whose label `team` says so. */
export function aCUDN(team: string, network: Fields, metadata: Fields = {}): Stored {
  const spec = { namespaceSelector: { matchLabels: { team } }, network }
  return { apiVersion, kind: 'ClusterUserDefinedNetwork', metadata: { name: nextName('cudn'), ...metadata }, spec }
}

/** A namespace whose pods may have a primary network of their own. */
export const aHome = (world: World, labels: Readonly<Record<string, string>> = {}): Promise<string> =>
  world.anotherNamespace({ [primaryLabel]: '', ...labels })

/** A claim that a user makes, for a network by its name. */
export const aClaimFor = (network: string, namespace: string, name = nextName('claim')): KubeObject =>
  ({
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    metadata: { name, namespace },
    spec: { network, interface: 'eth0' },
  }) as KubeObject

/** Those that are stored with an address while no process looks ask for exactly that. */
export async function aClaimThatAsks(world: World, network: string, namespace: string, ...ips: string[]) {
  const claim = await world.create(aClaimFor(network, namespace))
  return world.patch(claim, { status: { ips } }, 'status')
}

export const aPodOn = (namespace: string, attachment: string): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: nextName('pod'),
      namespace,
      annotations: { 'k8s.ovn.org/pod-networks': JSON.stringify({ [attachment]: { role: 'primary' } }) },
    },
    spec: { containers: [{ name: 'main', image: 'x' }] },
  }) as KubeObject

export const attachmentOf = ({ metadata }: KubeObject, namespace: string): Thing => ({
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  metadata: { name: metadata.name ?? '', namespace },
})

export function isRendered(world: World, network: KubeObject, namespace: string): Promise<Stored> {
  return world.eventually(async () => {
    const stored = await world.get(attachmentOf(network, namespace))
    expect(stored).toBeDefined()
    return stored as Stored
  })
}

export const isNotRendered = (world: World, network: KubeObject, namespace: string): Promise<void> =>
  world.eventually(async () => expect(await world.get(attachmentOf(network, namespace))).toBeUndefined())

export const createdOf = (network: Stored | undefined) =>
  (network?.status?.conditions as { type: string; message: string }[] | undefined)?.find(
    ({ type }) => type === 'NetworkCreated',
  )

/** Its condition says so. */
export function says(world: World, network: Thing, status: string, reason: string, message: RegExp): Promise<void> {
  return world.eventually(async () => {
    const created = createdOf(await world.get(network))
    expect(created ?? 'nothing is said').toMatchObject({ status, reason })
    expect(created?.message).toMatch(message)
  })
}

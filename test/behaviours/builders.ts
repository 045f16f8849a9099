// Objects with good defaults, in the words of the stories: `aClaim().on(pool)`.

import type { KubeObject } from '../../src/kube/object.ts'
import { coreVersion } from './definitions.ts'

const ipam = 'ipam.cluster.x-k8s.io'

export interface Draft {
  readonly object: Body
}

interface Body extends KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly spec?: Readonly<Record<string, unknown>>
}

const run = Math.random().toString(36).slice(2, 6)
let count = 0
/** Kinds without namespaces share their names with every other test on the server. */
const nextName = (what: string): string => `${what}-${run}-${++count}`

function change(body: Body, { spec, metadata }: { spec?: object; metadata?: object }): Body {
  return { ...body, metadata: { ...body.metadata, ...metadata }, ...(spec && { spec: { ...body.spec, ...spec } }) }
}

function annotated({ metadata }: Body, annotations: Readonly<Record<string, string>>) {
  return { metadata: { annotations: { ...metadata.annotations, ...annotations } } }
}

export interface PoolDraft extends Draft {
  named(name: string): PoolDraft
  in(namespace: string): PoolDraft
  withAddresses(...addresses: string[]): PoolDraft
  withPrefix(prefix: number): PoolDraft
  withGateway(gateway: string): PoolDraft
  without(...excludedAddresses: string[]): PoolDraft
  /** Any other field of the spec. */
  with(spec: Readonly<Record<string, unknown>>): PoolDraft
  paused(): PoolDraft
}

function poolDraft(object: Body): PoolDraft {
  const next = (parts: { spec?: object; metadata?: object }) => poolDraft(change(object, parts))
  return {
    object,
    named: name => next({ metadata: { name } }),
    in: namespace => next({ metadata: { namespace } }),
    withAddresses: (...addresses) => next({ spec: { addresses } }),
    withPrefix: prefix => next({ spec: { prefix } }),
    withGateway: gateway => next({ spec: { gateway } }),
    without: (...excludedAddresses) => next({ spec: { excludedAddresses } }),
    with: spec => next({ spec }),
    paused: () => next(annotated(object, pausedAnnotation)),
  }
}

export const pausedAnnotation = { 'cluster.x-k8s.io/paused': '' } as const

const addresses = { addresses: ['10.0.1.0/24'], prefix: 24 }

const pool = (kind: string, apiVersion: string, spec: Readonly<Record<string, unknown>>): PoolDraft =>
  poolDraft({ apiVersion, kind, metadata: { name: nextName('pool') }, spec })

export const aPool = (): PoolDraft => pool('InClusterIPPool', `${ipam}/v1alpha2`, addresses)
export const aGlobalPool = (): PoolDraft => pool('GlobalInClusterIPPool', `${ipam}/v1alpha2`, addresses)
export const anAddressPool = (): PoolDraft => pool('AddressPool', 'mooring.dev/v1alpha1', addresses)
export const aClusterAddressPool = (): PoolDraft => pool('ClusterAddressPool', 'mooring.dev/v1alpha1', addresses)

export const aPrefixPool = (...prefixes: string[]): PoolDraft =>
  pool('InClusterPrefixPool', `${ipam}/v1alpha2`, { prefixes })
export const aGlobalPrefixPool = (...prefixes: string[]): PoolDraft =>
  pool('GlobalInClusterPrefixPool', `${ipam}/v1alpha2`, { prefixes })

export interface ClaimDraft extends Draft {
  named(name: string): ClaimDraft
  in(namespace: string): ClaimDraft
  on(pool: Draft | KubeObject): ClaimDraft
  forCluster(name: string): ClaimDraft
  /** Linked by label alone, as older consumers do it. */
  labelledForCluster(name: string): ClaimDraft
  asking(address: string): ClaimDraft
  annotated(annotations: Readonly<Record<string, string>>): ClaimDraft
  guardedBy(...finalizers: string[]): ClaimDraft
  ownedBy(owner: KubeObject): ClaimDraft
  paused(): ClaimDraft
}

function claimDraft(object: Body): ClaimDraft {
  const next = (parts: { spec?: object; metadata?: object }) => claimDraft(change(object, parts))
  return {
    object,
    named: name => next({ metadata: { name } }),
    in: namespace => next({ metadata: { namespace } }),
    on: target => next({ spec: { poolRef: referenceTo(target) } }),
    forCluster: clusterName => next({ spec: { clusterName } }),
    labelledForCluster: name => next({ metadata: { labels: { 'cluster.x-k8s.io/cluster-name': name } } }),
    asking: address => next(annotated(object, { 'mooring.dev/requested-address': address })),
    annotated: annotations => next(annotated(object, annotations)),
    guardedBy: (...finalizers) => next({ metadata: { finalizers } }),
    ownedBy: owner => next({ metadata: { ownerReferences: [ownerReferenceTo(owner)] } }),
    paused: () => next(annotated(object, pausedAnnotation)),
  }
}

export function referenceTo(target: Draft | KubeObject) {
  const { apiVersion = '', kind, metadata } = 'object' in target ? (target as Draft).object : (target as KubeObject)
  return { apiGroup: apiVersion.split('/')[0], kind, name: metadata.name }
}

export function ownerReferenceTo({ apiVersion = '', kind = '', metadata }: KubeObject) {
  return {
    apiVersion,
    kind,
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    controller: true,
    blockOwnerDeletion: true,
  }
}

export const aClaim = (version: string = coreVersion): ClaimDraft =>
  claimDraft({
    apiVersion: `${ipam}/${version}`,
    kind: 'IPAddressClaim',
    metadata: { name: nextName('claim') },
    spec: {},
  })

/** An IPAddress as a user makes it by hand for a claim that is to come. */
export function anAddressFor(claim: ClaimDraft, address: string, spec: Readonly<Record<string, unknown>> = {}): Draft {
  const { apiVersion, metadata, spec: wish } = claim.object
  const { name = '', namespace } = metadata
  return {
    object: {
      apiVersion,
      kind: 'IPAddress',
      metadata: { name, ...(namespace !== undefined && { namespace }) },
      spec: { claimRef: { name }, poolRef: wish?.poolRef, address, prefix: 24, ...spec },
    },
  }
}

export interface ClusterDraft extends Draft {
  readonly name: string
  named(name: string): ClusterDraft
  in(namespace: string): ClusterDraft
  pausedBySpec(): ClusterDraft
  pausedByAnnotation(): ClusterDraft
}

function clusterDraft(object: Body): ClusterDraft {
  const next = (parts: { spec?: object; metadata?: object }) => clusterDraft(change(object, parts))
  return {
    object,
    name: object.metadata.name ?? '',
    named: name => next({ metadata: { name } }),
    in: namespace => next({ metadata: { namespace } }),
    pausedBySpec: () => next({ spec: { paused: true } }),
    pausedByAnnotation: () => next(annotated(object, pausedAnnotation)),
  }
}

export const aCluster = (): ClusterDraft =>
  clusterDraft({
    apiVersion: `cluster.x-k8s.io/${coreVersion}`,
    kind: 'Cluster',
    metadata: { name: nextName('cluster') },
    spec: {},
  })

export interface AttachmentDraft extends Draft {
  in(namespace: string): AttachmentDraft
  offeredTo(namespaces: string): AttachmentDraft
}

function attachmentDraft(object: Body): AttachmentDraft {
  const next = (parts: { spec?: object; metadata?: object }) => attachmentDraft(change(object, parts))
  return {
    object,
    in: namespace => next({ metadata: { namespace } }),
    offeredTo: namespaces => next(annotated(object, { 'mooring.dev/allowed-namespaces': namespaces })),
  }
}

/** A NetworkAttachmentDefinition; a config that is no text becomes JSON. */
export const anAttachment = (config: object | string): AttachmentDraft =>
  attachmentDraft({
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { name: nextName('net') },
    spec: { config: typeof config === 'string' ? config : JSON.stringify(config) },
  })

/** The config of a layer2 network of OVN-Kubernetes. */
export const layer2 = (name: string, more: object = {}): object => ({
  cniVersion: '1.1.0',
  type: 'ovn-k8s-cni-overlay',
  name,
  topology: 'layer2',
  subnets: '10.0.1.0/24',
  ...more,
})

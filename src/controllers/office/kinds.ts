// The kinds that the office itself reads and writes, as a client needs to know them. What their objects mean is in `src/api`.

import { ipPoolKind } from '../../api/ip-pool.ts'
import type { VersionedKind } from '../../api/object.ts'
import { ownPoolKinds } from '../../api/to-pool.ts'
import { defineKind, type Kind, type KubeObject } from '../../kube/object.ts'

export const holds = defineKind<KubeObject>({
  group: 'mooring.dev',
  versions: ['v1alpha1'],
  plural: 'holds',
  kind: 'Hold',
  namespaced: false,
})

export const macHolds = defineKind<KubeObject>({
  group: 'mooring.dev',
  versions: ['v1alpha1'],
  plural: 'macholds',
  kind: 'MACHold',
  namespaced: false,
})

export const namespaces = defineKind<KubeObject>({
  group: '',
  versions: ['v1'],
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
})

/** Networks are made of these; several of one network name are one network. */
export const attachments = defineKind<KubeObject>({
  group: 'k8s.cni.cncf.io',
  versions: ['v1'],
  plural: 'network-attachment-definitions',
  kind: 'NetworkAttachmentDefinition',
  namespaced: true,
})

export const clusterUserDefinedNetworks = defineKind<KubeObject>({
  group: 'k8s.ovn.org',
  versions: ['v1'],
  plural: 'clusteruserdefinednetworks',
  kind: 'ClusterUserDefinedNetwork',
  namespaced: false,
})

export const userDefinedNetworks = defineKind<KubeObject>({
  group: 'k8s.ovn.org',
  versions: ['v1'],
  plural: 'userdefinednetworks',
  kind: 'UserDefinedNetwork',
  namespaced: true,
})

/** A kind that every installation of OVN-Kubernetes has, and no other. Its objects are not read. */
export const egressIPs = defineKind<KubeObject>({
  group: 'k8s.ovn.org',
  versions: ['v1'],
  plural: 'egressips',
  kind: 'EgressIP',
  namespaced: false,
})

/** The claim: one interface of one virtual machine, on one network. */
export const ipamClaims = defineKind<KubeObject>({
  group: 'k8s.cni.cncf.io',
  versions: ['v1alpha1'],
  plural: 'ipamclaims',
  kind: 'IPAMClaim',
  namespaced: true,
})

/** Those that virtual machines run in. */
export const pods = defineKind<KubeObject>({
  group: '',
  versions: ['v1'],
  plural: 'pods',
  kind: 'Pod',
  namespaced: true,
})

/** Claims of Cluster API, which Machines make too: v1beta2 where it is served, v1beta1 where that is all there is. */
export const ipAddressClaims = defineKind<KubeObject>({
  group: 'ipam.cluster.x-k8s.io',
  versions: ['v1beta2', 'v1beta1'],
  plural: 'ipaddressclaims',
  kind: 'IPAddressClaim',
  namespaced: true,
})

/** Their reports. */
export const ipAddresses = defineKind<KubeObject>({
  group: 'ipam.cluster.x-k8s.io',
  versions: ['v1beta2', 'v1beta1'],
  plural: 'ipaddresses',
  kind: 'IPAddress',
  namespaced: true,
})

/** Of a kind that `src/api` reads. */
export const kindAs = ({ group, version, plural, kind, isNamespaced }: VersionedKind): Kind =>
  defineKind<KubeObject>({ group, versions: [version], plural, kind, namespaced: isNamespaced })

/** What is kept of networks, by MAC. */
export const ipPools: Kind = kindAs(ipPoolKind)

/** In the order of `src/api/to-pool.ts`. */
export const pools: readonly Kind[] = ownPoolKinds.map(kindAs)

export const nodes = defineKind<KubeObject>({
  group: '',
  versions: ['v1'],
  plural: 'nodes',
  kind: 'Node',
  namespaced: false,
})

// The kinds that desks read and write, as a client needs to know them. What their objects mean is in `src/api`.

import { ownPoolKinds } from '../../api/to-pool.ts'
import { defineKind, type Kind, type KubeObject } from '../../kube/object.ts'

export const holds = defineKind<KubeObject>({
  group: 'mooring.dev',
  versions: ['v1alpha1'],
  plural: 'holds',
  kind: 'Hold',
  namespaced: false,
})

/** v1beta2 where it is served, v1beta1 where that is all there is. */
export const claims = defineKind<KubeObject>({
  group: 'ipam.cluster.x-k8s.io',
  versions: ['v1beta2', 'v1beta1'],
  plural: 'ipaddressclaims',
  kind: 'IPAddressClaim',
  namespaced: true,
})

export const reports = defineKind<KubeObject>({
  group: 'ipam.cluster.x-k8s.io',
  versions: ['v1beta2', 'v1beta1'],
  plural: 'ipaddresses',
  kind: 'IPAddress',
  namespaced: true,
})

export const clusters = defineKind<KubeObject>({
  group: 'cluster.x-k8s.io',
  versions: ['v1beta2', 'v1beta1'],
  plural: 'clusters',
  kind: 'Cluster',
  namespaced: true,
})

export const namespaces = defineKind<KubeObject>({
  group: '',
  versions: ['v1'],
  plural: 'namespaces',
  kind: 'Namespace',
  namespaced: false,
})

/** In the order of `src/api/to-pool.ts`. */
export const pools: readonly Kind[] = ownPoolKinds.map(({ group, version, plural, kind, isNamespaced }) =>
  defineKind<KubeObject>({ group, versions: [version], plural, kind, namespaced: isNamespaced }),
)

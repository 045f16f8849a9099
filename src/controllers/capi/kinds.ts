// The kinds of the capi desk, as a client needs to know them. What their objects mean is in `src/api`.

import { defineKind, type KubeObject } from '../../kube/object.ts'

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

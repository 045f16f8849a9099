// The kinds of the capi desk, as a client needs to know them. What their objects mean is in `src/api`.

import { defineKind, type KubeObject } from '../../kube/object.ts'

export { ipAddressClaims as claims, ipAddresses as reports } from '../office/kinds.ts'

export const clusters = defineKind<KubeObject>({
  group: 'cluster.x-k8s.io',
  versions: ['v1beta2', 'v1beta1'],
  plural: 'clusters',
  kind: 'Cluster',
  namespaced: true,
})

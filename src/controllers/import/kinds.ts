// The kinds of the import desk, as a client needs to know them. What their objects mean is in `src/api`.

import { defineKind, type KubeObject } from '../../kube/object.ts'

export const userDefinedNetworks = defineKind<KubeObject>({
  group: 'k8s.ovn.org',
  versions: ['v1'],
  plural: 'userdefinednetworks',
  kind: 'UserDefinedNetwork',
  namespaced: true,
})

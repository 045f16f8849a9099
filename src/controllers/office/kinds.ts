// The kinds that the office itself reads and writes, as a client needs to know them. What their objects mean is in `src/api`.

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

/** In the order of `src/api/to-pool.ts`. */
export const pools: readonly Kind[] = ownPoolKinds.map(({ group, version, plural, kind, isNamespaced }) =>
  defineKind<KubeObject>({ group, versions: [version], plural, kind, namespaced: isNamespaced }),
)

// The plain discovery documents: which groups, versions and resources are served. Old clients and simple ones read
// these; newer ones read `aggregated.ts`, which says the same in one answer.

import { createHash } from 'node:crypto'
import type { ServedKind, Subresource, Verb } from '../kinds/kind.ts'
import { toAPIVersion } from '../object.ts'
import type { GroupVersions } from './version-order.ts'

export interface GroupVersionForDiscovery {
  groupVersion: string
  version: string
}

export interface APIGroup {
  kind?: 'APIGroup'
  apiVersion?: 'v1'
  name: string
  versions: GroupVersionForDiscovery[]
  preferredVersion: GroupVersionForDiscovery
}

export interface APIResource {
  name: string
  singularName: string
  namespaced: boolean
  group?: string
  version?: string
  kind: string
  verbs: readonly string[]
  shortNames?: readonly string[]
  categories?: readonly string[]
  storageVersionHash?: string
}

/** `/api`. The address is the one under which the client reached this server. */
export function toAPIVersions(serverAddress: string) {
  return {
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  }
}

/** `/apis`; the core group is not among them. */
export function toAPIGroupList(groups: readonly GroupVersions[]) {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.filter(({ group }) => group !== '').map(toAPIGroup) }
}

/** `/apis/GROUP` */
export function toAPIGroup({ group, versions }: GroupVersions): APIGroup {
  const offered = versions.map(({ version }) => ({ groupVersion: toAPIVersion(group, version), version }))
  const preferredVersion = offered[0] ?? { groupVersion: '', version: '' }
  return { name: group, versions: offered, preferredVersion }
}

/** `/api/v1` and `/apis/GROUP/VERSION` */
export function toAPIResourceList(group: string, version: string, kinds: readonly ServedKind[]) {
  return {
    kind: 'APIResourceList',
    // The core group's own document is the one that carries no apiVersion.
    ...(group !== '' && { apiVersion: 'v1' }),
    groupVersion: toAPIVersion(group, version),
    resources: kinds.flatMap(kind => [toResource(kind), ...inServedOrder(kind).map(sub => toSubresource(kind, sub))]),
  }
}

function toResource(kind: ServedKind): APIResource {
  const hash = storageVersionHash(kind)
  return {
    name: kind.plural,
    singularName: kind.singular,
    namespaced: kind.namespaced,
    kind: kind.kind,
    verbs: inVerbOrder(kind, kind.verbs),
    ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
    ...(kind.categories.length > 0 && { categories: kind.categories }),
    ...(hash !== undefined && { storageVersionHash: hash }),
  }
}

function toSubresource(kind: ServedKind, sub: Subresource): APIResource {
  return {
    name: `${kind.plural}/${sub.name}`,
    singularName: '',
    namespaced: kind.namespaced,
    ...(sub.group !== undefined && { group: sub.group }),
    ...(sub.version !== undefined && { version: sub.version }),
    kind: sub.kind ?? kind.kind,
    verbs: inVerbOrder(kind, sub.verbs),
  }
}

/** Built-in subresources stand in the order of their names, those of custom kinds status first. */
export function inServedOrder(kind: ServedKind): Subresource[] {
  const direction = kind.isCustom ? -1 : 1
  return [...kind.subresources].sort((a, b) => (a.name < b.name ? -direction : direction))
}

const customOrder: readonly Verb[] = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch']

export function inVerbOrder(kind: ServedKind, verbs: readonly Verb[]): readonly Verb[] {
  if (!kind.isCustom) return [...verbs].sort()
  return customOrder.filter(verb => verbs.includes(verb))
}

// Kinds whose objects are stored under another version than the one they are read as.
const storedElsewhere = new Map([
  ['apiextensions.k8s.io/v1/CustomResourceDefinition', 'apiextensions.k8s.io/v1beta1/CustomResourceDefinition'],
  ['events.k8s.io/v1/Event', '/v1/Event'],
  ['autoscaling/v1/HorizontalPodAutoscaler', 'autoscaling/v2/HorizontalPodAutoscaler'],
])

function storageVersionHash(kind: ServedKind): string | undefined {
  if (!kind.verbs.includes('create') || !kind.verbs.includes('list')) return undefined
  const read = `${kind.group}/${kind.version}/${kind.kind}`
  const stored = storedElsewhere.get(read) ?? read
  return createHash('sha256').update(stored).digest().subarray(0, 8).toString('base64')
}

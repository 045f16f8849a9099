// Which version or group comes first. Clients take the first version of a group as the preferred one and the first
// group that knows a short name as the one meant, so this order decides what `kubectl get` shows.

import type { ServedKind } from '../kinds/kind.ts'

/** v10 > v2 > v1 > v11beta2 > v10beta3 > v3beta1 > v12alpha1 > v11alpha2 > foo1 > foo10: the newest stable first. */
export function compareVersions(a: string, b: string): number {
  if (a === b) return 0
  const left = parseVersion(a)
  const right = parseVersion(b)
  if (left === undefined && right === undefined) return a < b ? -1 : 1
  if (left === undefined) return 1
  if (right === undefined) return -1
  return right.stability - left.stability || right.major - left.major || right.minor - left.minor
}

function parseVersion(text: string): { stability: number; major: number; minor: number } | undefined {
  const match = /^v([1-9]\d{0,8})(?:(alpha|beta)([1-9]\d{0,8}))?$/.exec(text)
  if (match === null) return undefined
  const stability = match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0
  return { stability, major: Number(match[1]), minor: Number(match[3] ?? 0) }
}

// Higher comes first, names break ties; the order every cluster has.
const groupPriorities = new Map([
  ['', 18_000],
  ['apiregistration.k8s.io', 17_950],
  ['apps', 17_800],
  ['events.k8s.io', 17_750],
  ['authentication.k8s.io', 17_700],
  ['authorization.k8s.io', 17_600],
  ['autoscaling', 17_500],
  ['batch', 17_400],
  ['certificates.k8s.io', 17_300],
  ['networking.k8s.io', 17_200],
  ['policy', 17_100],
  ['rbac.authorization.k8s.io', 17_000],
  ['storage.k8s.io', 16_800],
  ['admissionregistration.k8s.io', 16_700],
  ['apiextensions.k8s.io', 16_700],
  ['scheduling.k8s.io', 16_600],
  ['coordination.k8s.io', 16_500],
  ['node.k8s.io', 16_300],
  ['discovery.k8s.io', 16_200],
  ['resource.k8s.io', 16_200],
  ['flowcontrol.apiserver.k8s.io', 16_100],
  ['internal.apiserver.k8s.io', 16_000],
  ['storagemigration.k8s.io', 15_800],
])
const customPriority = 1_000

function compareGroups(a: GroupVersions, b: GroupVersions): number {
  const difference = priorityOf(b) - priorityOf(a)
  return difference || (a.group < b.group ? -1 : a.group > b.group ? 1 : 0)
}

function priorityOf({ group, versions }: GroupVersions): number {
  const asked = versions.map(({ foreign }) => foreign?.groupPriority ?? 0)
  return groupPriorities.get(group) ?? Math.max(versions.some(({ foreign }) => !foreign) ? customPriority : 0, ...asked)
}

export interface GroupVersions {
  readonly group: string
  /** The preferred one first. */
  readonly versions: readonly VersionKinds[]
}

export interface VersionKinds {
  readonly version: string
  readonly kinds: readonly ServedKind[]
  /** Another server answers for it. */
  readonly foreign?: ForeignDiscovery
}

export interface ForeignDiscovery {
  readonly group: string
  readonly version: string
  readonly groupPriority: number
  readonly versionPriority: number
  /** What it said last; undefined when it does not answer. */
  readonly resources: readonly object[] | undefined
}

/** All groups, versions and kinds in the order that clients are told about them. */
export function inOrder(kinds: readonly ServedKind[], foreign: readonly ForeignDiscovery[] = []): GroupVersions[] {
  const own = groupBy(kinds, kind => kind.group).map(([group, members]) => ({
    group,
    versions: groupBy(members, kind => kind.version)
      .sort(([a], [b]) => compareVersions(a, b))
      .map(([version, served]) => ({ version, kinds: served.sort((a, b) => (a.plural < b.plural ? -1 : 1)) })),
  }))
  return withForeign(own, foreign).sort(compareGroups)
}

/** A group may have versions of both: those of other servers come where their priority puts them. */
function withForeign(own: readonly GroupVersions[], foreign: readonly ForeignDiscovery[]): GroupVersions[] {
  const groups = new Map<string, readonly VersionKinds[]>(own.map(({ group, versions }) => [group, versions]))
  for (const [group, members] of groupBy(foreign, one => one.group)) {
    const added = members.map((one): VersionKinds => ({ version: one.version, kinds: [], foreign: one }))
    groups.set(group, [...(groups.get(group) ?? []), ...added].sort(compareVersionKinds))
  }
  return [...groups].map(([group, versions]) => ({ group, versions }))
}

/** Of our own versions the best one has 100 in its APIService. */
const ownVersionPriority = 100

function compareVersionKinds(a: VersionKinds, b: VersionKinds): number {
  const [left, right] = [a, b].map(({ foreign }) => foreign?.versionPriority ?? ownVersionPriority)
  return (right ?? 0) - (left ?? 0) || compareVersions(a.version, b.version)
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): [string, T[]][] {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group === undefined) groups.set(keyOf(item), [item])
    else group.push(item)
  }
  return [...groups]
}

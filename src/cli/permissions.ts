// What the controller may do in a cluster, and why: the one list from which the roles are written (`config/rbac`), which is
// checked when it starts, and which the reference describes. A verb that is not here is never used; one that is here has a
// line that says what would not work without it.

import { claims, clusters, reports } from '../controllers/capi/kinds.ts'
import { holds, namespaces, pools } from '../controllers/office/kinds.ts'
import { events } from '../kube/events.ts'
import { leases } from '../kube/lease.ts'
import type { Kind } from '../kube/object.ts'

/** The lease that candidates compete for. */
export const leaseName = 'mooring-controller'

/**
 * Where a permission is needed: `cluster` for kinds without namespaces, `watched` for kinds with them, in every namespace or in
 * the one of `--namespace`, `own` in the namespace of the controller itself.
 */
export type PermissionScope = 'cluster' | 'watched' | 'own'

export interface Permission {
  readonly group: string
  /** Plural, with its subresource: `ipaddressclaims/status`. */
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
  readonly scope: PermissionScope
  /** Only objects of these names; not possible for `create`. */
  readonly names?: readonly string[]
  /** What does not work without it: the end of "without it ...". */
  readonly without: string
  /** No pass begins, and the process is not ready, while it is missing. */
  readonly isNeeded: boolean
  /** Of which part of the controller: one that is switched off needs no permissions. */
  readonly of: 'desk' | 'election' | 'diagnostics'
}

const deskPermissions: readonly Permission[] = [
  needed(holds, ['get', 'list', 'watch', 'create', 'patch', 'delete'], 'no address can be held'),
  needed(claims, ['get', 'list', 'watch'], 'claims are not seen'),
  needed(claims, ['patch'], 'a claim does not remember its address'),
  needed(sub(claims, 'status'), ['patch'], 'a claim does not say that it is bound, or why it waits'),
  needed(
    sub(claims, 'finalizers'),
    ['update'],
    'an IPAddress cannot name its claim as owner where the API server checks who may block a deletion',
  ),
  needed(reports, ['get', 'list', 'watch', 'create', 'patch', 'delete'], 'claims get no IPAddress'),
  ...byScope(pools).flatMap(kinds => [
    needed(kinds, ['list', 'watch'], 'pools are not seen'),
    needed(kinds, ['patch'], 'a pool in use can be deleted'),
    needed(
      kinds.map(kind => sub(kind, 'status')),
      ['patch'],
      'a pool does not say what is used and free',
    ),
    needed(
      kinds.map(kind => sub(kind, 'finalizers')),
      ['update'],
      'an IPAddress cannot name its pool as owner where the API server checks who may block a deletion',
    ),
  ]),
  needed(clusters, ['list', 'watch'], 'claims of a paused Cluster are not left alone'),
  needed(namespaces, ['get', 'list', 'watch'], 'pools cannot be offered to namespaces by their labels'),
  { ...needed(events, ['create', 'patch'], 'kubectl describe shows no events'), isNeeded: false },
]

const electionPermissions: readonly Permission[] = [
  // A name cannot be asked for while there is no object of that name.
  { ...needed(leases, ['create'], 'no replica can lead'), scope: 'own', of: 'election' },
  { ...needed(leases, ['get', 'update'], 'no replica can lead'), scope: 'own', names: [leaseName], of: 'election' },
]

const diagnosticsPermissions: readonly Permission[] = [
  diagnosing('authentication.k8s.io', 'tokenreviews'),
  diagnosing('authorization.k8s.io', 'subjectaccessreviews'),
]

export const permissions: readonly Permission[] = [
  ...deskPermissions,
  ...electionPermissions,
  ...diagnosticsPermissions,
]

interface Resource extends Pick<Kind, 'group' | 'plural' | 'namespaced'> {}

function needed(kinds: Resource | readonly Resource[], verbs: readonly string[], without: string): Permission {
  const list: readonly Resource[] = Array.isArray(kinds) ? kinds : [kinds]
  const [first] = list
  return {
    group: first?.group ?? '',
    resources: list.map(({ plural }) => plural),
    verbs,
    scope: first?.namespaced === true ? 'watched' : 'cluster',
    without,
    isNeeded: true,
    of: 'desk',
  }
}

function diagnosing(group: string, resource: string): Permission {
  const without = 'nobody can read /metrics, unless --insecure-diagnostics is given'
  return {
    group,
    resources: [resource],
    verbs: ['create'],
    scope: 'cluster',
    without,
    isNeeded: false,
    of: 'diagnostics',
  }
}

function sub({ group, plural, namespaced }: Resource, subresource: string): Resource {
  return { group, plural: `${plural}/${subresource}`, namespaced }
}

/** One rule speaks of one group, and of kinds with namespaces or of kinds without. */
function byScope(kinds: readonly Kind[]): Kind[][] {
  const together = new Map<string, Kind[]>()
  for (const kind of kinds) {
    const key = `${kind.group} ${kind.namespaced}`
    together.set(key, [...(together.get(key) ?? []), kind])
  }
  return [...together.values()]
}

/** One verb on one resource, as the API server is asked about it. */
export interface SinglePermission {
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource?: string
  readonly name?: string
  /** Empty for all namespaces, and for kinds without. */
  readonly namespace: string
  readonly without: string
  readonly isNeeded: boolean
}

export interface PermissionsInUse {
  /** Empty for all. */
  readonly watchedNamespace: string
  readonly ownNamespace: string
  readonly isElecting: boolean
  readonly isDiagnosing: boolean
}

export function singlePermissions({
  watchedNamespace,
  ownNamespace,
  isElecting,
  isDiagnosing,
}: PermissionsInUse): SinglePermission[] {
  const namespaceOf = { cluster: '', watched: watchedNamespace, own: ownNamespace }
  const inUse = { desk: true, election: isElecting, diagnostics: isDiagnosing }
  return permissions
    .filter(permission => inUse[permission.of])
    .flatMap(({ group, resources, verbs, names, scope, without, isNeeded }) =>
      resources.flatMap(resource => {
        const [plural = '', subresource] = resource.split('/')
        return verbs.map(verb => ({
          verb,
          group,
          resource: plural,
          ...(subresource !== undefined && { subresource }),
          ...(names?.[0] !== undefined && { name: names[0] }),
          namespace: namespaceOf[scope],
          without,
          isNeeded,
        }))
      }),
    )
}

/** `ipaddressclaims.ipam.cluster.x-k8s.io/status`, or `namespaces`. */
export function nameOfResource({ group, resource, subresource }: SinglePermission): string {
  const name = group === '' ? resource : `${resource}.${group}`
  return subresource === undefined ? name : `${name}/${subresource}`
}

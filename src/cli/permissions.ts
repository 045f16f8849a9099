// What the controller may do in a cluster, and why: gathered from the office, the desks and the parts of the process itself. The
// RBAC roles are written from it (`config/rbac`), it is checked when the controller starts, and the reference describes it. A
// verb that is not here is never used; one that is here has a line that says what would not work without it.

import { type Component, type Permission, permission } from '../controllers/component.ts'
import type { Desk } from '../controllers/desk.ts'
import { officeComponent } from '../controllers/office/component.ts'
import { leases } from '../kube/lease.ts'
import { mutatingConfigurations, policies, policyBindings, validatingConfigurations } from './webhook-configurations.ts'

/** The lease that candidates compete for. */
export const leaseName = 'mooring-controller'

const electionPermissions: readonly Permission[] = [
  // A name cannot be asked for while there is no object of that name.
  { ...permission(leases, ['create'], 'no replica can lead'), scope: 'own' },
  { ...permission(leases, ['get', 'update'], 'no replica can lead'), scope: 'own', names: [leaseName] },
]

const diagnosticsPermissions: readonly Permission[] = [
  diagnosing('authentication.k8s.io', 'tokenreviews'),
  diagnosing('authorization.k8s.io', 'subjectaccessreviews'),
]

const registrationPermissions: readonly Permission[] = [
  {
    ...permission(
      [validatingConfigurations, mutatingConfigurations, policies, policyBindings],
      ['list'],
      'a registration of webhooks, or an admission policy, that was changed or removed is not noticed',
    ),
    isNeeded: false,
  },
]

function diagnosing(group: string, plural: string): Permission {
  const without = 'no user can read /metrics, unless --insecure-diagnostics is given'
  return { ...permission({ group, plural, namespaced: false }, ['create'], without), isNeeded: false }
}

/** The permissions of one part of the controller: the office, a desk, the election, the diagnostics, the registration. */
export interface PermissionSet {
  readonly name: string
  readonly permissions: readonly Permission[]
}

/** Of a desk that is off only what it takes to see: the ledger counts what every installed kind shows. */
export function permissionSets(desks: readonly Desk[], on: readonly string[]): PermissionSet[] {
  return [
    officeComponent,
    ...desks.map(desk => (on.includes(desk.name) ? desk : { name: desk.name, permissions: seeingOf(desk) })),
    { name: 'election', permissions: electionPermissions },
    { name: 'diagnostics', permissions: diagnosticsPermissions },
    { name: 'registration', permissions: registrationPermissions },
  ].filter(({ permissions }) => permissions.length > 0)
}

/** What the controller may do besides with `--machine-mode=full`: nothing, where the desk that has this mode is off. */
export function fullPermissionSets(desks: readonly Desk[], on: readonly string[]): PermissionSet[] {
  return desks.flatMap(({ name, permissionsInFull: permissions }) =>
    permissions !== undefined && on.includes(name) ? [{ name, permissions }] : [],
  )
}

const seeingOf = ({ permissions }: Component): Permission[] => permissions.filter(({ isForSeeing }) => isForSeeing)

/** One verb on one resource, as the API server is asked about it. */
export interface SinglePermission {
  /** Which part of the controller needs it. */
  readonly of: string
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
  readonly sets: readonly PermissionSet[]
  /** Empty for all. */
  readonly watchedNamespace: string
  readonly ownNamespace: string
  readonly isElecting: boolean
  readonly isDiagnosing: boolean
  /** Webhooks are answered. */
  readonly isAnswering: boolean
}

export function singlePermissions(inUse: PermissionsInUse): SinglePermission[] {
  const { sets, watchedNamespace, ownNamespace, isElecting, isDiagnosing, isAnswering } = inUse
  // Of those namespaces the controller learns with the first Machine in them, which then says what is missing.
  const namespaceOf = { cluster: '', watched: watchedNamespace, own: ownNamespace, machines: undefined }
  const isUsed = ({ name }: PermissionSet): boolean =>
    (name !== 'election' || isElecting) &&
    (name !== 'diagnostics' || isDiagnosing) &&
    (name !== 'registration' || isAnswering)
  return sets.filter(isUsed).flatMap(({ name: of, permissions }) =>
    permissions.flatMap(({ group, resources, verbs, names, scope, without, isNeeded }) => {
      const namespace = namespaceOf[scope]
      if (namespace === undefined) return []
      return resources.flatMap(resource => {
        const [plural = '', subresource] = resource.split('/')
        return verbs.map(verb => ({
          of,
          verb,
          group,
          resource: plural,
          ...(subresource !== undefined && { subresource }),
          ...(names?.[0] !== undefined && { name: names[0] }),
          namespace,
          without,
          isNeeded,
        }))
      })
    }),
  )
}

/** `ipaddressclaims.ipam.cluster.x-k8s.io/status`, or `namespaces`. */
export function nameOfResource({ group, resource, subresource }: SinglePermission): string {
  const name = group === '' ? resource : `${resource}.${group}`
  return subresource === undefined ? name : `${name}/${subresource}`
}

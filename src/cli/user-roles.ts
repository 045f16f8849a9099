// Roles for users, made from the kinds of the office and of the desks. The roles for one namespace are also included in the roles
// `view`, `edit` and `admin` that every cluster has, so a user who may edit a namespace may ask for addresses there.
//
// No role may write a status, an IPAddress, or a hold that exists: these are written by the controller. Whether a user may
// `create` holds is also asked where a claim brings its address along (`mooring.dev/address`), so only one role has it.

import type { Component, UsedKind } from '../controllers/component.ts'

export interface UserRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

export interface UserRole {
  readonly name: string
  /** One sentence, without the full stop. */
  readonly about: string
  /** Which role of Kubernetes includes it. */
  readonly aggregateTo?: 'view' | 'edit' | 'admin'
  readonly rulesOf: (component: Pick<Component, 'kinds'>) => readonly UserRule[]
}

const read = ['get', 'list', 'watch']
const write = ['create', 'update', 'patch', 'delete', 'deletecollection']

export const userRoles: readonly UserRole[] = [
  {
    name: 'view',
    about: 'reads pools, claims and addresses of a namespace',
    aggregateTo: 'view',
    rulesOf: rules(kind => (isInNamespace(kind) ? read : [])),
  },
  {
    name: 'edit',
    about: 'also writes claims',
    aggregateTo: 'edit',
    rulesOf: rules(kind => (isInNamespace(kind) ? [...read, ...(kind.usedAs === 'claim' ? write : [])] : [])),
  },
  {
    name: 'admin',
    about: 'also writes pools of the namespace',
    aggregateTo: 'admin',
    rulesOf: rules(kind => (isInNamespace(kind) ? [...read, ...(kind.usedAs === 'report' ? [] : write)] : [])),
  },
  {
    name: 'ledger-reader',
    about: 'reads everything of Mooring in the whole cluster: holds, pools, claims and addresses',
    rulesOf: rules(({ usedAs }) => (usedAs === undefined ? [] : read)),
  },
  {
    name: 'pool-admin',
    about: 'also writes pools of every scope, ends quarantines, and brings claims along with the addresses they have',
    rulesOf: rules(({ usedAs }) => {
      if (usedAs === undefined) return []
      if (usedAs === 'pool') return [...read, ...write]
      return usedAs === 'hold' ? [...read, 'create', 'delete'] : read
    }),
  },
]

const aggregationLabel = (to: string): string => `rbac.authorization.k8s.io/aggregate-to-${to}`

const isInNamespace = ({ kind, usedAs }: UsedKind): boolean => usedAs !== undefined && kind.namespaced

/** One rule for each group and list of verbs. */
function rules(verbsOf: (kind: UsedKind) => readonly string[]): UserRole['rulesOf'] {
  return ({ kinds }) => {
    const together = new Map<string, UserRule>()
    for (const used of kinds) {
      const verbs = verbsOf(used)
      const { group, plural } = used.kind
      const key = [group, ...verbs].join(' ')
      const resources = [...(together.get(key)?.resources ?? []), plural]
      if (verbs.length > 0) together.set(key, { apiGroups: [group], resources, verbs })
    }
    return [...together.values()]
  }
}

export interface UserRoleOptions {
  /** Every name begins with it. */
  readonly namePrefix: string
  readonly labels: Readonly<Record<string, string>>
  /** The office, and the desks that are on. */
  readonly components: readonly Pick<Component, 'kinds'>[]
}

export function toClusterRoles({ namePrefix, labels, components }: UserRoleOptions) {
  return userRoles.map(({ name, aggregateTo, rulesOf }) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: {
      name: `${namePrefix}${name}`,
      labels: { ...labels, ...(aggregateTo && { [aggregationLabel(aggregateTo)]: 'true' }) },
    },
    rules: components.flatMap(component => rulesOf(component)),
  }))
}

// What the office and each desk bring to a cluster, as data. Everything that is derived is derived from this: the flags, the
// RBAC roles, the chart, the start-up checks, the registration of webhooks, what is installed on the embedded server, the
// reference pages.

import type { Conversion } from '../admission/conversion.ts'
import type { Webhook } from '../admission/webhook.ts'
import type { Kind } from '../kube/object.ts'

export interface Component {
  /** The same word in `--desks`, logs, metrics, readiness and docs. */
  readonly name: string
  /** One sentence for people, without the full stop. */
  readonly about: string
  readonly kinds: readonly UsedKind[]
  readonly permissions: readonly Permission[]
  /** What it may do besides with `--machine-mode=full`: an installation grants it on demand, and while the desk is on. */
  readonly permissionsInFull?: readonly Permission[]
  readonly webhooks: readonly Webhook<unknown>[]
  readonly conversions: readonly Conversion[]
  /** Definitions that it brings to a server that has none: folders or files of `config/crd`, or the objects themselves. */
  readonly definitions: readonly (string | object)[]
  /**
   * Definitions of kinds that other products bring, of which Mooring reads a part: folders of `config/crd`. `mooring up` brings them
   * to a server that has none; an installation in a cluster does not, and another product's own is never overwritten.
   */
  readonly standIns?: readonly string[]
}

export interface UsedKind {
  readonly kind: Kind
  /** What brings it: the end of "it comes with ...". */
  readonly comesWith: string
  /** Nothing of the component works without it. */
  readonly isNeeded: boolean
  /**
   * Our definition of it, a file of `config`, for clusters into which no other product brings one. `mooring definitions` prints it, and the
   * user decides: an installation does not bring it by itself.
   */
  readonly definition?: string
  /** What users do with it: the roles for users are made from this. Absent where users have no business with it by Mooring. */
  readonly usedAs?: 'claim' | 'report' | 'pool' | 'hold'
}

/**
 * Where a permission is needed: `cluster` for kinds without namespaces, `watched` for kinds with them, in every namespace or
 * in the one of `--namespace`, `own` in the namespace of the controller itself, `machines` in those that an administrator names for
 * Machines whose virtual machines Mooring makes.
 */
export type PermissionScope = 'cluster' | 'watched' | 'own' | 'machines'

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
  /** No pass of the component begins while it is missing. */
  readonly isNeeded: boolean
  /** It only looks: it is asked for whichever desks are on, because the ledger counts what every installed kind shows. */
  readonly isForSeeing: boolean
}

interface Resource extends Pick<Kind, 'group' | 'plural' | 'namespaced'> {}

/** A permission that the component cannot do without. */
export function permission(
  kinds: Resource | readonly Resource[],
  verbs: readonly string[],
  without: string,
): Permission {
  const list: readonly Resource[] = Array.isArray(kinds) ? kinds : [kinds]
  const [first] = list
  return {
    group: first?.group ?? '',
    resources: list.map(({ plural }) => plural),
    verbs,
    scope: first?.namespaced === true ? 'watched' : 'cluster',
    without,
    isNeeded: true,
    isForSeeing: false,
  }
}

/** To list and watch, whichever desks are on. */
export function seeing(kinds: Resource | readonly Resource[], without: string): Permission {
  return { ...permission(kinds, ['list', 'watch'], without), isForSeeing: true }
}

export function subresource({ group, plural, namespaced }: Resource, name: string): Resource {
  return { group, plural: `${plural}/${name}`, namespaced }
}

/** One RBAC rule has one group, and kinds with namespaces or kinds without. */
export function byRule<R extends Resource>(kinds: readonly R[]): R[][] {
  const together = new Map<string, R[]>()
  for (const kind of kinds) {
    const key = `${kind.group} ${kind.namespaced}`
    together.set(key, [...(together.get(key) ?? []), kind])
  }
  return [...together.values()]
}

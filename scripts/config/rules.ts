// RBAC rules, made from the permissions of the office, of each desk, of the election and of the diagnostics.

import type { PermissionSet } from '../../src/cli/permissions.ts'
import type { Permission, PermissionScope } from '../../src/controllers/component.ts'

export interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

/** In the order of the sets. A rule that two of them need stands where the first one has it, and once. */
export function rulesOf(sets: readonly PermissionSet[], scopes: readonly PermissionScope[]): Rule[] {
  const rules = sets
    .flatMap(({ permissions }) => permissions)
    .filter(({ scope }) => scopes.includes(scope))
    .map(toRule)
  return [...new Map(rules.map(rule => [keyOf(rule), rule])).values()]
}

function toRule({ group, resources, verbs, names }: Permission): Rule {
  return { apiGroups: [group], resources, ...(names && { resourceNames: names }), verbs }
}

/** What each rule is for: a line for each set that needs it. */
export class RuleReasons {
  readonly #reasons = new Map<string, string[]>()

  constructor(sets: readonly PermissionSet[]) {
    for (const { name, permissions } of sets) {
      for (const permission of permissions) {
        const key = keyOf(toRule(permission))
        const lines = this.#reasons.get(key) ?? []
        this.#reasons.set(key, [...lines, `${name}: without it, ${permission.without}.`])
      }
    }
  }

  of(rule: unknown): readonly string[] {
    return this.#reasons.get(keyOf(rule)) ?? []
  }
}

const keyOf = (rule: unknown): string => JSON.stringify(rule)

// Cluster roles made of other cluster roles: `admin` has the rules of every role with a certain label. The rules are
// written into the role itself, so clients and the authorizer read one object.

import type { KubeObject } from '../object.ts'
import { equal, isObject } from '../object.ts'
import type { LabelSelector } from '../selectors/labels.ts'
import { fromLabelSelectorObject, SelectorError } from '../selectors/labels.ts'

/** The rules an aggregating role should have; undefined for a role that aggregates nothing. */
export function aggregatedRules(role: KubeObject, clusterRoles: Iterable<KubeObject>): unknown[] | undefined {
  const selectors = selectorsOf(role)
  if (selectors === undefined) return undefined
  const others = [...clusterRoles].filter(other => other.metadata.name !== role.metadata.name).sort(byName)
  const rules: unknown[] = []
  for (const selector of selectors) {
    for (const other of others) {
      if (!selector.matches(other.metadata.labels)) continue
      for (const rule of Array.isArray(other.rules) ? other.rules : []) {
        if (!rules.some(known => equal(known, rule))) rules.push(rule)
      }
    }
  }
  return rules
}

/**
 * The roles whose written rules are not what they should be, with the right ones. Writing them may make others outdated
 * in turn (`view` is part of `edit`, `edit` of `admin`); asking again until nothing is outdated settles it.
 */
export function outdatedAggregations(clusterRoles: readonly KubeObject[]): KubeObject[] {
  const outdated: KubeObject[] = []
  for (const role of clusterRoles) {
    const rules = aggregatedRules(role, clusterRoles)
    if (rules !== undefined && !equal(rules, role.rules ?? [])) outdated.push({ ...role, rules })
  }
  return outdated
}

export function hasAggregation(role: KubeObject | undefined): boolean {
  return role !== undefined && selectorsOf(role) !== undefined
}

function selectorsOf({ aggregationRule }: KubeObject): LabelSelector[] | undefined {
  const selectors = isObject(aggregationRule) ? aggregationRule.clusterRoleSelectors : undefined
  if (!Array.isArray(selectors) || selectors.length === 0) return undefined
  return selectors.flatMap(selector => understood(selector))
}

/** A selector that cannot be parsed selects nothing, so it adds no permissions. */
function understood(selector: unknown): LabelSelector[] {
  if (!isObject(selector)) return []
  try {
    return [fromLabelSelectorObject(selector)]
  } catch (error) {
    if (error instanceof SelectorError) return []
    throw error
  }
}

function byName(a: KubeObject, b: KubeObject): number {
  const [left = '', right = ''] = [a.metadata.name, b.metadata.name]
  return left < right ? -1 : left > right ? 1 : 0
}

// One rule of a role: does it allow a request, and does it cover another rule?

import { isObject } from '../object.ts'
import type { Attributes } from './attributes.ts'

export interface PolicyRule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  /** `pods`, `pods/log`, `*` for everything, or a star and a slash before a subresource of anything. */
  readonly resources?: readonly string[]
  /** Empty means every name. */
  readonly resourceNames?: readonly string[]
  /** Paths; a star is allowed at the end. */
  readonly nonResourceURLs?: readonly string[]
}

const none: readonly string[] = []

export function allows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!has(rule.verbs, attributes.verb)) return false
  if (attributes.type === 'path') {
    return (rule.nonResourceURLs ?? none).some(pattern => pathMatches(pattern, attributes.path))
  }
  return (
    has(rule.apiGroups ?? none, attributes.group) &&
    resourceMatches(rule.resources ?? none, attributes.resource, attributes.subresource) &&
    nameMatches(rule.resourceNames ?? none, attributes.name)
  )
}

function has(list: readonly string[], wanted: string): boolean {
  return list.includes(wanted) || list.includes('*')
}

function resourceMatches(resources: readonly string[], resource: string, subresource: string): boolean {
  if (subresource === '') return has(resources, resource)
  return has(resources, `${resource}/${subresource}`) || resources.includes(`*/${subresource}`)
}

function nameMatches(names: readonly string[], name: string): boolean {
  return names.length === 0 || names.includes(name)
}

function pathMatches(pattern: string, path: string): boolean {
  if (pattern === path) return true
  return pattern.endsWith('*') && path.startsWith(withoutStars(pattern))
}

function withoutStars(pattern: string): string {
  let end = pattern.length
  while (end > 0 && pattern[end - 1] === '*') end--
  return pattern.slice(0, end)
}

/** A rule with exactly one verb, one group, one resource and at most one name; or one verb and one path. */
interface Atom {
  readonly verb: string
  readonly group?: string
  readonly resource?: string
  readonly name?: string
  readonly path?: string
}

/** The parts of `wanted` that no single rule of `held` covers; undefined when they are too many to look at. */
export function uncovered(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
  max: number,
): PolicyRule[] | undefined {
  if (wanted.reduce((sum, rule) => sum + atomCount(rule), 0) > max) return undefined
  const missing = new Map<string, { atom: Atom; verbs: string[] }>()
  for (const rule of wanted) {
    for (const atom of atomsOf(rule)) {
      if (held.some(holder => coversAtom(holder, atom))) continue
      // Verbs of one resource are listed together; paths are listed one by one.
      const key =
        atom.path === undefined ? JSON.stringify([atom.group, atom.resource, atom.name]) : `${atom.verb} ${atom.path}`
      const gathered = missing.get(key)
      if (gathered) gathered.verbs.push(atom.verb)
      else missing.set(key, { atom, verbs: [atom.verb] })
    }
  }
  return [...missing.values()].map(({ atom, verbs }) => toRule(atom, verbs))
}

function toRule(atom: Atom, verbs: readonly string[]): PolicyRule {
  return {
    verbs,
    ...(atom.group !== undefined && { apiGroups: [atom.group] }),
    ...(atom.resource !== undefined && { resources: [atom.resource] }),
    ...(atom.name !== undefined && { resourceNames: [atom.name] }),
    ...(atom.path !== undefined && { nonResourceURLs: [atom.path] }),
  }
}

function atomCount(rule: PolicyRule): number {
  const names = Math.max(1, rule.resourceNames?.length ?? 0)
  const resources = (rule.apiGroups?.length ?? 0) * (rule.resources?.length ?? 0) * names
  return rule.verbs.length * (resources + (rule.nonResourceURLs?.length ?? 0))
}

function* atomsOf(rule: PolicyRule): Generator<Atom> {
  const names = rule.resourceNames ?? none
  for (const group of rule.apiGroups ?? none) {
    for (const resource of rule.resources ?? none) {
      for (const verb of rule.verbs) {
        if (names.length === 0) yield { verb, group, resource }
        for (const name of names) yield { verb, group, resource, name }
      }
    }
  }
  for (const path of rule.nonResourceURLs ?? none) {
    for (const verb of rule.verbs) yield { verb, path }
  }
}

function coversAtom(rule: PolicyRule, atom: Atom): boolean {
  if (!has(rule.verbs, atom.verb)) return false
  if (atom.path !== undefined) {
    const path = atom.path
    return (
      (rule.resourceNames ?? none).length === 0 && (rule.nonResourceURLs ?? none).some(own => pathMatches(own, path))
    )
  }
  const names = rule.resourceNames ?? none
  return (
    has(rule.apiGroups ?? none, atom.group ?? '') &&
    resourceCovers(rule.resources ?? none, atom.resource ?? '') &&
    (names.length === 0 || (atom.name !== undefined && names.includes(atom.name)))
  )
}

function resourceCovers(resources: readonly string[], resource: string): boolean {
  if (has(resources, resource)) return true
  const slash = resource.indexOf('/')
  return slash >= 0 && resources.includes(`*/${resource.slice(slash + 1)}`)
}

/** `{APIGroups:[""], Resources:["pods"], Verbs:["get"]}`: how refusals show a rule. */
export function describeRule(rule: PolicyRule): string {
  const parts: string[] = []
  const tell = (label: string, list: readonly string[] | undefined) => {
    if (list && list.length > 0) parts.push(`${label}:${quoteList(list)}`)
  }
  tell('APIGroups', rule.apiGroups)
  tell('Resources', rule.resources)
  tell('NonResourceURLs', rule.nonResourceURLs)
  tell('ResourceNames', rule.resourceNames)
  tell('Verbs', rule.verbs)
  return `{${parts.join(', ')}}`
}

export function quoteList(list: readonly string[]): string {
  return `[${list.map(item => JSON.stringify(item)).join(' ')}]`
}

/** Rules as they stand in an object; what is not a rule is left out, so it allows nothing. */
export function readRules(value: unknown): PolicyRule[] {
  if (!Array.isArray(value)) return []
  return value.filter(isObject).map(rule => ({
    verbs: textList(rule.verbs),
    apiGroups: textList(rule.apiGroups),
    resources: textList(rule.resources),
    resourceNames: textList(rule.resourceNames),
    nonResourceURLs: textList(rule.nonResourceURLs),
  }))
}

function textList(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : none
}

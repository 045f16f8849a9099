// What a rule could cost at worst, estimated before any object exists: loops multiply by how long a list can be. The
// estimate is low on purpose: a rule refused here can never be used, while one that costs too much is stopped as it
// runs.

import { bodyBytesMax } from '../../limits.ts'
import { childrenOf, type Tree } from './engine.ts'
import { escapeField } from './names.ts'
import type { Shape } from './types.ts'

/** One rule, times as often as it can apply in one object. */
export const ruleCostMax = 10_000_000
/** All rules of one version. */
export const crdCostMax = 100_000_000

/** How often a value of this shape fits into one request. */
export function cardinality(shape: Shape): number {
  return Math.floor(bodyBytesMax / (shape.bytesMin + 1))
}

/** The cost of evaluating an expression once on the largest value its schema allows. */
export function callCost(tree: Tree, self: Shape): number {
  return costOf(
    tree,
    new Map([
      ['self', self],
      ['oldSelf', self],
    ]),
  )
}

type Scope = ReadonlyMap<string, Shape | undefined>

const loops: ReadonlySet<string> = new Set([
  'all',
  'exists',
  'exists_one',
  'existsOne',
  'map',
  'filter',
  'transformList',
  'transformMap',
])

function costOf(node: Tree, scope: Scope): number {
  if (node.op === 'rcall' && Array.isArray(node.args)) {
    const [method, receiver, args] = node.args as [string, Tree, Tree[]]
    if (loops.has(method) && args.length >= 2) return loopCost(receiver, args, scope)
  }
  return childrenOf(node).reduce((sum, child) => sum + costOf(child, scope), 1)
}

function loopCost(range: Tree, args: readonly Tree[], scope: Scope): number {
  const over = shapeOf(range, scope)
  const variables = args.filter((arg, i) => i < 2 && arg.op === 'id' && i < args.length - 1)
  const inner = new Map(scope)
  const item = over?.type.startsWith('map<') && variables.length === 1 ? undefined : over?.element
  for (const variable of variables) inner.set(String(variable.args), undefined)
  const last = variables.at(-1)
  if (last !== undefined) inner.set(String(last.args), item)
  const body = args.slice(variables.length).reduce((sum, arg) => sum + costOf(arg, inner), 0)
  return 1 + costOf(range, scope) + lengthOf(range, over) * body
}

function lengthOf(range: Tree, shape: Shape | undefined): number {
  if (range.op === 'list' && Array.isArray(range.args)) return range.args.length
  if (shape?.element === undefined) return 1
  const { maxItems, maxProperties } = shape.node?.schema ?? {}
  return maxItems ?? maxProperties ?? cardinality(shape.element)
}

/** The shape an expression has when it only walks down the schema. */
function shapeOf(node: Tree, scope: Scope): Shape | undefined {
  if (node.op === 'id') return scope.get(String(node.args))
  if (!Array.isArray(node.args)) return undefined
  const [base, key] = node.args as [Tree, unknown]
  if (node.op === '.' && typeof key === 'string') {
    const of = shapeOf(base, scope)
    for (const [name, field] of of?.fields ?? []) if (escapeField(name) === key) return field
    return of?.fields.size === 0 ? of.element : undefined
  }
  return node.op === '[]' ? shapeOf(base, scope)?.element : undefined
}

export function costMessage(what: string, cost: number, limit: number): string {
  const factor = cost / limit
  const shown = factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`
  const advice =
    'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared'
  return `${what} exceeds budget by factor of ${shown} (${advice})`
}

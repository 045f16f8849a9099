// Lists and sets: order, sums, minimum and maximum, and how two lists overlap.

import { Duration } from '@marcbachmann/cel-js/evaluator'
import { define, defineNamespace, fail, type Library, toArray } from './library.ts'

type List<T = unknown> = readonly T[] | ReadonlySet<T>

export const lists: Library = environment => {
  const add = <T extends readonly unknown[]>(signature: string, handler: (...args: T) => unknown) =>
    define(environment, signature, handler)

  add('list<A>.isSorted(): bool', (list: List) =>
    toArray(list).every((item, i, all) => i === 0 || compare(all[i - 1], item) <= 0),
  )
  add('list<int>.sum(): int', (list: List<bigint>) => toArray(list).reduce((sum, item) => bounded(sum + item), 0n))
  add('list<double>.sum(): double', (list: List<number>) => toArray(list).reduce((sum, item) => sum + item, 0))
  add('list<google.protobuf.Duration>.sum(): google.protobuf.Duration', (list: List<Duration>) =>
    toArray(list).reduce((sum, item) => sum.addDuration(item), new Duration(0n)),
  )
  add('list<A>.min(): A', (list: List) => extreme(list, 'min', -1))
  add('list<A>.max(): A', (list: List) => extreme(list, 'max', 1))
  add('list<A>.k8s_indexOf(A): int', (list: List, item: unknown) =>
    BigInt(toArray(list).findIndex(other => same(item, other))),
  )
  add('list<A>.k8s_lastIndexOf(A): int', (list: List, item: unknown) =>
    BigInt(toArray(list).findLastIndex(other => same(item, other))),
  )
  add('list<A>.slice(int, int): list<A>', (list: List, from: bigint, to: bigint) => {
    const items = toArray(list)
    if (from < 0n || to < from || to > BigInt(items.length))
      fail(`cannot slice(${from}, ${to}), list is length ${items.length}`)
    return items.slice(Number(from), Number(to))
  })
  add('list<A>.distinct(): list<A>', (list: List) => distinct(toArray(list)))
  add('list<A>.reverse(): list<A>', (list: List) => [...toArray(list)].reverse())
  add('list<A>.sort(): list<A>', (list: List) => [...toArray(list)].sort(compare))
  add('list.flatten(): list<dyn>', (list: List) =>
    toArray(list).flatMap(item => (isList(item) ? [...toArray(item)] : [item])),
  )
  add('list.flatten(int): list<dyn>', (list: List, depth: bigint) => flatten(toArray(list), Number(depth)))

  defineNamespace(environment, 'lists', 'ListsNamespace')
  add('ListsNamespace.range(int): list<int>', (_: unknown, count: bigint) => {
    if (count > 1_000_000n) fail('operation cancelled: actual cost limit exceeded')
    return Array.from({ length: Math.max(0, Number(count)) }, (_item, i) => BigInt(i))
  })

  defineNamespace(environment, 'sets', 'SetsNamespace')
  add('SetsNamespace.contains(list, list): bool', (_: unknown, a: List, b: List) => contains(toArray(a), toArray(b)))
  add('SetsNamespace.equivalent(list, list): bool', (_: unknown, a: List, b: List) => {
    const [left, right] = [toArray(a), toArray(b)]
    return contains(left, right) && contains(right, left)
  })
  add('SetsNamespace.intersects(list, list): bool', (_: unknown, a: List, b: List) => {
    const left = indexed(toArray(a))
    return toArray(b).some(left)
  })
}

const int64Max = 9_223_372_036_854_775_807n

function bounded(sum: bigint): bigint {
  return sum > int64Max || sum < -int64Max - 1n ? fail('integer overflow') : sum
}

function extreme(list: List, name: string, sign: number): unknown {
  const items = toArray(list)
  if (items.length === 0) return fail(`${name} called on empty list`)
  return items.reduce((best, item) => (compare(item, best) * sign > 0 ? item : best))
}

type Ordered = string | number | bigint | boolean

export function compare(a: unknown, b: unknown): number {
  const [left, right] = [ordered(a), ordered(b)]
  return left < right ? -1 : left > right ? 1 : 0
}

function ordered(value: unknown): Ordered {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') return value
  if (typeof value === 'boolean') return value
  if (value instanceof Date) return value.getTime()
  if (value instanceof Duration) return value.seconds * 1_000_000_000n + BigInt(value.nanos)
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1')
  return fail('no such overload')
}

/** Equality of CEL values: numbers of different kinds compare by amount, containers by content. */
export function same(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (isNumeric(a) && isNumeric(b)) return Number(a) === Number(b) && (typeof a !== typeof b || a === b)
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime()
  if (a instanceof Duration && b instanceof Duration) return a.seconds === b.seconds && a.nanos === b.nanos
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0
  if (a instanceof Set && b instanceof Set) return a.size === b.size && [...a].every(item => b.has(item))
  if (isList(a) && isList(b)) return sameLists(toArray(a), toArray(b))
  if (!(a instanceof Map) || !(b instanceof Map) || a.size !== b.size) return false
  return [...a].every(([key, value]) => b.has(key) && same(value, b.get(key)))
}

function sameLists(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => same(item, b[i]))
}

function isNumeric(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint'
}

function isList(value: unknown): value is List {
  return Array.isArray(value) || value instanceof Set
}

function contains(all: readonly unknown[], some: readonly unknown[]): boolean {
  return some.every(indexed(all))
}

/** A test for membership: scalars by hash, the rest one by one. */
function indexed(items: readonly unknown[]): (item: unknown) => boolean {
  const scalars = new Set(items.filter(item => typeof item !== 'object'))
  const others = items.filter(item => typeof item === 'object')
  return item => scalars.has(item) || (typeof item === 'object' ? others : items).some(other => same(item, other))
}

function distinct(items: readonly unknown[]): unknown[] {
  const kept: unknown[] = []
  const seen = new Set<unknown>()
  for (const item of items) {
    if (typeof item === 'object' ? kept.some(other => same(item, other)) : seen.has(item)) continue
    seen.add(item)
    kept.push(item)
  }
  return kept
}

function flatten(items: readonly unknown[], depth: number): unknown[] {
  if (depth <= 0) return [...items]
  return items.flatMap(item => (isList(item) ? flatten(toArray(item), depth - 1) : [item]))
}

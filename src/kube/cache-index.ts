// One way to find objects again: by a value that each names. Most values are named by one object alone (the uid of a claim, by
// its hold), so one object stands there itself; only several are given a map.

import type { KubeObject } from './object.ts'

export class CacheIndex<T extends KubeObject> {
  readonly #found = new Map<string, { readonly key: string; readonly object: T } | Map<string, T>>()

  put(value: string, key: string, object: T): void {
    const found = this.#found.get(value)
    if (found instanceof Map) found.set(key, object)
    else if (found === undefined || found.key === key) this.#found.set(value, { key, object })
    else this.#found.set(value, new Map([[found.key, found.object] as const, [key, object] as const]))
  }

  delete(value: string, key: string): void {
    const found = this.#found.get(value)
    if (found instanceof Map) {
      found.delete(key)
      if (found.size === 0) this.#found.delete(value)
    } else if (found?.key === key) this.#found.delete(value)
  }

  all(value: string): readonly T[] {
    const found = this.#found.get(value)
    if (found === undefined) return []
    return found instanceof Map ? [...found.values()] : [found.object]
  }

  count(value: string): number {
    const found = this.#found.get(value)
    return found instanceof Map ? found.size : Number(found !== undefined)
  }
}

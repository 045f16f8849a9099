// Objects of the caches, read once into the shapes that decisions are made on.

import { type Hold, parseHold } from '../../api/hold.ts'
import { type MACHold, parseMACHold } from '../../api/mac-hold.ts'
import type { Pool } from '../../api/pool.ts'
import { toPool } from '../../api/to-pool.ts'
import type { Malformed } from '../../ip/malformed.ts'

export function once<T>(parse: (object: unknown) => T): (object: object) => T {
  const known = new WeakMap<object, { value: T }>()
  return object => {
    const found = known.get(object) ?? { value: parse(object) }
    known.set(object, found)
    return found.value
  }
}

export const holdOf: (object: object) => Hold | Malformed = once(parseHold)
export const macHoldOf: (object: object) => MACHold | Malformed = once(parseMACHold)
export const poolOf: (object: object) => Pool | Malformed = once(toPool)

// What caches keep of kinds of which there are many (claims, holds, IPAddresses): the shape that decisions are made on, and no
// second one.

import { isParsed, keptMetadataOf, type Parsed } from '../../api/object.ts'
import { isMalformed, type Malformed } from '../../ip/malformed.ts'
import type { KubeObject } from '../../kube/object.ts'

interface Reader<T> {
  readonly of: (object: object) => T | Malformed
  /** For the cache. What cannot be read stays as it came. */
  readonly keep: (object: KubeObject) => KubeObject
}

type Parse<T> = (object: unknown, readMetadata?: typeof keptMetadataOf) => Parsed<T> | Malformed

export function reader<T>(parse: Parse<T>): Reader<T> {
  const parseOnce = once((object: unknown) => parse(object))
  return {
    of: object => (isParsed in object ? (object as Parsed<T>) : parseOnce(object)),
    keep(object) {
      if (isParsed in object) return object
      const parsed = parse(object, keptMetadataOf)
      return isMalformed(parsed) ? object : (parsed as Parsed<T> & KubeObject)
    },
  }
}

/** The object in its shape; undefined where there is none, or it cannot be read. */
export function readable<T extends object>(
  object: KubeObject | undefined,
  read: (object: object) => T | Malformed,
): T | undefined {
  const value = object && read(object)
  return value === undefined || isMalformed(value) ? undefined : value
}

/** For kinds of which there are few: parsed when first asked, and kept beside the object. */
export function once<T>(parse: (object: unknown) => T): (object: object) => T {
  const known = new WeakMap<object, { value: T }>()
  return object => {
    const found = known.get(object) ?? { value: parse(object) }
    known.set(object, found)
    return found.value
  }
}

// Objects of the office's caches in the shapes that decisions are made on. Of holds the caches keep nothing else; pools, and what
// a read or a write answered, are parsed when they are first asked for.

import { type Hold, parseHold } from '../../api/hold.ts'
import { type MACHold, parseMACHold } from '../../api/mac-hold.ts'
import type { Pool } from '../../api/pool.ts'
import { toPool } from '../../api/to-pool.ts'
import type { Malformed } from '../../ip/malformed.ts'
import type { KubeObject } from '../../kube/object.ts'
import { once, reader } from './kept.ts'

export const { of: holdOf, keep: keepHold } = reader<Hold>(parseHold)
export const macHoldOf: (object: object) => MACHold | Malformed = once(parseMACHold)
export const poolOf: (object: object) => Pool | Malformed = once(toPool)

/** Of a namespace only its labels are read, by pools that are offered to some. */
export function keepNamespace({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name = '', uid = '', resourceVersion = '', labels = {} } = metadata
  return { apiVersion: apiVersion ?? '', kind: kind ?? '', metadata: { name, uid, resourceVersion, labels } }
}

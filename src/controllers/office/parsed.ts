// Objects of the office's caches in the shapes that decisions are made on. Of holds the caches keep nothing else; pools, and what
// a read or a write answered, are parsed when they are first asked for.

import { type Hold, parseHold } from '../../api/hold.ts'
import { type MACHold, parseMACHold } from '../../api/mac-hold.ts'
import type { Pool } from '../../api/pool.ts'
import { toPool } from '../../api/to-pool.ts'
import type { Malformed } from '../../ip/malformed.ts'
import type { KubeObject } from '../../kube/object.ts'
import { isParsed, once, reader, shared, slimClaimReference, slimIdentity, slimMetadata } from './kept.ts'

const holdReader = reader<Hold>(parseHold, (hold, apiVersion, kind) => ({
  [isParsed]: true,
  apiVersion,
  kind,
  metadata: slimMetadata(hold.metadata),
  space: shared(hold.space),
  ip: hold.ip,
  bits: hold.bits,
  pool: slimIdentity(hold.pool),
  claim: slimClaimReference(hold.claim),
  owner: hold.owner,
  address: hold.address,
  ...(hold.mac !== undefined && { mac: hold.mac }),
  state: hold.state,
  since: shared(hold.since),
  until: hold.until,
  heldSince: hold.heldSince === hold.since ? shared(hold.since) : hold.heldSince,
}))

export const { of: holdOf, keep: keepHold } = holdReader
export const macHoldOf: (object: object) => MACHold | Malformed = once(parseMACHold)
export const poolOf: (object: object) => Pool | Malformed = once(toPool)

/** Of a namespace only its labels are read, by pools that are offered to some. */
export function keepNamespace({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name = '', uid = '', resourceVersion = '', labels = {} } = metadata
  return { apiVersion: apiVersion ?? '', kind: kind ?? '', metadata: { name, uid, resourceVersion, labels } }
}

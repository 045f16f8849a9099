// Objects of the office's caches in the shapes that decisions are made on. Of holds, MACHolds and
// NetworkAttachmentDefinitions the caches keep nothing else; pools, and what a read or a write answered, are parsed when they are
// first asked for.

import { type ClusterUDN, parseClusterUDN } from '../../api/cluster-user-defined-network.ts'
import { type Hold, parseHold } from '../../api/hold.ts'
import { type IPPool, parseIPPool } from '../../api/ip-pool.ts'
import { type MACHold, parseMACHold } from '../../api/mac-hold.ts'
import type { Pool } from '../../api/pool.ts'
import { toPool } from '../../api/to-pool.ts'
import type { Malformed } from '../../ip/malformed.ts'
import type { KubeObject } from '../../kube/object.ts'
import { type Attachment, parseAttachment } from '../../networks/attachment.ts'
import { type DefinedNetwork, definedBy } from '../../networks/defined.ts'
import { once, reader } from './kept.ts'

export const { of: holdOf, keep: keepHold } = reader<Hold>(parseHold)
export const { of: macHoldOf, keep: keepMACHold } = reader<MACHold>(parseMACHold)
export const { of: attachmentOf, keep: keepAttachment } = reader<Attachment>(parseAttachment)
export const poolOf: (object: object) => Pool | Malformed = once(toPool)
export const ipPoolOf: (object: object) => IPPool | Malformed = once(parseIPPool)
export const clusterUDNOf: (object: object) => ClusterUDN | Malformed = once(object => parseClusterUDN(object))
export const definedNetworkOf: (object: object) => DefinedNetwork | undefined = once(definedBy)

/** Of a namespace only its labels are read, by what is offered to some, and whether it is on its way out. */
export function keepNamespace({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name = '', uid = '', resourceVersion = '', labels = {}, deletionTimestamp } = metadata
  const kept = { name, uid, resourceVersion, labels, ...(deletionTimestamp && { deletionTimestamp }) }
  return { apiVersion: apiVersion ?? '', kind: kind ?? '', metadata: kept }
}

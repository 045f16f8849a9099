// One door for pools of every kind: an object as it came from the API in, the one shape the ledger knows out.

import { isMalformed, type Malformed, quoteText } from '../ip/malformed.ts'
import {
  addressPoolKind,
  addressToPool,
  clusterAddressPoolKind,
  installerPoolKind,
  machinePoolKind,
  parseAddressPool,
} from './address-pool.ts'
import { globalInClusterPoolKind, inClusterPoolKind, inClusterToPool, parseInClusterPool } from './in-cluster-pool.ts'
import { apiVersionOf, type Identity, type VersionedKind } from './object.ts'
import type { Pool } from './pool.ts'
import { globalPrefixPoolKind, parsePrefixPool, prefixPoolKind, prefixToPool } from './prefix-pool.ts'
import { isRecord } from './shape.ts'

/** The kinds of pool that come with Mooring, which writes their status and finalizer. */
export const ownPoolKinds: readonly VersionedKind[] = [
  addressPoolKind,
  clusterAddressPoolKind,
  inClusterPoolKind,
  globalInClusterPoolKind,
  prefixPoolKind,
  globalPrefixPoolKind,
  installerPoolKind,
  machinePoolKind,
]

/** The kind that a reference names, if it is one of these. */
export function ownPoolKindOf({ apiGroup, kind }: Pick<Identity, 'apiGroup' | 'kind'>): VersionedKind | undefined {
  return ownPoolKinds.find(known => known.group === apiGroup && known.kind === kind)
}

export function toPool(object: unknown): Pool | Malformed {
  if (!isRecord(object)) return { malformed: 'a pool is an object' }
  const { apiVersion, kind } = object
  const known = ownPoolKinds.find(one => one.kind === kind && apiVersionOf(one) === apiVersion)
  switch (known) {
    case addressPoolKind:
    case clusterAddressPoolKind:
    case installerPoolKind:
    case machinePoolKind:
      return then(parseAddressPool(object), addressToPool)
    case inClusterPoolKind:
    case globalInClusterPoolKind:
      return then(parseInClusterPool(object), inClusterToPool)
    case prefixPoolKind:
    case globalPrefixPoolKind:
      return then(parsePrefixPool(object), prefixToPool)
    default:
      return { malformed: `${nameIn(kind)} of ${nameIn(apiVersion)} is no kind of pool` }
  }
}

function then<T extends object>(parsed: T | Malformed, next: (value: T) => Pool | Malformed): Pool | Malformed {
  return isMalformed(parsed) ? parsed : next(parsed)
}

const nameIn = (value: unknown): string => (typeof value === 'string' ? quoteText(value) : 'nothing')

// Objects of the cache, read once into the shapes that decisions are made on.

import { type Cluster, parseCluster } from '../../api/cluster.ts'
import { type Hold, parseHold } from '../../api/hold.ts'
import { type IPAddress, parseIPAddress } from '../../api/ip-address.ts'
import { type IPAddressClaim, parseIPAddressClaim } from '../../api/ip-address-claim.ts'
import type { Pool } from '../../api/pool.ts'
import { toPool } from '../../api/to-pool.ts'
import type { Malformed } from '../../ip/malformed.ts'

function once<T>(parse: (object: unknown) => T): (object: object) => T {
  const known = new WeakMap<object, { value: T }>()
  return object => {
    const found = known.get(object) ?? { value: parse(object) }
    known.set(object, found)
    return found.value
  }
}

export const claimOf: (object: object) => IPAddressClaim | Malformed = once(parseIPAddressClaim)
export const reportOf: (object: object) => IPAddress | Malformed = once(parseIPAddress)
export const holdOf: (object: object) => Hold | Malformed = once(parseHold)
export const poolOf: (object: object) => Pool | Malformed = once(toPool)
export const clusterOf: (object: object) => Cluster | Malformed = once(parseCluster)

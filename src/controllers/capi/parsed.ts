// Objects of the desk's caches, read once into the shapes that decisions are made on.

import { type Cluster, parseCluster } from '../../api/cluster.ts'
import { type IPAddress, parseIPAddress } from '../../api/ip-address.ts'
import { type IPAddressClaim, parseIPAddressClaim } from '../../api/ip-address-claim.ts'
import type { Malformed } from '../../ip/malformed.ts'
import { once } from '../office/parsed.ts'

export const claimOf: (object: object) => IPAddressClaim | Malformed = once(parseIPAddressClaim)
export const reportOf: (object: object) => IPAddress | Malformed = once(parseIPAddress)
export const clusterOf: (object: object) => Cluster | Malformed = once(parseCluster)

// Objects of the desk's caches in the shapes that decisions are made on: the caches keep nothing else of them.

import { type Cluster, parseCluster } from '../../api/cluster.ts'
import { type IPAddress, parseIPAddress } from '../../api/ip-address.ts'
import { type IPAddressClaim, parseIPAddressClaim } from '../../api/ip-address-claim.ts'
import { reader } from '../office/kept.ts'

export const { of: claimOf, keep: keepClaim } = reader<IPAddressClaim>(parseIPAddressClaim)
export const { of: reportOf, keep: keepReport } = reader<IPAddress>(parseIPAddress)
export const { of: clusterOf, keep: keepCluster } = reader<Cluster>(parseCluster)

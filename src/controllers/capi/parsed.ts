// Objects of the desk's caches in the shapes that decisions are made on: the caches keep nothing else of them.

import { type Cluster, parseCluster } from '../../api/cluster.ts'
import type { Condition } from '../../api/condition.ts'
import { type IPAddress, parseIPAddress } from '../../api/ip-address.ts'
import { type IPAddressClaim, type PoolReference, parseIPAddressClaim } from '../../api/ip-address-claim.ts'
import { deleteForMoveAnnotation, pausedAnnotation } from '../../api/names.ts'
import { Repeated } from '../../kube/repeated.ts'
import { isParsed, reader, shared, slimMetadata } from '../office/kept.ts'

/** The annotations that are read of a parsed object: whether it is paused, and whether clusterctl moves it. */
const annotationsRead = [pausedAnnotation, deleteForMoveAnnotation]

const claimReader = reader<IPAddressClaim>(parseIPAddressClaim, (claim, apiVersion, kind) => {
  const metadata = slimMetadata(claim.metadata, annotationsRead)
  return {
    [isParsed]: true,
    apiVersion,
    kind,
    version: claim.version,
    metadata,
    poolRef: slimPoolReference(claim.poolRef),
    clusterName: shared(claim.clusterName),
    choice: claim.choice,
    subnet: shared(claim.subnet),
    requested: claim.requested,
    addressName: claim.addressName === metadata.name ? metadata.name : claim.addressName,
    conditions: claim.conditions.map(slimCondition),
    isDeleting: claim.isDeleting,
    isPaused: claim.isPaused,
  }
})

const reportReader = reader<IPAddress>(parseIPAddress, (report, apiVersion, kind) => {
  const metadata = slimMetadata(report.metadata, annotationsRead)
  return {
    [isParsed]: true,
    apiVersion,
    kind,
    version: report.version,
    metadata,
    claimName: report.claimName === metadata.name ? metadata.name : report.claimName,
    poolRef: slimPoolReference(report.poolRef),
    address: report.address,
    prefix: report.prefix,
    gateway: shared(report.gateway),
    isDeleting: report.isDeleting,
  }
})

const clusterReader = reader<Cluster>(parseCluster, (cluster, apiVersion, kind) => ({
  [isParsed]: true,
  apiVersion,
  kind,
  metadata: slimMetadata(cluster.metadata, annotationsRead),
  isPaused: cluster.isPaused,
}))

export const { of: claimOf, keep: keepClaim } = claimReader
export const { of: reportOf, keep: keepReport } = reportReader
export const { of: clusterOf, keep: keepCluster } = clusterReader

const poolReferences = new Repeated<PoolReference>()

function slimPoolReference(reference: PoolReference): PoolReference {
  const { apiGroup, kind, name } = reference
  return poolReferences.of(`${apiGroup}/${kind}/${name}`, reference)
}

function slimCondition(condition: Condition): Condition {
  const { type, status, reason, message, lastTransitionTime, observedGeneration } = condition
  if (observedGeneration === undefined) return condition
  return {
    type: shared(type),
    status,
    reason: shared(reason),
    message,
    lastTransitionTime: shared(lastTransitionTime),
    observedGeneration,
  }
}

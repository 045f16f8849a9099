// IPAddressClaim of Cluster API: a wish for an address of a pool. v1beta2 is used where it is served; v1beta1 has its conditions
// in other places. Both become one shape here, and a status is written in the fields of the version it came in.

import type { Malformed } from '../ip/malformed.ts'
import { addressPoolKind, clusterAddressPoolKind, installerPoolKind, machinePoolKind } from './address-pool.ts'
import { type Condition, conditionsOf } from './condition.ts'
import { globalInClusterPoolKind, inClusterPoolKind } from './in-cluster-pool.ts'
import type { ClaimReference } from './lock.ts'
import {
  choiceAnnotation,
  clusterNameLabel,
  ipamGroup,
  metal3RequestedAddressAnnotation,
  mooringGroup,
  requestedAddressAnnotation,
  subnetAnnotation,
} from './names.ts'
import {
  hasDeletionTimestamp,
  hasPausedAnnotation,
  type Identity,
  isParsed,
  type Metadata,
  metadataOf,
  type Parsed,
  type VersionedKind,
} from './object.ts'
import { globalPrefixPoolKind, prefixPoolKind } from './prefix-pool.ts'
import { Repeated, shared } from './repeated.ts'
import { childOf, has, malformedBy, ownText, requiredText, type Shape, shapeOf, textMapOf, textOf } from './shape.ts'

export type IPAMVersion = 'v1beta2' | 'v1beta1'

export const ipAddressClaimKind = (version: IPAMVersion): VersionedKind => ({
  group: ipamGroup,
  version,
  kind: 'IPAddressClaim',
  plural: 'ipaddressclaims',
  isNamespaced: true,
})

export interface PoolReference {
  readonly apiGroup: string
  readonly kind: string
  readonly name: string
}

export interface IPAddressClaim {
  readonly version: IPAMVersion
  readonly metadata: Metadata
  readonly poolRef: PoolReference
  /** From the spec, else from the label; empty if neither names one. */
  readonly clusterName: string
  /** The stored choice as it stands there: it may have come from anywhere, so it is judged when it is used. */
  readonly choice: string | undefined
  /** What was stored beside the choice, as it stands there. */
  readonly subnet: string | undefined
  /** What its author asked for, as typed. */
  readonly requested: string | undefined
  /** The IPAddress its status names; empty if none. */
  readonly addressName: string
  readonly conditions: readonly Condition[]
  readonly isDeleting: boolean
  /** Its own annotation. Its Cluster and its pool may be paused too. */
  readonly isPaused: boolean
}

export function parseIPAddressClaim(object: unknown, readMetadata = metadataOf): Parsed<IPAddressClaim> | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const apiVersion = shared(textOf(root, 'apiVersion') ?? '')
  const whole = childOf(root, 'metadata')
  const metadata = readMetadata(whole)
  const spec = childOf(root, 'spec')
  const status = childOf(root, 'status')
  const annotations = textMapOf(whole, 'annotations')
  const subnet = ownText(annotations, subnetAnnotation) || undefined
  const addressName = textOf(childOf(status, 'addressRef'), 'name') ?? ''
  const claim: Parsed<IPAddressClaim> = {
    [isParsed]: true,
    apiVersion,
    kind: shared(textOf(root, 'kind') ?? ''),
    version: versionOf(apiVersion),
    metadata,
    poolRef: poolReferenceOf(childOf(spec, 'poolRef')),
    clusterName: shared(textOf(spec, 'clusterName') || ownText(textMapOf(whole, 'labels'), clusterNameLabel) || ''),
    choice: ownText(annotations, choiceAnnotation) || undefined,
    subnet: subnet && shared(subnet),
    requested:
      ownText(annotations, requestedAddressAnnotation) ||
      ownText(annotations, metal3RequestedAddressAnnotation) ||
      undefined,
    addressName: addressName === metadata.name ? metadata.name : addressName,
    // Older definitions of v1beta1 keep conditions in the old place alone.
    conditions: conditionsOf(has(status, 'v1beta2') ? childOf(status, 'v1beta2') : status, 'conditions'),
    isDeleting: hasDeletionTimestamp(metadata),
    isPaused: hasPausedAnnotation(metadata),
  }
  return faults.length > 0 ? malformedBy(faults) : claim
}

export const versionOf = (apiVersion: string): IPAMVersion =>
  apiVersion === `${ipamGroup}/v1beta1` ? 'v1beta1' : 'v1beta2'

export function poolReferenceOf(shape: Shape): PoolReference {
  const apiGroup = textOf(shape, 'apiGroup') ?? ''
  const [kind, name] = [requiredText(shape, 'kind'), requiredText(shape, 'name')]
  return poolReferences.of(`${apiGroup}/${kind}/${name}`, { apiGroup, kind, name })
}

const poolReferences = new Repeated<PoolReference>()

/** The kinds of pool that an IPAddressClaim may name to be served by us; claims on others are for other providers. */
export const claimablePoolKinds: readonly VersionedKind[] = [
  addressPoolKind,
  clusterAddressPoolKind,
  inClusterPoolKind,
  globalInClusterPoolKind,
  prefixPoolKind,
  globalPrefixPoolKind,
  installerPoolKind,
  machinePoolKind,
]

/** The pool that a claim or an IPAddress names, if claims may. A namespaced pool is looked for beside it. */
export function poolOfClaim({ poolRef, metadata }: Pick<IPAddressClaim, 'poolRef' | 'metadata'>): Identity | undefined {
  // Claims and reports of one pool come in rows, and share the reference to it.
  if (lastPool.of !== poolRef || lastPool.namespace !== metadata.namespace) {
    lastPool = { of: poolRef, namespace: metadata.namespace, pool: poolNamed(poolRef, metadata.namespace) }
  }
  return lastPool.pool
}

let lastPool: { readonly of?: PoolReference; readonly namespace: string; readonly pool: Identity | undefined } = {
  namespace: '',
  pool: undefined,
}

function poolNamed({ apiGroup, kind, name }: PoolReference, namespace: string): Identity | undefined {
  const found = claimablePoolKinds.find(known => known.group === apiGroup && isCalled(known, kind))
  return found && { apiGroup, kind: found.kind, namespace: found.isNamespaced ? namespace : '', name }
}

/** A Machine says `resource` of a pool, and claims repeat what it wrote: of pools of Machines the plural is understood too. */
function isCalled(kind: VersionedKind, text: string): boolean {
  return text === kind.kind || ((kind === installerPoolKind || kind === machinePoolKind) && text === kind.plural)
}

/**
 * As `poolOfClaim`, and also a pool of our own group whose kind does not exist: no other provider serves such a claim, so it is
 * for us to say what is wrong with it.
 */
export function poolNamedBy(claim: Pick<IPAddressClaim, 'poolRef' | 'metadata'>): Identity | undefined {
  const { apiGroup, kind, name } = claim.poolRef
  return poolOfClaim(claim) ?? (apiGroup === mooringGroup ? { apiGroup, kind, namespace: '', name } : undefined)
}

/** `namespaceUID` is undefined where the namespace is not known. */
export function claimReference(
  { metadata, clusterName }: IPAddressClaim,
  namespaceUID: string | undefined,
): ClaimReference {
  const { namespace, name, uid } = metadata
  return {
    apiGroup: ipamGroup,
    kind: 'IPAddressClaim',
    namespace,
    name,
    uid,
    ...(namespaceUID !== undefined && { namespaceUID }),
    ...(clusterName !== '' && { clusterName }),
  }
}

export interface ClaimStatus {
  /** Empty while there is none. */
  readonly addressName: string
  readonly conditions: readonly Condition[]
}

/**
 * The fields of `status` that are ours, in the form of the version. The same condition is also written in the deprecated form,
 * because older consumers, which read v1beta1, look at no other; in that form a False needs a severity.
 */
export function toClaimStatus({ addressName, conditions }: ClaimStatus, version: IPAMVersion) {
  const addressRef = addressName === '' ? {} : { addressRef: { name: addressName } }
  const old = conditions.map(toOldCondition)
  if (version === 'v1beta2') return { ...addressRef, conditions, deprecated: { v1beta1: { conditions: old } } }
  return { ...addressRef, conditions: old, v1beta2: { conditions } }
}

function toOldCondition({ type, status, reason, message, lastTransitionTime }: Condition) {
  if (status === 'True') return { type, status, lastTransitionTime }
  return { type, status, severity: 'Warning', reason, message, lastTransitionTime }
}

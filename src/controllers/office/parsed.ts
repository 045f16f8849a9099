// Objects of the cache, read once into the shapes that decisions are made on. Of claims, IPAddresses, holds and Clusters, which
// there are many of, that shape is all the cache keeps: there is no second one. Pools, and what a read or a write answered, are
// read when somebody first asks.

import { type Cluster, parseCluster } from '../../api/cluster.ts'
import type { Condition } from '../../api/condition.ts'
import { type ClaimReference, type Hold, parseHold } from '../../api/hold.ts'
import { type IPAddress, parseIPAddress } from '../../api/ip-address.ts'
import { type IPAddressClaim, type PoolReference, parseIPAddressClaim } from '../../api/ip-address-claim.ts'
import { deleteForMoveAnnotation, pausedAnnotation, watchFilterLabel } from '../../api/names.ts'
import { type Identity, identityKey, type Metadata, type OwnerReference } from '../../api/object.ts'
import type { Pool } from '../../api/pool.ts'
import { toPool } from '../../api/to-pool.ts'
import { isMalformed, type Malformed } from '../../ip/malformed.ts'
import type { KubeObject } from '../../kube/object.ts'
import { Repeated } from '../../kube/repeated.ts'

/** Marks what is in its shape already. No object of the API can have it: it is no text. */
const isParsed: unique symbol = Symbol('parsed')

/** An object as the cache keeps it: its shape, and what an event about it names. */
type Kept<T> = T & { readonly [isParsed]: true; readonly apiVersion: string; readonly kind: string }

type Slim<T> = (parsed: T, apiVersion: string, kind: string) => Kept<T>

interface Reader<T> {
  readonly of: (object: object) => T | Malformed
  /** For the cache. What cannot be read stays as it came, but for what nobody reads of anything. */
  readonly keep: (object: KubeObject) => KubeObject
}

function reader<T extends { readonly metadata: Metadata }>(
  parse: (object: unknown) => T | Malformed,
  slim: Slim<T>,
): Reader<T> {
  const parseOnce = once(parse)
  return {
    of: object => (isParsed in object ? (object as Kept<T>) : parseOnce(object)),
    keep(object) {
      if (isParsed in object) return object
      const parsed = parse(object)
      return isMalformed(parsed)
        ? withoutManagers(object)
        : slim(parsed, shared(object.apiVersion ?? ''), shared(object.kind ?? ''))
    },
  }
}

function once<T>(parse: (object: unknown) => T): (object: object) => T {
  const known = new WeakMap<object, { value: T }>()
  return object => {
    const found = known.get(object) ?? { value: parse(object) }
    known.set(object, found)
    return found.value
  }
}

function withoutManagers(object: KubeObject): KubeObject {
  const metadata: KubeObject['metadata'] & { managedFields?: unknown } = { ...object.metadata }
  delete metadata.managedFields
  return { ...object, metadata }
}

// --- what stays; literals are written out, so that each shape takes as little room as it can ---

const claimReader = reader<IPAddressClaim>(parseIPAddressClaim, (claim, apiVersion, kind) => {
  const metadata = slimMetadata(claim.metadata)
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
  const metadata = slimMetadata(report.metadata)
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
  state: hold.state,
  since: shared(hold.since),
  until: hold.until,
}))

const clusterReader = reader<Cluster>(parseCluster, (cluster, apiVersion, kind) => ({
  [isParsed]: true,
  apiVersion,
  kind,
  metadata: slimMetadata(cluster.metadata),
  isPaused: cluster.isPaused,
}))

export const { of: claimOf, keep: keepClaim } = claimReader
export const { of: reportOf, keep: keepReport } = reportReader
export const { of: holdOf, keep: keepHold } = holdReader
export const { of: clusterOf, keep: keepCluster } = clusterReader
export const poolOf: (object: object) => Pool | Malformed = once(toPool)

/** Of a namespace only its labels are read, by pools that are offered to some. */
export function keepNamespace({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name = '', uid = '', resourceVersion = '', labels = {} } = metadata
  return { apiVersion: apiVersion ?? '', kind: kind ?? '', metadata: { name, uid, resourceVersion, labels } }
}

// --- what repeats is there once ---

const texts = new Repeated<string>()
const lists = new Repeated<readonly string[]>()
const identities = new Repeated<Identity>()
const poolReferences = new Repeated<PoolReference>()
const owners = new Repeated<OwnerReference>()

function shared(text: string): string
function shared(text: string | undefined): string | undefined
function shared(text: string | undefined): string | undefined {
  return text === undefined ? undefined : texts.of(text, text)
}

const slimTexts = (list: readonly string[]): readonly string[] => lists.of(list.join(' '), list)

const slimIdentity = (identity: Identity): Identity => identities.of(identityKey(identity), identity)

function slimPoolReference(reference: PoolReference): PoolReference {
  const { apiGroup, kind, name } = reference
  return poolReferences.of(`${apiGroup}/${kind}/${name}`, reference)
}

/** What somebody reads of labels and annotations once an object is parsed: its scope, and clusterctl's word that it moves. */
const labelsRead = [watchFilterLabel]
const annotationsRead = [pausedAnnotation, deleteForMoveAnnotation]

function slimMetadata(metadata: Metadata): Metadata {
  const { name, ownerReferences } = metadata
  return {
    name,
    namespace: shared(metadata.namespace),
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation,
    creationTimestamp: shared(metadata.creationTimestamp),
    deletionTimestamp: metadata.deletionTimestamp,
    labels: pick(metadata.labels, labelsRead),
    annotations: pick(metadata.annotations, annotationsRead),
    finalizers: slimTexts(metadata.finalizers),
    ownerReferences: ownerReferences.length === 0 ? none : ownerReferences.map(owner => slimOwner(owner, name)),
  }
}

const none: readonly never[] = []
const nothing: Readonly<Record<string, string>> = {}

function pick(map: Readonly<Record<string, string>>, keys: readonly string[]): Readonly<Record<string, string>> {
  let picked: Record<string, string> | undefined
  for (const key of keys) {
    const text = Object.hasOwn(map, key) ? map[key] : undefined
    if (text !== undefined) picked = { ...picked, [key]: shared(text) }
  }
  return picked ?? nothing
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

/** A controller is one object's own, as a rule; the others (a pool) are many objects'. */
function slimOwner(owner: OwnerReference, ofName: string): OwnerReference {
  const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = owner
  if (controller === undefined || blockOwnerDeletion === undefined) return owner
  if (!controller) return owners.of(`${apiVersion} ${kind} ${name} ${uid} ${blockOwnerDeletion}`, owner)
  return {
    apiVersion: shared(apiVersion),
    kind: shared(kind),
    name: name === ofName ? ofName : name,
    uid,
    controller,
    blockOwnerDeletion,
  }
}

function slimClaimReference({ apiGroup, kind, namespace, name, uid, clusterName }: ClaimReference): ClaimReference {
  const [group, ofKind, place] = [shared(apiGroup), shared(kind), shared(namespace)]
  if (clusterName === undefined) return { apiGroup: group, kind: ofKind, namespace: place, name, uid }
  return { apiGroup: group, kind: ofKind, namespace: place, name, uid, clusterName: shared(clusterName) }
}

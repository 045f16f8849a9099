// Lock: what Hold and MACHold have in common. Each is one row of the ledger, cluster-scoped and named after its space and what
// it locks, so the API server itself refuses a second holder: an object whose name and content disagree would undermine that,
// and is malformed.
//
// State lives beside the spec and not behind a status subresource: taking, releasing into quarantine and taking back are one
// write each, and never half done.

import { mooringGroup } from './names.ts'
import {
  apiVersionOf,
  type Identity,
  identityKey,
  identityOf,
  type Metadata,
  metadataOf,
  sharedIdentityOf,
  type VersionedKind,
} from './object.ts'
import { shared } from './repeated.ts'
import { childOf, has, oneOf, requiredText, type Shape, textOf } from './shape.ts'

/** The claim that holds: by uid, because a claim of the same name that comes later is another one. */
export interface ClaimReference extends Identity {
  readonly uid: string
  /** Of its namespace: one that is deleted and made again under its name is another, and may have other users. */
  readonly namespaceUID?: string
  /** The Cluster it is for, where there is one: quotas count by it. */
  readonly clusterName?: string
  /** Which of several things of one claim this is for: an interface, a family, an entry. */
  readonly part?: string
}

/** The object a claim serves. Its uid tells it from another of the same name; whether it is a former owner goes by name. */
export interface Owner extends Identity {
  readonly uid?: string
}

export type LockState = 'held' | 'quarantined'

/** The holder; what is held is for Hold and MACHold to say. */
export interface Holder {
  /** What it was given out from. */
  readonly pool: Identity
  readonly claim: ClaimReference
  /** The object the claim serves, where that outlives the claim: it may have the address back out of quarantine. */
  readonly owner: Owner | undefined
}

export interface Lock extends Holder {
  readonly metadata: Metadata
  readonly space: string
  readonly state: LockState
  /** When it got into its state; RFC 3339. */
  readonly since: string
  /** When its quarantine is over; only while quarantined. */
  readonly until: string | undefined
  /** Since when it is its holder's, quarantines in between included; RFC 3339. */
  readonly heldSince: string
}

export const lockKindOf = (kind: string, plural: string): VersionedKind => ({
  group: mooringGroup,
  version: 'v1alpha1',
  kind,
  plural,
  isNamespaced: false,
})

/** All that both kinds have, read from the whole object. */
export function lockOf(root: Shape, readMetadata = metadataOf): Lock {
  const spec = childOf(root, 'spec')
  const status = childOf(root, 'status')
  const state: LockState = oneOf(status, 'state', ['held', 'quarantined'], 'held')
  const since = shared(textOf(status, 'since') ?? '')
  return {
    metadata: readMetadata(childOf(root, 'metadata')),
    space: shared(requiredText(spec, 'space')),
    pool: sharedIdentityOf(childOf(spec, 'poolRef')),
    claim: claimReferenceOf(childOf(spec, 'claimRef')),
    owner: has(spec, 'owner') ? ownerOf(childOf(spec, 'owner')) : undefined,
    state,
    since,
    until: state === 'quarantined' ? textOf(status, 'until') : undefined,
    heldSince: shared(textOf(status, 'heldSince') ?? since),
  }
}

function claimReferenceOf(shape: Shape): ClaimReference {
  const { apiGroup, kind, namespace, name } = identityOf(shape)
  const uid = requiredText(shape, 'uid')
  const clusterName = textOf(shape, 'clusterName') || undefined
  const part = textOf(shape, 'part') || undefined
  const namespaceUID = textOf(shape, 'namespaceUID') || undefined
  if (namespaceUID !== undefined && clusterName === undefined && part === undefined)
    return { apiGroup, kind, namespace, name, uid, namespaceUID: shared(namespaceUID) }
  return {
    apiGroup,
    kind,
    namespace,
    name,
    uid,
    ...(namespaceUID !== undefined && { namespaceUID: shared(namespaceUID) }),
    ...(clusterName !== undefined && { clusterName: shared(clusterName) }),
    ...(part !== undefined && { part: shared(part) }),
  }
}

function ownerOf(shape: Shape): Owner {
  const uid = textOf(shape, 'uid') || undefined
  return { ...identityOf(shape), ...(uid !== undefined && { uid }) }
}

/** The object to create. `what` are the fields of its spec that say what is held; `now` is RFC 3339. */
export function toLockObject<T extends object>(
  kind: VersionedKind,
  name: string,
  what: T,
  { pool, claim, owner }: Holder,
  now: string,
) {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    metadata: { name },
    spec: {
      ...what,
      poolRef: toReference(pool),
      claimRef: toClaimReference(claim),
      ...(owner === undefined ? {} : { owner: toOwner(owner) }),
    },
    status: { state: 'held', since: now, heldSince: now },
  }
}

/** A merge patch: released, and kept from other claims until then. Send it with the version it was decided on. */
export const toQuarantinePatch = (since: string, until: string) => ({
  status: { state: 'quarantined', since, until },
})

/**
 * A merge patch: out of quarantine and held again, by this claim. A field that the new holder has no value for is cleared.
 * Send it with the version it was decided on.
 */
export function toRetakeLockPatch(next: Holder, former: Holder & Pick<Lock, 'heldSince'>, now: string) {
  const { pool, claim, owner } = next
  const heldSince = isSameHolder(next, former) ? former.heldSince || now : now
  return {
    spec: {
      poolRef: { namespace: null, ...toReference(pool) },
      claimRef: { namespace: null, namespaceUID: null, clusterName: null, part: null, ...toClaimReference(claim) },
      owner: owner === undefined ? null : { namespace: null, uid: null, ...toOwner(owner) },
    },
    status: { state: 'held', since: now, until: null, heldSince },
  }
}

/** A merge patch: which object the claim serves, of a hold that was made before there was one. Empty where there is nothing to say. */
export const toOwnerPatch = ({ owner }: Pick<Holder, 'owner'>, former: Pick<Lock, 'owner'>) =>
  former.owner === undefined && owner !== undefined ? { spec: { owner: toOwner(owner) } } : {}

/** A claim of the same name, or one that serves the same owner, in the same namespace. */
function isSameHolder(one: Holder, other: Holder): boolean {
  if (one.claim.namespaceUID !== other.claim.namespaceUID) return false
  if (identityKey(one.claim) === identityKey(other.claim)) return true
  if (one.owner === undefined || other.owner === undefined) return false
  return identityKey(one.owner) === identityKey(other.owner)
}

function toReference({ apiGroup, kind, namespace, name }: Identity) {
  return { apiGroup, kind, ...(namespace === '' ? {} : { namespace }), name }
}

function toClaimReference(claim: ClaimReference) {
  const { uid, namespaceUID, clusterName, part } = claim
  return {
    ...toReference(claim),
    uid,
    ...(namespaceUID === undefined ? {} : { namespaceUID }),
    ...(clusterName === undefined ? {} : { clusterName }),
    ...(part === undefined ? {} : { part }),
  }
}

function toOwner(owner: Owner) {
  return { ...toReference(owner), ...(owner.uid === undefined ? {} : { uid: owner.uid }) }
}

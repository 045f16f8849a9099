// Hold: one row of the ledger. It says that one address (or one prefix) of one space belongs to one claim, or did until a
// moment ago. It is cluster-scoped and named after space and address, so the API server itself refuses a second holder:
// an object whose name and content disagree would undermine that, and is malformed.
//
// State lives beside the spec and not behind a status subresource: taking an address, releasing it into quarantine and
// taking it back are one write each, and never half done.

import { bitsOf, type IP, type IPText, parseIP, toIPText } from '../ip/address.ts'
import { firstIP } from '../ip/cidr.ts'
import { isMalformed, type Malformed, quoteText } from '../ip/malformed.ts'
import { isScope, toScopedName } from '../ip/object-name.ts'
import { mooringGroup } from './names.ts'
import { apiVersionOf, type Identity, identityOf, type Metadata, metadataOf, type VersionedKind } from './object.ts'
import { childOf, has, integerOf, malformedBy, oneOf, requiredText, type Shape, shapeOf, textOf } from './shape.ts'

const holdKind: VersionedKind = {
  group: mooringGroup,
  version: 'v1alpha1',
  kind: 'Hold',
  plural: 'holds',
  isNamespaced: false,
}

/** The claim that holds: by uid, because a namesake that comes later is somebody else. */
export interface ClaimReference extends Identity {
  readonly uid: string
  /** The Cluster it is for, where there is one: quotas count by it. */
  readonly clusterName?: string
}

export type HoldState = 'held' | 'quarantined'

export interface HoldSpec {
  readonly space: string
  readonly ip: IP
  /** How many bits of the address are held: all of them, or those of a prefix. */
  readonly bits: number
  readonly pool: Identity
  readonly claim: ClaimReference
  /** Whom the claim serves, where that outlives the claim: who may have the address back out of quarantine. */
  readonly owner: Identity | undefined
}

export interface Hold extends HoldSpec {
  readonly metadata: Metadata
  readonly address: IPText
  readonly state: HoldState
  /** When it got into its state; RFC 3339. */
  readonly since: string
  /** When its quarantine is over; only while quarantined. */
  readonly until: string | undefined
}

/** The lock itself: one name per (space, address). For a prefix the address is its first. */
export const holdName = (space: string, ip: IP): string => toScopedName(ip, space)

export function parseHold(object: unknown): Hold | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const metadata = metadataOf(childOf(root, 'metadata'))
  const spec = childOf(root, 'spec')
  const status = childOf(root, 'status')
  const space = requiredText(spec, 'space')
  const text = requiredText(spec, 'address')
  const claim = childOf(spec, 'claimRef')
  const state: HoldState = oneOf(status, 'state', ['held', 'quarantined'], 'held')
  const ip = parseIP(text)
  const bits = integerOf(spec, 'prefixLength', 0, isMalformed(ip) ? 128 : bitsOf(ip.family))
  const rest = {
    pool: identityOf(childOf(spec, 'poolRef')),
    claim: claimReferenceOf(claim),
    owner: has(spec, 'owner') ? identityOf(childOf(spec, 'owner')) : undefined,
    state,
    since: textOf(status, 'since') ?? '',
    until: state === 'quarantined' ? textOf(status, 'until') : undefined,
  }
  if (faults.length > 0) return malformedBy(faults)
  if (isMalformed(ip)) return { malformed: `spec.address ${ip.malformed}` }
  const address = toIPText(ip)
  if (address !== text) return { malformed: `spec.address ${quoteText(text)} is not canonical: write ${address}` }
  const length = bits ?? bitsOf(ip.family)
  const base = toIPText(firstIP({ ip, bits: length }))
  if (base !== address)
    return { malformed: `spec.address ${address} is not the first of its /${length}: write ${base}` }
  if (!isScope(space)) return { malformed: `spec.space ${quoteText(space)} cannot be part of a name` }
  if (metadata.name !== holdName(space, ip)) {
    return { malformed: `metadata.name is ${quoteText(metadata.name)}; this hold is called ${holdName(space, ip)}` }
  }
  return { metadata, space, ip, address, bits: length, ...rest }
}

function claimReferenceOf(shape: Shape): ClaimReference {
  const clusterName = textOf(shape, 'clusterName') ?? ''
  const reference = { ...identityOf(shape), uid: requiredText(shape, 'uid') }
  return clusterName === '' ? reference : { ...reference, clusterName }
}

/** The object to create. `now` is RFC 3339. */
export function toHoldObject({ space, ip, bits, pool, claim, owner }: HoldSpec, now: string) {
  return {
    apiVersion: apiVersionOf(holdKind),
    kind: holdKind.kind,
    metadata: { name: holdName(space, ip) },
    spec: {
      space,
      address: toIPText(ip),
      ...(bits === bitsOf(ip.family) ? {} : { prefixLength: bits }),
      poolRef: toReference(pool),
      claimRef: toClaimReference(claim),
      ...(owner === undefined ? {} : { owner: toReference(owner) }),
    },
    status: { state: 'held', since: now },
  }
}

/** A merge patch: released, but nobody else's yet. Send it with the version it was decided on. */
export const toQuarantinePatch = (since: string, until: string) => ({
  status: { state: 'quarantined', since, until },
})

/** A merge patch: out of quarantine and held again, by this claim. Send it with the version it was decided on. */
export function toRetakePatch({ pool, claim, owner }: Pick<HoldSpec, 'pool' | 'claim' | 'owner'>, now: string) {
  return {
    spec: {
      poolRef: { namespace: null, ...toReference(pool) },
      claimRef: { clusterName: null, ...toClaimReference(claim) },
      owner: owner === undefined ? null : { namespace: null, ...toReference(owner) },
    },
    status: { state: 'held', since: now, until: null },
  }
}

function toReference({ apiGroup, kind, namespace, name }: Identity) {
  return { apiGroup, kind, ...(namespace === '' ? {} : { namespace }), name }
}

function toClaimReference(claim: ClaimReference) {
  const { uid, clusterName } = claim
  return { ...toReference(claim), uid, ...(clusterName === undefined ? {} : { clusterName }) }
}

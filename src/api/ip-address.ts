// IPAddress of Cluster API: the report. It repeats what the ledger says in the form that consumers of the contract read,
// and is never where a decision is looked up. Its owners, their flags and their order are part of the contract.

import { bitsOf, parseIP } from '../ip/address.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import {
  type IPAddressClaim,
  type IPAMVersion,
  type PoolReference,
  poolReferenceOf,
  versionOf,
} from './ip-address-claim.ts'
import { clusterNameLabel, ipamGroup, protectAddressFinalizer } from './names.ts'
import {
  hasDeletionTimestamp,
  isParsed,
  type Metadata,
  metadataOf,
  type OwnerReference,
  type Parsed,
  type VersionedKind,
} from './object.ts'
import type { Pool } from './pool.ts'
import { shared } from './repeated.ts'
import { childOf, integerOf, malformedBy, requiredText, shapeOf, textOf } from './shape.ts'

export const ipAddressKind = (version: IPAMVersion): VersionedKind => ({
  group: ipamGroup,
  version,
  kind: 'IPAddress',
  plural: 'ipaddresses',
  isNamespaced: true,
})

export interface IPAddress {
  readonly version: IPAMVersion
  readonly metadata: Metadata
  readonly claimName: string
  readonly poolRef: PoolReference
  /** As stored: people create these by hand too, so it is judged when it is used. */
  readonly address: string
  /** Undefined where nothing is said: an old object may lack it. */
  readonly prefix: number | undefined
  readonly gateway: string
  readonly isDeleting: boolean
}

export function parseIPAddress(object: unknown, readMetadata = metadataOf): Parsed<IPAddress> | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const apiVersion = shared(textOf(root, 'apiVersion') ?? '')
  const metadata = readMetadata(childOf(root, 'metadata'))
  const spec = childOf(root, 'spec')
  const claimName = textOf(childOf(spec, 'claimRef'), 'name') ?? ''
  const address: Parsed<IPAddress> = {
    [isParsed]: true,
    apiVersion,
    kind: shared(textOf(root, 'kind') ?? ''),
    version: versionOf(apiVersion),
    metadata,
    claimName: claimName === metadata.name ? metadata.name : claimName,
    poolRef: poolReferenceOf(childOf(spec, 'poolRef')),
    address: requiredText(spec, 'address'),
    prefix: integerOf(spec, 'prefix', 0, 128),
    gateway: shared(textOf(spec, 'gateway') ?? ''),
    isDeleting: hasDeletionTimestamp(metadata),
  }
  return faults.length > 0 ? malformedBy(faults) : address
}

/** What a report says beside the address. */
export interface Subnet {
  readonly prefix: number
  /** Empty where there is none. */
  readonly gateway: string
}

/**
 * What the report of a claim said, by the annotation of the claim; where that says nothing, what the pool says now. A report
 * cannot be changed, so a second one, made after a deletion, must equal the first, whatever became of the pool.
 */
export function subnetOf({ subnet }: Pick<IPAddressClaim, 'subnet'>, pool: Pool): Subnet {
  const [prefix = '', gateway = '', ...rest] = subnet?.split(' via ') ?? []
  const isLength = /^\d{1,3}$/.test(prefix) && Number(prefix) <= bitsOf(pool.family)
  const isGateway = gateway === '' || !isMalformed(parseIP(gateway))
  if (isLength && isGateway && rest.length === 0) return { prefix: Number(prefix), gateway }
  return subnetOfPool(pool)
}

export const subnetOfPool = ({ prefix, gatewayText }: Pool): Subnet => ({ prefix, gateway: gatewayText })

export function toSubnetText({ prefix, gateway }: Subnet): string {
  return gateway === '' ? String(prefix) : `${prefix} via ${gateway}`
}

/** What a report says. */
export interface Reported extends Subnet {
  /** Canonical. */
  readonly address: string
}

/** The object to create for a claim. An empty gateway is left out, the schema refuses "". */
export function toIPAddressObject(claim: IPAddressClaim, pool: Pool, { address, prefix, gateway }: Reported) {
  const { name, namespace } = claim.metadata
  return {
    apiVersion: `${ipamGroup}/${claim.version}`,
    kind: 'IPAddress',
    metadata: {
      name,
      namespace,
      ...(claim.clusterName === '' ? {} : { labels: { [clusterNameLabel]: claim.clusterName } }),
      finalizers: [protectAddressFinalizer],
      ownerReferences: withOwners([], claim, pool),
    },
    spec: {
      claimRef: { name },
      poolRef: claim.poolRef,
      address,
      prefix,
      ...(gateway === '' ? {} : { gateway }),
    },
  }
}

/**
 * The owners of a report: those it has, then its claim (the controller), then its pool. References to the same claim or
 * pool are refreshed where they stand; other owners stay. Where another owner is the controller already, the claim is an
 * owner like others, for an object has one controller at most.
 */
export function withOwners(existing: readonly OwnerReference[], claim: IPAddressClaim, pool: Pool): OwnerReference[] {
  const ofClaim = ownerReferenceToClaim(claim)
  const ofPool: OwnerReference = {
    apiVersion: pool.apiVersion,
    kind: pool.identity.kind,
    name: pool.identity.name,
    uid: pool.metadata.uid,
    controller: false,
    blockOwnerDeletion: true,
  }
  const hasController = existing.some(owner => owner.controller === true && !isSameOwner(owner, ofClaim))
  const claimOwner = hasController ? { ...ofClaim, controller: false } : ofClaim
  const owners = [...existing]
  for (const owner of [claimOwner, ofPool]) {
    const index = owners.findIndex(other => isSameOwner(other, owner))
    if (index === -1) owners.push(owner)
    else owners[index] = owner
  }
  return owners
}

export function ownerReferenceToClaim({ version, metadata: { name, uid } }: IPAddressClaim): OwnerReference {
  const [controller, blockOwnerDeletion] = [true, true]
  return { apiVersion: `${ipamGroup}/${version}`, kind: 'IPAddressClaim', name, uid, controller, blockOwnerDeletion }
}

/** By group, kind and name: the version says nothing, and a new uid is what a refresh is for. */
function isSameOwner(one: OwnerReference, other: OwnerReference): boolean {
  return one.kind === other.kind && one.name === other.name && groupOf(one.apiVersion) === groupOf(other.apiVersion)
}

const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''

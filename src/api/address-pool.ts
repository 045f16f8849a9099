// AddressPool and ClusterAddressPool: the fields of the in-cluster pools, spelled the same, and what their users miss. The IPPools that
// machines of OpenShift name have the same fields: no other project defines those kinds.

import type { IP } from '../ip/address.ts'
import { isMalformed, type Malformed, quoteText } from '../ip/malformed.ts'
import { quarantineSecondsMax } from '../limits.ts'
import { inClusterToPool, secondsMax } from './in-cluster-pool.ts'
import { installerGroup, machineGroup, mooringGroup } from './names.ts'
import {
  apiVersionOf,
  type Identity,
  type Metadata,
  metadataOf,
  parseIdentityKey,
  type VersionedKind,
} from './object.ts'
import {
  addressIn,
  type OverlapPolicy,
  overlapPolicies,
  type Pool,
  type Quota,
  type Strategy,
  setOf,
  strategies,
} from './pool.ts'
import { type LabelSelector, selectorOf } from './selector.ts'
import {
  childOf,
  flagOf,
  has,
  integerOf,
  malformedBy,
  oneOf,
  type Shape,
  shapeOf,
  textMapOf,
  textOf,
  textsOf,
} from './shape.ts'
import { isSpaceName, spaceNameAdvice, spaceOfNamespace, spaceOfPool } from './space.ts'

export const addressPoolKind: VersionedKind = {
  group: mooringGroup,
  version: 'v1alpha1',
  kind: 'AddressPool',
  plural: 'addresspools',
  isNamespaced: true,
}

export const clusterAddressPoolKind: VersionedKind = {
  group: mooringGroup,
  version: 'v1alpha1',
  kind: 'ClusterAddressPool',
  plural: 'clusteraddresspools',
  isNamespaced: false,
}

/** What the installer of OpenShift calls `default-0`, `default-1` and so on in the Machines and claims that it generates. */
export const installerPoolKind: VersionedKind = {
  group: installerGroup,
  version: 'v1beta1',
  kind: 'IPPool',
  plural: 'ippools',
  isNamespaced: true,
}

/** The same for sets of Machines that are added later. */
export const machinePoolKind: VersionedKind = { ...installerPoolKind, group: machineGroup }

const kinds: readonly VersionedKind[] = [addressPoolKind, clusterAddressPoolKind, installerPoolKind, machinePoolKind]

export interface AddressPoolSpec {
  readonly addresses: readonly string[]
  readonly prefix: number
  readonly gateway: string
  readonly excludedAddresses: readonly string[]
  readonly allocateReservedIPAddresses: boolean
  /** Empty: the pool is a space of its own. */
  readonly space: string
  readonly strategy: Strategy
  readonly quarantineSeconds: number
  /** Claim name, or namespace/name, to address. */
  readonly preAllocations: Readonly<Record<string, string>>
  readonly nameservers: readonly string[]
  readonly allowedNamespaces: LabelSelector | undefined
  readonly quota: Quota
  readonly draining: readonly string[]
  readonly overlapPolicy: OverlapPolicy
}

export interface AddressPool {
  readonly kind: VersionedKind
  readonly metadata: Metadata
  readonly spec: AddressPoolSpec
  /** `status.space`, as it stands there: any user that may write the status may have written it. */
  readonly spaceGiven: string
}

export function parseAddressPool(object: unknown): AddressPool | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const metadata = metadataOf(childOf(root, 'metadata'))
  const spec = childOf(root, 'spec')
  const pool = {
    kind: kindOf(textOf(root, 'apiVersion'), textOf(root, 'kind')),
    metadata,
    spec: {
      addresses: textsOf(spec, 'addresses'),
      prefix: integerOf(spec, 'prefix', 0, 128) ?? 0,
      gateway: textOf(spec, 'gateway') ?? '',
      excludedAddresses: textsOf(spec, 'excludedAddresses'),
      allocateReservedIPAddresses: flagOf(spec, 'allocateReservedIPAddresses'),
      space: textOf(spec, 'space') ?? '',
      strategy: oneOf(spec, 'strategy', strategies, 'lowestFree'),
      quarantineSeconds: integerOf(spec, 'quarantineSeconds', 0, secondsMax) ?? 0,
      preAllocations: textMapOf(spec, 'preAllocations'),
      nameservers: textsOf(spec, 'nameservers'),
      allowedNamespaces: has(spec, 'allowedNamespaces') ? selectorOf(childOf(spec, 'allowedNamespaces')) : undefined,
      quota: quotaOf(childOf(spec, 'quota')),
      draining: textsOf(spec, 'draining'),
      overlapPolicy: oneOf(spec, 'overlapPolicy', overlapPolicies, 'warn'),
    },
    spaceGiven: textOf(childOf(root, 'status'), 'space') ?? '',
  }
  return faults.length > 0 ? malformedBy(faults) : pool
}

function kindOf(apiVersion: string | undefined, name: string | undefined): VersionedKind {
  return kinds.find(kind => kind.kind === name && apiVersionOf(kind) === apiVersion) ?? addressPoolKind
}

function quotaOf(shape: Shape): Quota {
  const perNamespace = integerOf(shape, 'perNamespace', 0, Number.MAX_SAFE_INTEGER)
  // What a namespace may hold it may also have at rest, unless the pool says otherwise.
  const perNamespaceQuarantined =
    integerOf(shape, 'perNamespaceQuarantined', 0, Number.MAX_SAFE_INTEGER) ?? perNamespace
  const perCluster = integerOf(shape, 'perCluster', 0, Number.MAX_SAFE_INTEGER)
  return {
    ...(perNamespace === undefined ? {} : { perNamespace }),
    ...(perNamespaceQuarantined === undefined ? {} : { perNamespaceQuarantined }),
    ...(perCluster === undefined ? {} : { perCluster }),
  }
}

export function addressToPool({ kind, metadata, spec, spaceGiven }: AddressPool): Pool | Malformed {
  const common = inClusterToPool({ kind, metadata, spec: { ...spec, addressReuseGracePeriodSeconds: 0 } })
  if (isMalformed(common)) return common
  const faults: string[] = []
  const draining = setOf(spec.draining, common.family, 'spec.draining', faults)
  const reservations = reservationsOf(spec.preAllocations, common, faults)
  if (spec.space !== '' && !isSpaceName(spec.space)) {
    faults.push(`spec.space ${quoteText(spec.space)} is no name for a space: ${spaceNameAdvice}`)
  }
  if (faults.length > 0) return malformedBy(faults)
  const { strategy, quarantineSeconds, quota, overlapPolicy, nameservers } = spec
  return {
    ...common,
    apiVersion: apiVersionOf(kind),
    spaceAsked: spec.space === '' ? undefined : spec.space,
    space: spaceIn(common.identity, kind.isNamespaced, spec.space, spaceGiven),
    draining,
    reservations,
    strategy,
    quarantineSeconds: Math.min(quarantineSeconds, quarantineSecondsMax),
    quota,
    overlapPolicy,
    nameservers,
    // Only claims of its own namespace can name a namespaced pool.
    allowedNamespaces: kind.isNamespaced ? undefined : spec.allowedNamespaces,
  }
}

/**
 * A ClusterAddressPool has the space that it names. To a namespaced pool, and to one that names another pool, it is given, once
 * (`src/ipam/joining.ts`): of what is stored only the possible answers count, and without one nothing is decided yet.
 */
function spaceIn(identity: Identity, isNamespaced: boolean, asked: string, given: string): string {
  if (asked === '' || asked === spaceOfPool(identity)) return spaceOfPool(identity)
  const isName = parseIdentityKey(asked) === undefined
  if ((isName && !isNamespaced) || given === asked) return asked
  // The space of a pool is never a namespace's own.
  return isName && given === spaceOfNamespace(identity.namespace, asked) ? given : ''
}

function reservationsOf(
  preAllocations: Readonly<Record<string, string>>,
  { family }: Pool,
  faults: string[],
): ReadonlyMap<string, IP> {
  const reservations = new Map<string, IP>()
  for (const [claim, text] of Object.entries(preAllocations)) {
    const ip = addressIn(text, family, `spec.preAllocations[${quoteText(claim)}]`, faults)
    if (ip !== undefined) reservations.set(claim, ip)
  }
  return reservations
}

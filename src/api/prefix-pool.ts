// InClusterPrefixPool and GlobalInClusterPrefixPool: pools whose claims get a whole prefix. The gateway is shown to holders
// and blocks nothing. IPv4 prefixes work too: there is no reason for them not to.

import { bitsOf } from '../ip/address.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import { ipamGroup } from './names.ts'
import { apiVersionOf, type Metadata, metadataOf, type VersionedKind } from './object.ts'
import { addressIn, familyOf, makePool, type Pool, setOf } from './pool.ts'
import { childOf, integerOf, malformedBy, shapeOf, textOf, textsOf } from './shape.ts'
import { spaceOfPool } from './space.ts'

export const prefixPoolKind: VersionedKind = {
  group: ipamGroup,
  version: 'v1alpha2',
  kind: 'InClusterPrefixPool',
  plural: 'inclusterprefixpools',
  isNamespaced: true,
}

export const globalPrefixPoolKind: VersionedKind = {
  group: ipamGroup,
  version: 'v1alpha2',
  kind: 'GlobalInClusterPrefixPool',
  plural: 'globalinclusterprefixpools',
  isNamespaced: false,
}

export const allocationPrefixLengthDefault = 64

export interface PrefixPoolSpec {
  readonly prefixes: readonly string[]
  readonly allocationPrefixLength: number
  readonly gateway: string
  readonly excludedPrefixes: readonly string[]
}

export interface PrefixPool {
  readonly kind: VersionedKind
  readonly metadata: Metadata
  readonly spec: PrefixPoolSpec
}

export function parsePrefixPool(object: unknown): PrefixPool | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const metadata = metadataOf(childOf(root, 'metadata'))
  const spec = childOf(root, 'spec')
  // 0 is what a client writes that always sends the field and was not given a number.
  const length = integerOf(spec, 'allocationPrefixLength', 0, 128) ?? 0
  const pool = {
    kind: textOf(root, 'kind') === globalPrefixPoolKind.kind ? globalPrefixPoolKind : prefixPoolKind,
    metadata,
    spec: {
      prefixes: textsOf(spec, 'prefixes'),
      allocationPrefixLength: length === 0 ? allocationPrefixLengthDefault : length,
      gateway: textOf(spec, 'gateway') ?? '',
      excludedPrefixes: textsOf(spec, 'excludedPrefixes'),
    },
  }
  return faults.length > 0 ? malformedBy(faults) : pool
}

export function prefixToPool({ kind, metadata, spec }: PrefixPool): Pool | Malformed {
  const family = familyOf(spec.prefixes, 'spec.prefixes', 'CIDRs')
  if (isMalformed(family)) return family
  const faults: string[] = []
  const addresses = setOf(spec.prefixes, family, 'spec.prefixes', faults)
  const excluded = setOf(spec.excludedPrefixes, family, 'spec.excludedPrefixes', faults)
  const gateway = spec.gateway === '' ? undefined : addressIn(spec.gateway, family, 'spec.gateway', faults)
  const bits = spec.allocationPrefixLength
  if (bits > bitsOf(family)) {
    faults.push(`spec.allocationPrefixLength is ${bits}, and IPv${family} has ${bitsOf(family)} bits`)
  }
  if (faults.length > 0) return malformedBy(faults)
  const identity = { apiGroup: kind.group, kind: kind.kind, namespace: metadata.namespace, name: metadata.name }
  return makePool({
    identity,
    apiVersion: apiVersionOf(kind),
    metadata,
    space: spaceOfPool(identity),
    family,
    bits,
    prefix: bits,
    addresses,
    excluded,
    gateway,
    gatewayText: spec.gateway,
    givesReserved: true,
    givesGateway: true,
  })
}

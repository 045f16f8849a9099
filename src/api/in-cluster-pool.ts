// InClusterIPPool and GlobalInClusterIPPool, the pools that clusters already have, served as they are: v1alpha2 is what is
// stored, v1alpha1 is an older way to write the same. Parsing has two steps, because two kinds of reader exist: the shape
// (`parseInClusterPool`: fields have the right types, texts as typed, for admission) and the meaning (`inClusterToPool`).

import { type Family, fromValue, toIPText } from '../ip/address.ts'
import { firstIP, lastIP, parseCIDR } from '../ip/cidr.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import { parseEntry } from '../ip/range.ts'
import { quarantineSecondsMax } from '../limits.ts'
import { conversionDataAnnotation, ipamGroup } from './names.ts'
import { apiVersionOf, type Metadata, metadataOf, type VersionedKind } from './object.ts'
import { addressIn, familyOf, makePool, type Pool, setOf } from './pool.ts'
import { childOf, flagOf, has, integerOf, isRecord, malformedBy, shapeOf, textOf, textsOf } from './shape.ts'
import { spaceOfPool } from './space.ts'

export const inClusterPoolKind: VersionedKind = {
  group: ipamGroup,
  version: 'v1alpha2',
  kind: 'InClusterIPPool',
  plural: 'inclusterippools',
  isNamespaced: true,
}

export const globalInClusterPoolKind: VersionedKind = {
  group: ipamGroup,
  version: 'v1alpha2',
  kind: 'GlobalInClusterIPPool',
  plural: 'globalinclusterippools',
  isNamespaced: false,
}

export interface InClusterPoolSpec {
  readonly addresses: readonly string[]
  /** 0 where it was left out: then nothing is said about the subnet. */
  readonly prefix: number
  readonly gateway: string
  readonly allocateReservedIPAddresses: boolean
  readonly excludedAddresses: readonly string[]
  readonly addressReuseGracePeriodSeconds: number
}

export interface InClusterPool {
  readonly kind: VersionedKind
  readonly metadata: Metadata
  readonly spec: InClusterPoolSpec
}

export const secondsMax = 2 ** 31 - 1

export function parseInClusterPool(object: unknown): InClusterPool | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const metadata = metadataOf(childOf(root, 'metadata'))
  const spec = childOf(root, 'spec')
  const kind = textOf(root, 'kind') === globalInClusterPoolKind.kind ? globalInClusterPoolKind : inClusterPoolKind
  const pool = {
    kind,
    metadata,
    spec: {
      addresses: textsOf(spec, 'addresses'),
      prefix: integerOf(spec, 'prefix', 0, 128) ?? 0,
      gateway: textOf(spec, 'gateway') ?? '',
      allocateReservedIPAddresses: flagOf(spec, 'allocateReservedIPAddresses'),
      excludedAddresses: textsOf(spec, 'excludedAddresses'),
      addressReuseGracePeriodSeconds: integerOf(spec, 'addressReuseGracePeriodSeconds', 0, secondsMax) ?? 0,
    },
  }
  return faults.length > 0 ? malformedBy(faults) : pool
}

export function inClusterToPool({ kind, metadata, spec }: InClusterPool): Pool | Malformed {
  const family = familyOf(spec.addresses, 'spec.addresses', 'addresses, ranges or CIDRs')
  if (isMalformed(family)) return family
  const faults: string[] = []
  const addresses = setOf(spec.addresses, family, 'spec.addresses', faults)
  const excluded = setOf(spec.excludedAddresses, family, 'spec.excludedAddresses', faults)
  const gateway = spec.gateway === '' ? undefined : addressIn(spec.gateway, family, 'spec.gateway', faults)
  if (family === 4 && spec.prefix > 32) faults.push(`spec.prefix is ${spec.prefix}, and IPv4 has 32 bits`)
  if (faults.length > 0) return malformedBy(faults)
  const identity = { apiGroup: kind.group, kind: kind.kind, namespace: metadata.namespace, name: metadata.name }
  return makePool({
    identity,
    apiVersion: apiVersionOf(kind),
    metadata,
    space: spaceOfPool(identity),
    family,
    prefix: spec.prefix,
    addresses,
    excluded,
    gateway,
    gatewayText: spec.gateway,
    givesReserved: spec.allocateReservedIPAddresses,
    quarantineSeconds: Math.min(spec.addressReuseGracePeriodSeconds, quarantineSecondsMax),
  })
}

// --- v1alpha1 ---
//
// An address is spelled in v1alpha1 by `addresses`, or by `subnet` with optional bounds. Going up, what v1alpha1 said is
// kept in an annotation; going down, it is said again only while it still means what v1alpha2 says now. Fields that
// v1alpha1 lacks travel in the same annotation, so a client that reads and writes v1alpha1 does not erase them.

interface Writable {
  [key: string]: unknown
}

const onlyInV1alpha2 = ['excludedAddresses', 'allocateReservedIPAddresses', 'addressReuseGracePeriodSeconds'] as const

/** v1alpha1 to v1alpha2, as the conversion webhook is asked to. The object given is left as it is. */
export function convertToV1alpha2(object: unknown): Writable | Malformed {
  const parts = partsOf(object)
  if (isMalformed(parts)) return parts
  const spec = specToV1alpha2(parts.spec)
  if (isMalformed(spec)) return spec
  const saved = savedIn(parts.annotations)
  const newer = isRecord(saved?.v1alpha2) ? saved.v1alpha2 : {}
  for (const field of onlyInV1alpha2) {
    if (Object.hasOwn(newer, field) && !Object.hasOwn(spec, field)) spec[field] = newer[field]
  }
  const annotations = { ...parts.annotations, [conversionDataAnnotation]: JSON.stringify({ spec: parts.spec }) }
  return { ...parts.object, apiVersion: `${ipamGroup}/v1alpha2`, metadata: { ...parts.metadata, annotations }, spec }
}

/** v1alpha2 to v1alpha1. What v1alpha1 said before comes back if it still means the same. */
export function convertToV1alpha1(object: unknown): Writable | Malformed {
  const parts = partsOf(object)
  if (isMalformed(parts)) return parts
  const saved = savedIn(parts.annotations)
  const plain: Writable = {}
  for (const field of ['addresses', 'prefix', 'gateway'] as const) {
    if (Object.hasOwn(parts.spec, field)) plain[field] = parts.spec[field]
  }
  const before = isRecord(saved?.spec) ? specToV1alpha2(saved.spec) : undefined
  const stillMeans = before !== undefined && !isMalformed(before) && meansTheSame(before, parts.spec)
  const spec = stillMeans && isRecord(saved?.spec) ? { ...saved.spec } : plain
  const newer: Writable = {}
  for (const field of onlyInV1alpha2) if (Object.hasOwn(parts.spec, field)) newer[field] = parts.spec[field]
  const { [conversionDataAnnotation]: _, ...others } = parts.annotations
  const annotations =
    Object.keys(newer).length === 0
      ? others
      : { ...others, [conversionDataAnnotation]: JSON.stringify({ v1alpha2: newer }) }
  const metadata: Writable = { ...parts.metadata, annotations }
  if (Object.keys(annotations).length === 0) delete metadata.annotations
  return { ...parts.object, apiVersion: `${ipamGroup}/v1alpha1`, metadata, spec }
}

function specToV1alpha2(spec: Readonly<Record<string, unknown>>): Writable | Malformed {
  const faults: string[] = []
  const shape = shapeOf(spec, 'spec', faults)
  const addresses = [...textsOf(shape, 'addresses')]
  let prefix = integerOf(shape, 'prefix', 0, 128)
  const [start, end, gateway] = [textOf(shape, 'start') ?? '', textOf(shape, 'end') ?? '', textOf(shape, 'gateway')]
  const subnet = textOf(shape, 'subnet') ?? ''
  if (subnet !== '') {
    const cidr = parseCIDR(subnet)
    if (isMalformed(cidr)) return { malformed: `spec.subnet: Invalid value: ${cidr.malformed}` }
    prefix = prefix === undefined || prefix === 0 ? cidr.bits : prefix
    const bounds = innerBounds(subnet)
    addresses.push(`${start === '' ? bounds.first : start}-${end === '' ? bounds.last : end}`)
  }
  if (faults.length > 0) return malformedBy(faults)
  const converted: Writable = { addresses, prefix: prefix ?? 0 }
  if (has(shape, 'gateway')) converted.gateway = gateway
  return converted
}

/** All of a subnet but its first and last address; all of it where it has no others. */
function innerBounds(subnet: string): { first: string; last: string } {
  const cidr = parseCIDR(subnet)
  if (isMalformed(cidr)) return { first: '', last: '' }
  const range = parseEntry(subnet)
  const inner = isMalformed(range) || range.last - range.first < 2n ? undefined : range
  if (inner === undefined) return { first: toIPText(firstIP(cidr)), last: toIPText(lastIP(cidr)) }
  return { first: textOfValue(inner.family, inner.first + 1n), last: textOfValue(inner.family, inner.last - 1n) }
}

const textOfValue = (family: Family, value: bigint): string => toIPText(fromValue(family, value))

function meansTheSame(one: Writable, other: Readonly<Record<string, unknown>>): boolean {
  const meaning = (spec: Readonly<Record<string, unknown>>): string =>
    JSON.stringify([spec.addresses ?? [], spec.prefix ?? 0, spec.gateway ?? ''])
  return meaning(one) === meaning(other)
}

interface ObjectParts {
  readonly object: Readonly<Record<string, unknown>>
  readonly metadata: Readonly<Record<string, unknown>>
  readonly annotations: Readonly<Record<string, unknown>>
  readonly spec: Readonly<Record<string, unknown>>
}

function partsOf(object: unknown): ObjectParts | Malformed {
  if (!isRecord(object)) return { malformed: 'what is to be converted is not an object' }
  const metadata = isRecord(object.metadata) ? object.metadata : {}
  const annotations = isRecord(metadata.annotations) ? metadata.annotations : {}
  return { object, metadata, annotations, spec: isRecord(object.spec) ? object.spec : {} }
}

/** What an earlier conversion kept. Every user of the object may edit an annotation, so nonsense counts as nothing. */
function savedIn(annotations: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> | undefined {
  const text = Object.hasOwn(annotations, conversionDataAnnotation) ? annotations[conversionDataAnnotation] : undefined
  if (typeof text !== 'string') return undefined
  try {
    const saved: unknown = JSON.parse(text)
    return isRecord(saved) ? saved : undefined
  } catch {
    return undefined
  }
}

// The objects of Metal3's IP address manager, read from what the API answers. Only what is needed to take over from it:
// pools, which claim has which address, and which addresses are promised to which claims.

import { type Metadata, metadataOf } from '../api/object.ts'
import {
  childOf,
  has,
  integerOf,
  malformedBy,
  oneOf,
  type Shape,
  shapeOf,
  shapesOf,
  textMapOf,
  textOf,
  textsOf,
} from '../api/shape.ts'
import type { Malformed } from '../ip/malformed.ts'

export const metal3Group = 'ipam.metal3.io'
/** The lease of its controller; held while it runs with several replicas. */
export const metal3Lease = 'controller-leader-election-ipam-capm3'

export interface Metal3Entry {
  readonly start: string
  readonly end: string
  readonly subnet: string
  /** What it says for its own addresses; undefined or empty: what the pool says. */
  readonly prefix: number | undefined
  readonly gateway: string
  readonly dnsServers: readonly string[]
}

export interface Metal3Pool {
  readonly metadata: Metadata
  readonly clusterName: string
  readonly entries: readonly Metal3Entry[]
  /** Claim name to address. */
  readonly preAllocations: Readonly<Record<string, string>>
  readonly prefix: number | undefined
  readonly gateway: string
  readonly dnsServers: readonly string[]
  readonly strategy: 'sequential' | 'random'
}

export function parseMetal3Pool(object: unknown): Metal3Pool | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const spec = childOf(root, 'spec')
  const pool: Metal3Pool = {
    metadata: metadataOf(childOf(root, 'metadata')),
    clusterName: textOf(spec, 'clusterName') ?? '',
    entries: shapesOf(spec, 'pools').map(entryOf),
    preAllocations: textMapOf(spec, 'preAllocations'),
    prefix: prefixOf(spec),
    gateway: textOf(spec, 'gateway') ?? '',
    dnsServers: textsOf(spec, 'dnsServers'),
    strategy: oneOf(spec, 'allocationStrategy', ['sequential', 'random'], 'sequential'),
  }
  return faults.length > 0 ? malformedBy(faults) : pool
}

function entryOf(shape: Shape): Metal3Entry {
  return {
    start: textOf(shape, 'start') ?? '',
    end: textOf(shape, 'end') ?? '',
    subnet: textOf(shape, 'subnet') ?? '',
    prefix: prefixOf(shape),
    gateway: textOf(shape, 'gateway') ?? '',
    dnsServers: textsOf(shape, 'dnsServers'),
  }
}

/** Zero is written where nothing is meant. */
const prefixOf = (shape: Shape): number | undefined =>
  has(shape, 'prefix') ? integerOf(shape, 'prefix', 0, 128) || undefined : undefined

/** An address that Metal3 has given out, of either of the two kinds it writes. */
export interface Metal3Address {
  readonly metadata: Metadata
  /** `IPAddress.ipam.metal3.io`, or Cluster API's. */
  readonly kind: 'metal3' | 'capi'
  readonly poolName: string
  readonly claimName: string
  readonly address: string
}

/** Of Metal3's own kind: `spec.pool` and `spec.claim` are references with a name. */
export function parseMetal3Address(object: unknown): Metal3Address | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const spec = childOf(root, 'spec')
  const address: Metal3Address = {
    metadata: metadataOf(childOf(root, 'metadata')),
    kind: 'metal3',
    poolName: textOf(childOf(spec, 'pool'), 'name') ?? '',
    claimName: textOf(childOf(spec, 'claim'), 'name') ?? '',
    address: textOf(spec, 'address') ?? '',
  }
  return faults.length > 0 ? malformedBy(faults) : address
}

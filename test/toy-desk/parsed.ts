// Objects of the desk's caches, read once into the shapes that decisions are made on. Nothing behind this file reads an
// object from the API server field by field.

import { type Condition, conditionsOf } from '../../src/api/condition.ts'
import { hasDeletionTimestamp, type Identity, type Metadata, metadataOf } from '../../src/api/object.ts'
import { addressIn, makePool, type Pool } from '../../src/api/pool.ts'
import { selectorOf } from '../../src/api/selector.ts'
import {
  childOf,
  flagOf,
  has,
  integerOf,
  isRecord,
  jsonOf,
  malformedBy,
  ownText,
  requiredText,
  shapeOf,
  textOf,
  textsOf,
} from '../../src/api/shape.ts'
import { once } from '../../src/controllers/office/kept.ts'
import { type CIDR, parseCIDR, toNetwork } from '../../src/ip/cidr.ts'
import { isMalformed, type Malformed } from '../../src/ip/malformed.ts'
import { parseEntry, rangeOfCIDR } from '../../src/ip/range.ts'
import { toRangeSet } from '../../src/ip/range-set.ts'
import { networks, toyGroup } from './kinds.ts'

/** The parts of a berth, in the order in which they are taken. */
export const partNames = ['v4', 'v6', 'mac'] as const
export type PartName = (typeof partNames)[number]
/** What a berth has, as texts; of each part that it has at all. */
export type Choice = Readonly<Partial<Record<PartName, string>>>

/** On a berth: everything that it has, as one value, so that it is stored in one write. */
export const choiceAnnotation = 'toy.example.org/choice'
/** On a berth: what it has is given back before it goes. */
export const berthFinalizer = 'toy.example.org/release'

export interface Berth {
  readonly metadata: Metadata
  readonly network: Identity
  /** As typed. */
  readonly mac: string | undefined
  readonly wishes: readonly string[]
  readonly choice: Choice | Malformed | undefined
  /** What its status shows. */
  readonly shown: Choice | undefined
  readonly conditions: readonly Condition[]
  readonly isDeleting: boolean
}

export interface ToyNetwork {
  readonly identity: Identity
  /** One per family. Their space is the name of the network. */
  readonly pools: readonly [Pool, ...Pool[]]
  readonly isDefault: boolean
}

export const networkNamed = (name: string): Identity => ({
  apiGroup: toyGroup,
  kind: networks.kind,
  namespace: '',
  name,
})

export const berthOf: (object: object) => Berth | Malformed = once(parseBerth)
export const networkOf: (object: object) => ToyNetwork | Malformed = once(parseNetwork)

function parseBerth(object: unknown): Berth | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const metadata = metadataOf(childOf(root, 'metadata'))
  const spec = childOf(root, 'spec')
  const status = childOf(root, 'status')
  const stored = ownText(metadata.annotations, choiceAnnotation)
  const berth = {
    metadata,
    network: networkNamed(requiredText(spec, 'network')),
    mac: textOf(spec, 'mac') || undefined,
    wishes: textsOf(spec, 'addresses'),
    choice: stored === undefined ? undefined : parseChoice(stored),
    shown: has(status, 'addresses') ? toShown(textsOf(status, 'addresses'), textOf(status, 'mac')) : undefined,
    conditions: conditionsOf(status, 'conditions'),
    isDeleting: hasDeletionTimestamp(metadata),
  }
  return faults.length > 0 ? malformedBy(faults) : berth
}

export function parseChoice(text: string): Choice | Malformed {
  const value = jsonOf(text)
  const entries = isRecord(value) ? Object.entries(value) : []
  const isGood = ([part, one]: [string, unknown]) => partNames.some(name => name === part) && typeof one === 'string'
  if (entries.length === 0 || !entries.every(isGood)) return { malformed: 'the choice of the berth cannot be read' }
  return Object.fromEntries(entries) as Choice
}

function toShown(addresses: readonly string[], mac: string | undefined): Choice {
  const v4 = addresses.find(address => !address.includes(':'))
  const v6 = addresses.find(address => address.includes(':'))
  return { ...(v4 && { v4 }), ...(v6 && { v6 }), ...(mac && { mac }) }
}

function parseNetwork(object: unknown): ToyNetwork | Malformed {
  const faults: string[] = []
  const root = shapeOf(object, '', faults)
  const metadata = metadataOf(childOf(root, 'metadata'))
  const spec = childOf(root, 'spec')
  const subnets = textsOf(spec, 'subnets').flatMap((text, i): CIDR[] => {
    const subnet = parseCIDR(text)
    if (!isMalformed(subnet)) return [toNetwork(subnet)]
    faults.push(`spec.subnets[${i}] ${subnet.malformed}`)
    return []
  })
  if (new Set(subnets.map(({ ip }) => ip.family)).size < subnets.length)
    faults.push('spec.subnets has two of one family')
  const excludes = textsOf(spec, 'excludes').flatMap((text, i) => {
    const range = parseEntry(text)
    if (!isMalformed(range)) return [range]
    faults.push(`spec.excludes[${i}] ${range.malformed}`)
    return []
  })
  const gateways = textsOf(spec, 'gateways')
  const perNamespace = integerOf(spec, 'berthsPerNamespace', 1, Number.MAX_SAFE_INTEGER)
  const identity = networkNamed(metadata.name)
  const common = {
    identity,
    apiVersion: `${toyGroup}/v1`,
    metadata,
    space: metadata.name,
    isOneOfTwo: subnets.length > 1,
    quarantineSeconds: integerOf(spec, 'quarantineSeconds', 0, 31_536_000) ?? 0,
    quota: perNamespace === undefined ? {} : { perNamespace },
    allowedNamespaces: has(spec, 'allowedNamespaces') ? selectorOf(childOf(spec, 'allowedNamespaces')) : undefined,
  }
  const pools = subnets.map(subnet => {
    const { family } = subnet.ip
    const gatewayText = gateways.find(text => text.includes(':') === (family === 6)) ?? ''
    const gateway = gatewayText === '' ? undefined : addressIn(gatewayText, family, 'spec.gateways', faults)
    const addresses = toRangeSet(family, [rangeOfCIDR(subnet)])
    const excluded = toRangeSet(
      family,
      excludes.filter(range => range.family === family),
    )
    return makePool({ ...common, family, prefix: subnet.bits, addresses, excluded, gateway, gatewayText })
  })
  const isDefault = flagOf(spec, 'isDefault')
  const [first, ...others] = pools
  if (first === undefined) faults.push('spec.subnets is empty: list one, or one of each family')
  if (first === undefined || faults.length > 0) return malformedBy(faults)
  return { identity, pools: [first, ...others], isDefault }
}

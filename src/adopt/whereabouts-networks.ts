// From whereabouts: what each of its networks becomes. A network alone on its addresses keeps them in its own config; several that
// give out the same ones, which is what one range in several namespaces comes to, name a ClusterAddressPool that they share. What
// comes out is read by the readers of the product, and judged as what an administrator applies will be.

import { clusterAddressPoolKind } from '../api/address-pool.ts'
import { allowedNamespacesAnnotation, cniGroup } from '../api/names.ts'
import { apiVersionOf } from '../api/object.ts'
import type { Pool } from '../api/pool.ts'
import { toPool } from '../api/to-pool.ts'
import { parseIP, toIPText } from '../ip/address.ts'
import { containsIP, firstIP, lastIP, overlapsCIDR, toCIDRText } from '../ip/cidr.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import type { KubeObject } from '../kube/object.ts'
import { isOfMooring, parseAttachment } from '../networks/attachment.ts'
import { mooringNetworkOf } from '../networks/network.ts'
import { parseWhereaboutsNetwork, type WhereaboutsNetwork, type WhereaboutsRange } from './whereabouts.ts'

/** What a NetworkAttachmentDefinition comes to: as it is, or as it will be. */
export interface Target {
  readonly key: string
  /** As an IPAMClaim names it. */
  readonly name: string
  readonly pools: readonly Pool[]
  /** To be applied by the administrator; undefined where it is applied already. */
  readonly next: KubeObject | undefined
}

export interface Targets {
  readonly networks: ReadonlyMap<string, Target | Malformed>
  /** Shared by networks that are to be changed. */
  readonly pools: readonly KubeObject[]
}

export interface TargetsOptions {
  readonly attachments: readonly KubeObject[]
  /** ClusterAddressPools that are there. */
  readonly pools: readonly KubeObject[]
  /** Namespaces of pods that have an address of the NetworkAttachmentDefinition. */
  readonly usersOf: (attachment: string) => ReadonlySet<string>
}

export function targetsOf({ attachments, pools, usersOf }: TargetsOptions): Targets {
  const networks = new Map<string, Target | Malformed>()
  const theirs: WhereaboutsNetwork[] = []
  const known = new Map(pools.map(pool => [pool.metadata.name ?? '', pool]))
  for (const object of attachments) {
    const network = parseWhereaboutsNetwork(object)
    const key = `${object.metadata.namespace}/${object.metadata.name}`
    if (isMalformed(network)) networks.set(key, network)
    else if (network !== undefined) theirs.push(network)
    else networks.set(key, readTarget(object, known, undefined))
  }
  const made = new Map<string, KubeObject>()
  for (const network of theirs) {
    const sharers = theirs.filter(other => sharesAddresses(network, other))
    const object = sharers.length > 1 ? onPool(network, sharers, made, usersOf) : onOwnRanges(network, usersOf)
    networks.set(network.key, isMalformed(object) ? object : readTarget(object, new Map([...known, ...made]), object))
  }
  return { networks, pools: [...made.values()] }
}

const sharesAddresses = (one: WhereaboutsNetwork, other: WhereaboutsNetwork): boolean =>
  one.networkName === other.networkName &&
  one.ranges.some(a => other.ranges.some(b => overlapsCIDR(a.subnet, b.subnet)))

function readTarget(
  object: KubeObject,
  pools: ReadonlyMap<string, KubeObject>,
  next: KubeObject | undefined,
): Target | Malformed {
  const attachment = parseAttachment(object)
  if (isMalformed(attachment)) return attachment
  const { key, reading } = attachment
  if (reading.family === 'malformed') return { malformed: reading.why }
  if (!isOfMooring(attachment)) return { malformed: 'its addresses come neither from whereabouts nor from Mooring' }
  const network = mooringNetworkOf(attachment)
  if (network.pools.length > 0) return { key, name: network.name, pools: network.pools, next }
  const named = pools.get(network.source.name)
  if (network.source.kind !== clusterAddressPoolKind.kind || named === undefined)
    return { malformed: `it names ${network.source.kind} ${network.source.name}, which is not there: write it first` }
  const pool = toPool(named)
  return isMalformed(pool) ? pool : { key, name: network.name, pools: [pool], next }
}

// --- alone ---

function onOwnRanges(network: WhereaboutsNetwork, usersOf: TargetsOptions['usersOf']): KubeObject {
  const excluded = network.ranges.flatMap(range => range.excluded)
  const ipam = {
    type: 'mooring',
    ranges: network.ranges.map(range => ({
      subnet: toCIDRText(range.subnet),
      ...(range.start && { rangeStart: toIPText(range.start) }),
      ...(range.end && { rangeEnd: toIPText(range.end) }),
      ...(hasGateway(network, range) && { gateway: network.gateway }),
    })),
    ...(excluded.length > 0 && { excludeRanges: excluded }),
    ...network.same,
  }
  const others = [...usersOf(network.key)].filter(namespace => namespace !== network.metadata.namespace).sort()
  const annotations = others.length > 0 && { annotations: { [allowedNamespacesAnnotation]: others.join(',') } }
  return toAttachment(network, ipam, annotations || {})
}

/** One of another subnet is told by routes; Mooring takes none that cannot be reached. */
function hasGateway({ gateway }: WhereaboutsNetwork, { subnet }: WhereaboutsRange): boolean {
  const ip = parseIP(gateway)
  return !isMalformed(ip) && containsIP(subnet, ip)
}

const toAttachment = ({ metadata, withIPAM }: WhereaboutsNetwork, ipam: object, more: object): KubeObject => {
  const { namespace, name } = metadata
  const spec = { config: withIPAM(ipam) }
  const object = {
    apiVersion: `${cniGroup}/v1`,
    kind: 'NetworkAttachmentDefinition',
    metadata: { name, namespace, ...more },
    spec,
  }
  return object
}

// --- shared ---

function onPool(
  network: WhereaboutsNetwork,
  sharers: readonly WhereaboutsNetwork[],
  made: Map<string, KubeObject>,
  usersOf: TargetsOptions['usersOf'],
): KubeObject | Malformed {
  const [range, second] = network.ranges
  const others = sharers.flatMap(({ key }) => (key === network.key ? [] : [key]))
  if (range === undefined || second !== undefined)
    return {
      malformed: `it has several ranges, and shares addresses with ${others.join(', ')}: a pool has one. Give it addresses of its own, or one range`,
    }
  const name = poolNameOf(network, range)
  const namespaces = new Set(sharers.flatMap(({ key, metadata }) => [metadata.namespace, ...usersOf(key)]))
  made.set(name, toPoolObject(name, network, range, [...namespaces].sort()))
  const pool = { kind: clusterAddressPoolKind.kind, name }
  return toAttachment(network, { type: 'mooring', pool, ...network.same }, {})
}

/** The same for the same addresses: networks that differ in what they leave out have pools of their own, in one space. */
function poolNameOf(
  { networkName, gateway }: WhereaboutsNetwork,
  { subnet, start, end, excluded }: WhereaboutsRange,
): string {
  const window = [start && toIPText(start), end && toIPText(end)].map(text => text ?? '')
  const parts = [spaceOf(networkName), toCIDRText(subnet), ...window, ...excluded, gateway].filter(text => text !== '')
  const name = parts
    .join('-')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  return name.slice(0, 200).replace(/-$/, '')
}

const spaceOf = (networkName: string): string => (networkName === '' ? 'whereabouts' : `whereabouts-${networkName}`)

function toPoolObject(
  name: string,
  network: WhereaboutsNetwork,
  range: WhereaboutsRange,
  namespaces: readonly string[],
): KubeObject {
  const { subnet, start, end, excluded } = range
  const hasWindow = start !== undefined || end !== undefined
  const window = `${toIPText(start ?? firstIP(subnet))}-${toIPText(end ?? lastIP(subnet))}`
  const object = {
    apiVersion: apiVersionOf(clusterAddressPoolKind),
    kind: clusterAddressPoolKind.kind,
    metadata: { name },
    spec: {
      addresses: [hasWindow ? window : toCIDRText(subnet)],
      prefix: subnet.bits,
      space: spaceOf(network.networkName),
      ...(hasGateway(network, range) && { gateway: network.gateway }),
      ...(excluded.length > 0 && { excludedAddresses: excluded }),
      allowedNamespaces: {
        matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: namespaces }],
      },
    },
  }
  return object
}

// Whether a cluster can have the migration network that is asked for: every check of Harvester, in its order and words, and those that it
// lacks. From facts to problems, all of them at once. The default is never asked about: it is always accepted.
//
//   the cluster network is configured, and ready, on every node that needs it      Harvester alone
//   there are addresses for all nodes, of each family
//   no sibling setting has any of them, nor a space of the ledger on the same wire

import {
  type ClusterNetwork,
  effectiveValue,
  type Setting,
  type VlanConfig,
  type VlanStatus,
} from '../api/harvester.ts'
import type { MigrationNetwork } from '../api/migration-network.ts'
import { isRecord, jsonOf } from '../api/shape.ts'
import { parseIP } from '../ip/address.ts'
import { toCIDRText } from '../ip/cidr.ts'
import { isMalformed } from '../ip/malformed.ts'
import { intersection, overlapsSet, type RangeSet } from '../ip/range-set.ts'
import { rangesText } from '../ipam/overlap.ts'
import { managementNetwork, settingName, siblingSettings } from './names.ts'
import { type NodeFacts, nodesToServe } from './nodes.ts'
import { type Problem, problem } from './problem.ts'
import { countUsable, familyOf, type MigrationRange, readRanges, usableOf } from './range.ts'
import { decodeValue, isDefault } from './setting.ts'
import { readMigrationNetwork, readSettingValue, type Wanted, type Wire } from './wanted.ts'

export interface CheckedNode extends NodeFacts {
  readonly isReady: boolean
  readonly isDeleting: boolean
  /** Its InternalIPs. */
  readonly addresses: readonly string[]
}

export interface ClusterFacts {
  readonly nodes: readonly CheckedNode[]
  /** Pods besides virt-handler that join the network, each with an address of its own. */
  readonly consumers: number
  readonly clusterNetworks: readonly ClusterNetwork[]
  readonly vlanConfigs: readonly VlanConfig[]
  readonly vlanStatuses: readonly VlanStatus[]
  readonly settings: readonly Pick<Setting, 'metadata' | 'value' | 'default'>[]
  /** Spaces of the ledger of which it is known on which wire they are. */
  readonly spaces: readonly SpaceOnWire[]
}

export interface SpaceOnWire {
  readonly space: string
  readonly wire: Pick<Wire, 'link' | 'vlan'>
  /** What its pools list, by family. */
  readonly addresses: readonly RangeSet[]
  /**
   * An administrator said so. What a tenant says of a wire warns, and keeps no administrator from it: any user of a namespace may write a
   * NetworkAttachmentDefinition.
   */
  readonly isOfCluster: boolean
}

export interface Checked {
  readonly problems: readonly Problem[]
  readonly warnings: readonly string[]
}

/** Of `value` of the Setting, or of `default`. */
export function checkSettingValue(text: string, facts: ClusterFacts): Checked {
  if (isDefault(text)) return { problems: [], warnings: [] }
  const decoded = decodeValue(text)
  if ('problems' in decoded) return { problems: decoded.problems, warnings: [] }
  const { clusterNetwork } = decoded.value
  const covered = coverageProblems(clusterNetwork, facts)
  const read = readSettingValue(text)
  if (read === 'default') return { problems: [], warnings: [] }
  if ('problems' in read) {
    // A name that no cluster network can have is not looked for.
    const isNoName = read.problems.some(({ place }) => place[0] === 'clusterNetwork')
    return { problems: [...read.problems, ...(isNoName ? [] : covered)], warnings: [] }
  }
  const { wanted } = read
  const { problems, warnings } = checkAddresses(wanted, facts)
  return { problems: [...covered, ...familyProblems(wanted, facts), ...problems], warnings }
}

export function checkMigrationNetwork(network: MigrationNetwork, facts: ClusterFacts): Checked {
  const read = readMigrationNetwork(network)
  return 'problems' in read ? { problems: read.problems, warnings: [] } : checkAddresses(read.wanted, facts)
}

function checkAddresses(wanted: Wanted, facts: ClusterFacts): Checked {
  const { ranges } = wanted
  const counted = countAddresses(wanted, facts)
  const peers = overlapProblems(settingName, ranges, peersOf(settingName, facts.settings))
  const spaces = checkSpaces(wanted, facts.spaces)
  return {
    problems: [...counted.problems, ...peers, ...spaces.problems],
    warnings: [...counted.warnings, ...spaces.warnings],
  }
}

// --- the cluster network ---

function coverageProblems(name: string, facts: ClusterFacts): Problem[] {
  if (name === managementNetwork || name === '') return []
  const at = (message: string, fix: string): Problem => problem(['clusterNetwork'], name, message, fix)
  if (!facts.clusterNetworks.some(({ metadata }) => metadata.name === name)) {
    const cause = `clusternetworks.network.harvesterhci.io "${name}" not found`
    const names = facts.clusterNetworks.map(({ metadata }) => metadata.name).sort()
    const fix = names.length === 0 ? 'create it first' : `create it, or write one of ${names.join(', ')}`
    return [at(`cluster network ${name} not found because ${cause}`, fix)]
  }
  const statuses = facts.vlanStatuses.filter(one => one.clusterNetwork === name)
  const configs = facts.vlanConfigs.filter(one => one.clusterNetwork === name)
  const nodes = nodesToServe(facts.nodes, { nodeSelector: {} }).map(node => node.name)
  const matched = new Set(configs.flatMap(({ matchedNodes }) => matchedNodes))
  const missing = nodes.filter(node => !matched.has(node))
  const silent = nodes.filter(node => matched.has(node) && !statuses.some(status => status.node === node))
  const problems: Problem[] = []
  if (statuses.length === 0) {
    problems.push(at(`vlan status not present for cluster network ${name}`, 'wait until a node has set it up'))
  } else if (silent.length > 0) {
    const message = `vlan status not present for cluster network ${name} on ${silent.join(', ')}`
    problems.push(at(message, 'wait until these nodes have set it up'))
  }
  for (const { metadata, node, ready } of statuses) {
    if (ready === 'True') continue
    const why = ready === 'False' ? 'see its condition ready' : 'it does not say whether it is ready'
    problems.push(
      at(
        `vs ${metadata.name} status is not Ready`,
        `${why}; repair the uplink of ${node === '' ? 'its node' : `node ${node}`}`,
      ),
    )
  }
  if (configs.length === 0) {
    problems.push(at(`vlan config not present for cluster network ${name}`, 'create a VlanConfig for it'))
  } else if (missing.length > 0) {
    problems.push(at(`vlanconfig does not span ${missing.join(', ')}`, 'have a VlanConfig select these nodes too'))
  }
  return problems
}

/** Harvester takes IPv6 where the cluster has it. */
function familyProblems({ ranges }: Wanted, { nodes }: ClusterFacts): Problem[] {
  const v6 = ranges.find(range => familyOf(range) === 6)
  const hasV6 = nodes.some(
    ({ isReady, isDeleting, addresses }) => isReady && !isDeleting && addresses.some(text => isV6(text)),
  )
  if (v6 === undefined || hasV6) return []
  const message = 'rangeV6 needs a cluster with IPv6, and no ready node has an IPv6 InternalIP'
  return [problem(['rangeV6'], toCIDRText(v6.subnet), message, 'remove rangeV6, rangeV6Start and rangeV6End')]
}

function isV6(text: string): boolean {
  const ip = parseIP(text)
  return !isMalformed(ip) && ip.family === 6
}

// --- how many ---

function countAddresses(wanted: Wanted, { nodes, consumers }: ClusterFacts): Checked {
  const { ranges } = wanted
  const serving = nodesToServe(nodes, wanted).length
  // Of none, nothing can be given: that is refused in a cluster without nodes too.
  const needed = BigInt(Math.max(serving + consumers, 1))
  const small = ranges.filter(range => countUsable([range]) < needed)
  const problems = small.map(range => {
    const isV4 = familyOf(range) === 4
    const count = countUsable([range])
    const message = `allocatable IP address range is < ${needed}, allocate sufficient range`
    const what = `${count} can be given out, and ${needed} are needed${consumers > 0 ? `, ${consumers} of them for pods besides virt-handler` : ''}`
    return problem([isV4 ? 'range' : 'rangeV6'], toCIDRText(range.subnet), message, `${what}: ${wider(range, needed)}`)
  })
  if (problems.length > 0) return { problems, warnings: [] }
  const isTight = countUsable(ranges) === needed
  const warning = `vm-migration-network: all ${needed} addresses are needed now: a node that joins later gets none; exclude less, or write a wider range`
  return { problems, warnings: isTight ? [warning] : [] }
}

function wider({ subnet, exclude, window }: MigrationRange, needed: bigint): string {
  if (window !== undefined) return 'write rangeV6Start and rangeV6End further apart'
  let bits = subnet.bits
  while (bits > 16 && (1n << BigInt(32 - bits)) - 2n < needed) bits--
  if (bits < subnet.bits) return `write a range of /${bits} or wider`
  return exclude.length > 0 ? 'exclude less, or write a wider range' : 'write a wider range'
}

// --- disjoint ---

export interface Peer {
  readonly name: string
  /** Undefined where its value cannot be read. */
  readonly ranges: readonly MigrationRange[] | undefined
}

/** The other settings of Harvester that have a network of their own, and say so. */
export function peersOf(own: string, settings: ClusterFacts['settings']): Peer[] {
  return [...siblingSettings, settingName].flatMap(name => {
    const setting = settings.find(({ metadata }) => metadata.name === name)
    if (setting === undefined || name === own) return []
    const text = effectiveValue(setting)
    if (text === '') return []
    const value = jsonOf(text)
    const config = name === 'rwx-network' ? networkOfItsOwn(value) : value
    if (config === 'none') return []
    return [{ name, ranges: isRecord(config) ? rangesIn(config) : undefined }]
  })
}

/** Of rwx-network: none where it shares the storage network, or has nothing to say. */
function networkOfItsOwn(value: unknown): unknown {
  if (!isRecord(value)) return undefined
  return value['share-storage-network'] === true ? 'none' : (value.network ?? 'none')
}

/** What can be read: another setting is judged elsewhere. */
function rangesIn(config: Readonly<Record<string, unknown>>): readonly MigrationRange[] | undefined {
  const text = (key: string): string => (typeof config[key] === 'string' ? config[key] : '')
  const list = Array.isArray(config.exclude) ? config.exclude.filter(one => typeof one === 'string') : []
  const { ranges, problems } = readRanges(
    {
      range: text('range'),
      exclude: list,
      rangeV6: text('rangeV6'),
      rangeV6Start: text('rangeV6Start'),
      rangeV6End: text('rangeV6End'),
    },
    { rules: 'plain' },
  )
  return problems.length > 0 ? undefined : ranges
}

/** `own`: the setting that is judged. Sets of usable addresses are compared, so excluding what the other has is enough. */
export function overlapProblems(
  own: string,
  ranges: readonly MigrationRange[] | undefined,
  peers: readonly Peer[],
): Problem[] {
  if (ranges === undefined) return []
  return peers.flatMap(peer => {
    if (peer.ranges === undefined) {
      const message = `${own}: the network configuration of ${peer.name} cannot be read`
      return [problem([], undefined, message, `correct the setting ${peer.name} first`)]
    }
    return ranges.flatMap(range => {
      const common = commonWith(range, (peer.ranges ?? []).map(usableOf))
      if (common === undefined) return []
      const message = `${own}: the network configuration is overlapped with ${peer.name}`
      return [problem(placeOf(range), toCIDRText(range.subnet), message, `exclude ${common}, or choose another range`)]
    })
  })
}

const placeOf = (range: MigrationRange) => [familyOf(range) === 4 ? 'range' : 'rangeV6']

/** `10.0.0.1-10.0.0.9`, of the first that has some of them. */
function commonWith(range: MigrationRange, others: readonly RangeSet[]): string | undefined {
  const usable = usableOf(range)
  const other = others.find(({ family, ranges }) => family === usable.family && overlapsSet({ family, ranges }, usable))
  return other && rangesText(intersection(usable, other))
}

function checkSpaces({ wire, ranges }: Wanted, spaces: readonly SpaceOnWire[]): Checked {
  const found = spaces.flatMap(({ space, wire: other, addresses, isOfCluster }) => {
    if (!isSameWire(wire, other)) return []
    return ranges.flatMap(range => {
      const common = commonWith(range, addresses)
      if (common === undefined) return []
      const message = `${settingName}: the network configuration is overlapped with space ${space}, which is on ${wireText(wire)} too`
      const fix = `exclude ${common}, or choose another range`
      return [{ isOfCluster, problem: problem(placeOf(range), toCIDRText(range.subnet), message, fix) }]
    })
  })
  return {
    problems: found.flatMap(one => (one.isOfCluster ? [one.problem] : [])),
    warnings: found.flatMap(one => (one.isOfCluster ? [] : [`${one.problem.message}: ${one.problem.fix}`])),
  }
}

function isSameWire(one: Pick<Wire, 'link' | 'vlan'>, other: Pick<Wire, 'link' | 'vlan'>): boolean {
  const untagged = (vlan: number) => Math.max(vlan, 1)
  return JSON.stringify(one.link) === JSON.stringify(other.link) && untagged(one.vlan) === untagged(other.vlan)
}

function wireText({ link, vlan }: Wire): string {
  const name = 'bridge' in link ? link.bridge : link.parent
  return vlan > 1 ? `VLAN ${vlan} of ${name}` : name
}

/** Of the setting `kubevirt-migration`, which has its own controller: what is not for it to say. */
export function checkTuning(text: string): Problem[] {
  const value = jsonOf(text)
  if (!isRecord(value)) return []
  const refusals: readonly (readonly [string, string, string])[] = [
    ['network', 'network field is configured by vm-migration-network setting', `remove it, and set ${settingName}`],
    ['nodeDrainTaintKey', 'nodeDrainTaintKey field cannot be configured', 'remove it'],
  ]
  return refusals.flatMap(([key, message, fix]) =>
    (value[key] ?? undefined) === undefined ? [] : [problem([key], value[key], message, fix)],
  )
}

// What is wanted, by either of the two that can say it: a Setting of Harvester, or a MigrationNetwork. Everything after this works from one value.

import type { IPAMType, MigrationNetwork } from '../api/migration-network.ts'
import { toIPText } from '../ip/address.ts'
import { toCIDRText } from '../ip/cidr.ts'
import type { Malformed } from '../ip/malformed.ts'
import { bridgeOf, harvesterKubeVirt, managementNetwork } from './names.ts'
import { describeProblem, type Problem, problem } from './problem.ts'
import { type MigrationRange, readRanges } from './range.ts'
import { decodeValue, hashOf, isDefault, type SettingValue } from './setting.ts'

/** What a pod of virt-handler is attached to on its node. */
export interface Wire {
  /** The cluster network of Harvester; undefined in a cluster without. */
  readonly clusterNetwork: string | undefined
  /** One of the two: a bridge, or an interface of the node. */
  readonly link: { readonly bridge: string } | { readonly parent: string }
  /** 0 for untagged; on a bridge of Harvester that is written as 1. */
  readonly vlan: number
  /** 0 where nothing is said: then what the platform decides. */
  readonly mtu: number
}

export interface Wanted {
  readonly wire: Wire
  readonly ipam: IPAMType
  /** One per family, IPv4 first. */
  readonly ranges: readonly MigrationRange[]
  /** The KubeVirt object. Its namespace is that of the NetworkAttachmentDefinition too. */
  readonly kubevirt: { readonly namespace: string; readonly name: string }
  /** The nodes that need an address, but for witnesses; all where it is empty. */
  readonly nodeSelector: Readonly<Record<string, string>>
  /** One text per meaning. */
  readonly canonical: string
  /** Of the canonical text. */
  readonly hash: string
}

/** `default`: migrations use the management network. */
export type ReadWanted = 'default' | { readonly wanted: Wanted } | { readonly problems: readonly Problem[] }

/** The default as Harvester stores its hash. */
export const defaultHash = hashOf('')

const vlanMax = 4094
/** What a port of a bridge has that is not tagged. */
const untaggedVLAN = 1

// --- of a Setting ---

/** Of `value` of the Setting, or of `default`. */
export function readSettingValue(text: string): ReadWanted {
  if (isDefault(text)) return 'default'
  const decoded = decodeValue(text)
  if ('problems' in decoded) return decoded
  const { value } = decoded
  const read = readRanges(value, { rules: 'harvester' })
  const problems = [...clusterNetworkProblems(value), ...vlanProblems(value.vlan), ...read.problems]
  if (problems.length > 0) return { problems }
  const { clusterNetwork, ipam } = value
  const wire: Wire = {
    clusterNetwork,
    link: { bridge: bridgeOf(clusterNetwork) },
    vlan: value.vlan === 0 ? untaggedVLAN : value.vlan,
    mtu: 0,
  }
  const canonical = JSON.stringify({
    clusterNetwork,
    vlan: wire.vlan,
    ...addressTextsOf(read.ranges),
    ...(ipam !== 'whereabouts' && { ipam }),
  })
  const { ranges } = read
  const kubevirt = harvesterKubeVirt
  return { wanted: { wire, ipam, ranges, kubevirt, nodeSelector: {}, canonical, hash: hashOf(canonical) } }
}

/** `<name>-br` is the name of an interface, which has at most 15 characters. */
const clusterNetworkCharsMax = 12

function clusterNetworkProblems({ clusterNetwork, vlan }: SettingValue): Problem[] {
  const place = ['clusterNetwork']
  if (clusterNetwork === '') {
    const message = 'cluster network  not found because clusterNetwork is empty'
    return [problem(place, clusterNetwork, message, `name a cluster network, or ${managementNetwork}`)]
  }
  if (clusterNetwork === managementNetwork && vlan <= untaggedVLAN) {
    const message = `network with vlan id ${vlan} not allowed on mgmt cluster`
    return [problem(['vlan'], vlan, message, `write a VLAN of 2 to ${vlanMax}, or another cluster network`)]
  }
  if (clusterNetwork.length <= clusterNetworkCharsMax && interfacePattern.test(clusterNetwork)) return []
  const message = `cluster network ${clusterNetwork} not found because no cluster network can be called so`
  return [problem(place, clusterNetwork, message, 'write the name of a ClusterNetwork')]
}

function vlanProblems(vlan: number): Problem[] {
  if (vlan <= vlanMax) return []
  const message = `the valid value range for VLAN IDs is 0 to ${vlanMax}`
  return [problem(['vlan'], vlan, message, 'write 0 for untagged, or the number of the VLAN')]
}

/** In the order in which Harvester writes them. */
function addressTextsOf(ranges: readonly MigrationRange[]): Readonly<Record<string, unknown>> {
  return Object.assign({}, ...ranges.map(textsOf))
}

function textsOf({ subnet, window, exclude }: MigrationRange): Readonly<Record<string, unknown>> {
  const text = toCIDRText(subnet)
  if (subnet.ip.family === 4) return { range: text, ...(exclude.length > 0 && { exclude: exclude.map(toCIDRText) }) }
  const ends = window && { rangeV6Start: toIPText(window.start), rangeV6End: toIPText(window.end) }
  return { rangeV6: text, ...ends }
}

// --- of a MigrationNetwork ---

const interfacePattern = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/
const interfaceCharsMax = 15
const mtuRange = [576, 9000] as const

export function readMigrationNetwork(network: MigrationNetwork): Exclude<ReadWanted, 'default'> {
  const { bridge, parent, vlan, mtu, ipam, nodeSelector, kubevirt } = network
  const read = readRanges(network, { rules: 'plain' })
  const problems = [...linkProblems(network), ...vlanProblems(vlan), ...mtuProblems(mtu), ...read.problems]
  if (problems.length > 0) return { problems }
  const wire: Wire = {
    clusterNetwork: undefined,
    link: bridge === '' ? { parent } : { bridge },
    // Untagged has two numbers.
    vlan: vlan === untaggedVLAN ? 0 : vlan,
    mtu,
  }
  const canonical = JSON.stringify({
    ...wire.link,
    vlan: wire.vlan,
    ...(mtu > 0 && { mtu }),
    ...addressTextsOf(read.ranges),
    ipam,
    kubevirt,
    nodeSelector: Object.fromEntries(Object.entries(nodeSelector).sort(([a], [b]) => (a < b ? -1 : 1))),
  })
  return { wanted: { wire, ipam, ranges: read.ranges, kubevirt, nodeSelector, canonical, hash: hashOf(canonical) } }
}

function linkProblems({ bridge, parent }: MigrationNetwork): Problem[] {
  if ((bridge === '') === (parent === '')) {
    const message = bridge === '' ? 'neither bridge nor parent is named' : 'both bridge and parent are named'
    const fix = 'write bridge for a bridge that every node has, or parent for an interface of the nodes'
    return [problem(['bridge'], bridge, message, fix)]
  }
  const [key, name] = bridge === '' ? ['parent', parent] : ['bridge', bridge]
  if (name.length <= interfaceCharsMax && interfacePattern.test(name)) return []
  const message = `${key} is no name of a network interface`
  return [problem([key], name, message, `write letters, digits, "_", "." and "-", at most ${interfaceCharsMax}`)]
}

function mtuProblems(mtu: number): Problem[] {
  const [least, most] = mtuRange
  if (mtu === 0 || (mtu >= least && mtu <= most)) return []
  return [problem(['mtu'], mtu, `an MTU is 0 or ${least} to ${most}`, 'write 0 to leave it to the node')]
}

/** For what was stored: one sentence instead of problems. */
export function wantedOrMalformed(read: ReadWanted): Wanted | 'default' | Malformed {
  if (read === 'default') return read
  return 'wanted' in read ? read.wanted : { malformed: read.problems.map(describeProblem).join('; ') }
}

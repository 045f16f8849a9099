// A network for machines that come from one network of their source: the ClusterUserDefinedNetwork in which each of them can keep
// its address and its gateway. It cannot be changed once it is there, so it is proposed only where all machines agree.

import { namespaceNameLabel } from '../api/names.ts'
import { fromValue, type IP, isSameIP, parseIP, toIPText, toValue } from '../ip/address.ts'
import { type CIDR, containsIP, firstIP, lastIP, toCIDR, toCIDRText, toNetwork } from '../ip/cidr.ts'
import { isMalformed } from '../ip/malformed.ts'
import { rangeOfCIDR } from '../ip/range.ts'
import { hasRoomForInfrastructure } from '../networks/infrastructure.ts'
import type { SourceNIC } from '../sources/machine.ts'
import { ipsOf } from './cards.ts'
import type { KnownSubnet } from './mapping.ts'
import type { TargetNetwork } from './target.ts'

/** A card that is to be on the network, and the machine it is of. */
export interface CardOfMachine {
  readonly machine: string
  readonly nic: SourceNIC
}

export interface ProposalOptions {
  /** Of the ClusterUserDefinedNetwork. */
  readonly name: string
  readonly namespace: string
  /** What people know about it: it comes before what machines say. */
  readonly known?: readonly KnownSubnet[]
}

export interface NoProposal {
  readonly reason: 'SubnetUnknown' | 'GatewayUnknown' | 'GatewayOutsideSubnet' | 'MachinesDisagree' | 'NoRoom'
  readonly message: string
  /** Which machines say what. */
  readonly groups: readonly Group[]
}

export interface Group {
  /** `10.0.0.0/24 via 10.0.0.1`. */
  readonly says: string
  readonly machines: readonly string[]
}

export const isProposed = (one: TargetNetwork | NoProposal): one is TargetNetwork => !('reason' in one)

export function proposeNetwork(cards: readonly CardOfMachine[], options: ProposalOptions): TargetNetwork | NoProposal {
  const four = familyOf(4, cards, options.known)
  const six = familyOf(6, cards, options.known)
  const isOnlySix = !cards.some(({ nic }) => ipsOf(nic).some(({ family }) => family === 4))
  if ('reason' in four && ('reason' in six || !isOnlySix)) return four
  // Without IPv6 in every machine the network has none: OVN-Kubernetes wants an address of each family from each machine.
  const both = [four, six].flatMap(facts => ('reason' in facts ? [] : [facts]))
  const addresses = cards.flatMap(({ nic }) => ipsOf(nic))
  const infrastructure: CIDR[] = []
  for (const { subnet, gateway } of both) {
    const blocks = infrastructureFor(subnet, gateway, addresses)
    if (blocks === undefined) return noRoom(subnet, cards)
    infrastructure.push(...blocks)
  }
  return {
    name: options.name,
    topology: 'Layer2',
    isPrimary: true,
    isPersistent: true,
    subnets: both.map(({ subnet }) => subnet),
    gateways: both.map(({ gateway }) => gateway),
    infrastructure,
    namespaceSelector: { matchLabels: { [namespaceNameLabel]: options.namespace }, matchExpressions: [] },
    isOfMooring: false,
    isProposed: true,
  }
}

// --- what machines say ---

interface Facts {
  readonly subnet: CIDR
  readonly gateway: IP
}

interface Saying {
  readonly subnet: CIDR | undefined
  readonly gateway: IP | undefined
  readonly isAdvertised: boolean
}

function familyOf(
  family: 4 | 6,
  cards: readonly CardOfMachine[],
  known: readonly KnownSubnet[] = [],
): Facts | NoProposal {
  const given = known.find(({ subnet }) => subnet.ip.family === family)
  const sayings = cards.map(({ machine, nic }) => ({ machine, saying: sayingOf(nic, family) }))
  const groups = groupsOf(sayings)
  const no = (reason: NoProposal['reason'], message: string): NoProposal => ({ reason, message, groups })
  const hasAll = cards.every(({ nic }) => ipsOf(nic).some(ip => ip.family === family))
  if (family === 6 && given === undefined && !hasAll) return no('SubnetUnknown', 'not every machine has IPv6')
  const subnets = given
    ? [given.subnet]
    : different(
        sayings.flatMap(({ saying }) => saying.subnet ?? []),
        toCIDRText,
      )
  const [subnet, other] = subnets
  if (subnet === undefined) return no('SubnetUnknown', 'no machine says what its subnet is')
  if (other !== undefined) return no('MachinesDisagree', 'machines are in different subnets')
  const said = different(
    sayings.flatMap(({ saying }) => saying.gateway ?? []),
    toIPText,
  )
  const [gateway, second] = given?.gateway ? [given.gateway] : said
  if (second !== undefined) return no('MachinesDisagree', 'machines have different gateways')
  if (gateway === undefined) {
    const own = family === 6 ? freeIn(subnet, cards) : undefined
    return own === undefined ? no('GatewayUnknown', 'no machine says what its gateway is') : { subnet, gateway: own }
  }
  if (!containsIP(subnet, gateway)) {
    const message = `the gateway ${toIPText(gateway)} is outside of the subnet ${toCIDRText(subnet)}`
    return no('GatewayOutsideSubnet', message)
  }
  return { subnet, gateway }
}

/** Of several addresses of a card, the one that its gateway is beside counts. */
function sayingOf(nic: SourceNIC, family: 4 | 6): Saying {
  const gateways = nic.gateways.flatMap(({ address, origin }) => {
    const ip = parseIP(address)
    return isMalformed(ip) || ip.family !== family ? [] : [{ ip, origin }]
  })
  const gateway = gateways.find(({ origin }) => origin === 'fixed')?.ip
  const subnets = nic.ips.flatMap(({ address, prefix }) => {
    const ip = parseIP(address)
    return isMalformed(ip) || ip.family !== family || prefix === undefined ? [] : [toNetwork(toCIDR(ip, prefix))]
  })
  const beside = gateway && subnets.find(subnet => containsIP(subnet, gateway))
  return { subnet: beside ?? subnets[0], gateway, isAdvertised: gateways.length > 0 && gateway === undefined }
}

function groupsOf(sayings: readonly { readonly machine: string; readonly saying: Saying }[]): Group[] {
  const bySaying = new Map<string, Set<string>>()
  for (const { machine, saying } of sayings) {
    const says = wordsOf(saying)
    bySaying.set(says, (bySaying.get(says) ?? new Set()).add(machine))
  }
  return [...bySaying]
    .map(([says, machines]) => ({ says, machines: [...machines].toSorted() }))
    .toSorted((one, other) => (one.says < other.says ? -1 : 1))
}

function wordsOf({ subnet, gateway, isAdvertised }: Saying): string {
  const where = subnet === undefined ? 'a subnet that is not known' : toCIDRText(subnet)
  if (gateway !== undefined) return `${where} via ${toIPText(gateway)}`
  return isAdvertised ? `${where} via a router that makes itself known` : `${where} without a gateway`
}

function different<T>(values: readonly T[], toText: (value: T) => string): T[] {
  return [...new Map(values.map(value => [toText(value), value])).values()]
}

// --- what the network keeps for itself ---

/** The largest block that is tried, as how many bits fewer than a whole address: eight addresses. */
const blockBits = 3

/**
 * Subnets in which the gateway is, another address is free for the management ports, and none is of a machine. The largest one
 * around the gateway that covers no machine; where each does, the gateway alone and a free address alone.
 */
export function infrastructureFor(subnet: CIDR, gateway: IP, taken: readonly IP[]): CIDR[] | undefined {
  const wholeBits = gateway.family === 4 ? 32 : 128
  const isTaken = (ip: IP) => taken.some(other => isSameIP(ip, other))
  if (isTaken(gateway)) return undefined
  for (let bits = wholeBits - blockBits; bits < wholeBits; bits++) {
    if (bits <= subnet.bits) continue
    const block = toNetwork(toCIDR(gateway, bits))
    const hasMachine = taken.some(ip => containsIP(block, ip))
    if (!hasMachine && hostsOf(block, subnet).some(ip => !isSameIP(ip, gateway))) return [block]
  }
  const free = lastFree(subnet, ip => isTaken(ip) || isSameIP(ip, gateway))
  return free === undefined ? undefined : [gateway, free].map(ip => toCIDR(ip, wholeBits))
}

/** At most eight. */
function hostsOf(block: CIDR, subnet: CIDR): IP[] {
  const { first, last, family } = rangeOfCIDR(block)
  const hosts: IP[] = []
  for (let value = first; value <= last; value++) hosts.push(fromValue(family, value))
  return hosts.filter(ip => isHost(subnet, ip))
}

const isHost = (subnet: CIDR, ip: IP): boolean =>
  !isSameIP(ip, firstIP(subnet)) && !(ip.family === 4 && isSameIP(ip, lastIP(subnet)))

/** From the end: machines are numbered from the beginning more often. Looks at one address more than are taken. */
function lastFree(subnet: CIDR, isTaken: (ip: IP) => boolean): IP | undefined {
  if (!hasRoomForInfrastructure(subnet)) return undefined
  const { first, last, family } = rangeOfCIDR(subnet)
  for (let value = last; value > first; value--) {
    const ip = fromValue(family, value)
    if (isHost(subnet, ip) && !isTaken(ip)) return ip
  }
  return undefined
}

/** A gateway for IPv6 where routers made themselves known: no machine has it configured. */
function freeIn(subnet: CIDR, cards: readonly CardOfMachine[]): IP | undefined {
  const taken = cards.flatMap(({ nic }) => ipsOf(nic))
  const { first, last, family } = rangeOfCIDR(subnet)
  for (let value = first + 1n; value <= last; value++) {
    const ip = fromValue(family, value)
    if (!taken.some(other => toValue(other) === value && other.family === family)) return ip
  }
  return undefined
}

function noRoom(subnet: CIDR, cards: readonly CardOfMachine[]): NoProposal {
  const groups = groupsOf(cards.map(({ machine, nic }) => ({ machine, saying: sayingOf(nic, subnet.ip.family) })))
  const message = `${toCIDRText(subnet)} has no address left for the gateway and the management ports of the network`
  return { reason: 'NoRoom', message, groups }
}

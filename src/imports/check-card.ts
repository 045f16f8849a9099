// Checks of one card: its MAC, its addresses and its gateway, against the network it is to be connected to.

import { macOfIP } from '../controllers/vm/pods/annotation.ts'
import { type IP, isSameIP, parseIP, toIPText } from '../ip/address.ts'
import { type CIDR, containsIP, firstIP, lastIP, toCIDRText } from '../ip/cidr.ts'
import { type MACText, parseMAC } from '../ip/mac.ts'
import { isMalformed } from '../ip/malformed.ts'
import type { SourceAddress, SourceNIC } from '../sources/machine.ts'
import type { PlannedCard, PlannedMachine } from './cards.ts'
import type { Finding, FindingId, Severity } from './finding.ts'
import type { Mapping } from './mapping.ts'
import { type ImportTarget, infrastructureIn, type TargetNetwork } from './target.ts'

type Say = (id: FindingId, severity: Severity, message: string, fix: string) => void

export function checkCards({ source, cards }: PlannedMachine, mapping: Mapping, target: ImportTarget): Finding[] {
  const findings: Finding[] = []
  for (const card of cards) {
    const say: Say = (id, severity, message, fix) =>
      findings.push({ id, severity, machine: source.name, nic: card.nic.key, message, fix })
    checkMAC(card, mapping, say)
    checkAddresses(card, mapping, say)
    if (card.network !== undefined) checkGateways(card, card.network, mapping, say)
    checkLosses(card, target, say)
  }
  const primary = cards.filter(card => card.target.to === 'primary')
  if (primary.length > 1) {
    const keys = primary.map(({ nic }) => nic.key).join(', ')
    const message = `the cards ${keys} are on the primary network, and a machine has one card there`
    const fix = 'Map all but one to a NetworkAttachmentDefinition, or to ignored: --map MAC=TARGET is for one card.'
    findings.push({ id: 'MultiplePodNetworks', severity: 'error', machine: source.name, nic: '', message, fix })
  }
  return findings
}

// --- MAC ---

function checkMAC({ nic, mac, ips, network, target }: PlannedCard, mapping: Mapping, say: Say): void {
  if (nic.mac === undefined) {
    const isNeeded = target.to === 'primary' && !mapping.mayGetNewMACs
    const fix = isNeeded ? 'Find it out and mend the source, or let the card have a new one: --new-macs.' : ''
    const what = isNeeded ? 'the source has no MAC for the card, so it cannot be kept' : 'the card gets a new MAC'
    return say('MacMissing', isNeeded ? 'error' : 'warn', what, fix)
  }
  if (mac === undefined) {
    const why = parseMAC(nic.mac)
    const message = isMalformed(why) ? why.malformed : ''
    return say('MacMalformed', 'error', message, 'Mend it in the source.')
  }
  if (mac === '00:00:00:00:00:00') return say('MacZero', 'error', 'the MAC is all zeros', 'Mend it in the source.')
  if ((firstByteOf(mac) & 1) === 1) {
    return say('MacMulticast', 'error', `the MAC ${mac} is a multicast address, which no card has`, macFix)
  }
  if (mac.startsWith('0a:58:')) checkReserved(mac, ips, network, say)
}

const macFix = 'Give the card another MAC in the source, or map it to ignored.'

const firstByteOf = (mac: MACText): number => Number.parseInt(mac.slice(0, 2), 16)

/** OVN-Kubernetes makes a MAC of that form of each address that it gives out. */
function checkReserved(mac: MACText, ips: readonly IP[], network: TargetNetwork | undefined, say: Say): void {
  const own = (network === undefined ? [] : infrastructureIn(network)).flatMap(({ gateway, management }) => [
    [gateway, 'gateway'] as const,
    [management, 'management address'] as const,
  ])
  for (const [ip, what] of own) {
    if (macOfIP(ip) !== mac) continue
    return say('MacReservedPrefix', 'error', `the MAC ${mac} is that of the ${what} ${toIPText(ip)}`, macFix)
  }
  const of = ipOf(mac)
  const isInside = network?.subnets.some(subnet => containsIP(subnet, of)) ?? false
  if (isInside && !ips.some(ip => isSameIP(ip, of))) {
    const message = `the MAC ${mac} is what the network makes of ${toIPText(of)}, which is not the address of this card`
    return say('MacReservedPrefix', 'error', message, macFix)
  }
  const message = `the MAC ${mac} begins as those that OVN-Kubernetes makes: a pod may come to have the same`
  say('MacReservedPrefix', 'warn', message, '')
}

function ipOf(mac: MACText): IP {
  const octets = mac
    .split(':')
    .slice(2)
    .map(byte => Number.parseInt(byte, 16))
  const ip = parseIP(octets.join('.'))
  if (isMalformed(ip)) throw new Error(ip.malformed)
  return ip
}

// --- addresses ---

function checkAddresses(card: PlannedCard, mapping: Mapping, say: Say): void {
  const { nic, mac, ips, left, network, subnets } = card
  if (subnets.length === 0) return
  const wanted = (mac && mapping.addresses.get(mac)) ?? []
  for (const text of wanted) {
    if (nic.ips.some(({ address }) => address === text) || nic.ips.length === 0) continue
    const message = `${text} was chosen for the card, and the source does not know it there`
    say('IpChoiceUnknown', 'warn', message, 'Check --address.')
  }
  if (ips.length === 0) {
    const fix = 'Start the machine with its agent and read the source again, or say it: --address MAC=IP.'
    return say('IpMissing', 'error', 'no address of the card is known, so none can be kept', fix)
  }
  for (const {
    ip: { family },
  } of subnets) {
    if (ips.some(ip => ip.family === family)) continue
    const isServed = network === undefined || network.isOfMooring
    const message = `the network has a subnet of IPv${family}, and the card has no address of it`
    if (isServed) say('IpFamilyCount', 'warn', `${message}: one is chosen for it`, '')
    else say('IpFamilyCount', 'error', message, `Choose a free one with --address MAC=IP,IP.`)
  }
  for (const ip of ips) {
    checkPlace(ip, subnets, network, say)
    const known = nic.ips.find(({ address }) => address === toIPText(ip))
    if (known !== undefined) checkKnown(known, subnets, ip, say)
  }
  for (const ip of left) {
    const isOther = !subnets.some(subnet => subnet.ip.family === ip.family)
    const why = isOther ? `the network has no subnet of IPv${ip.family}` : 'a card has one address of each family'
    const fix = isOther ? '' : 'Another one is chosen with --address MAC=IP.'
    say('IpSecondaryDropped', 'warn', `${toIPText(ip)} is not kept: ${why}`, fix)
  }
}

function checkPlace(ip: IP, subnets: readonly CIDR[], network: TargetNetwork | undefined, say: Say): void {
  const text = toIPText(ip)
  const subnet = subnets.find(one => containsIP(one, ip))
  const error = (id: FindingId, message: string, fix: string) => say(id, 'error', message, fix)
  if (subnet === undefined) {
    const all = subnets.map(toCIDRText).join(', ')
    return error('IpOutsideSubnet', `${text} is outside of ${all}`, 'Map the card to a network that has its subnet.')
  }
  const moved = 'Give the machine another address in the source.'
  if (isSameIP(ip, firstIP(subnet)) || (ip.family === 4 && isSameIP(ip, lastIP(subnet)))) {
    return error('IpIsNetworkOrBroadcast', `${text} is the first or last address of ${toCIDRText(subnet)}`, moved)
  }
  if (network === undefined) return
  const kept = infrastructureIn(network).find(({ gateway }) => gateway.family === ip.family)
  if (kept !== undefined && isSameIP(ip, kept.gateway)) {
    return error('IpIsGateway', `${text} is the gateway of the network ${network.name}`, moved)
  }
  const elsewhere = `${moved} Or make a network whose infrastructureSubnets leave it out.`
  if (kept !== undefined && isSameIP(ip, kept.management)) {
    return error('IpIsManagement', `${text} is the management address of the network ${network.name}`, elsewhere)
  }
  const block = network.infrastructure.find(one => containsIP(one, ip))
  if (block !== undefined) {
    error('IpInInfrastructure', `${text} is in ${toCIDRText(block)}, which ${network.name} keeps for itself`, elsewhere)
  }
}

function checkKnown({ prefix, origin }: SourceAddress, subnets: readonly CIDR[], ip: IP, say: Say): void {
  const text = toIPText(ip)
  if (origin === 'dhcp') say('IpDhcpOrigin', 'info', `${text} came by DHCP, and is asked for from now on`, '')
  const subnet = subnets.find(one => containsIP(one, ip))
  if (subnet === undefined || prefix === undefined || prefix === subnet.bits) return
  const message = `the guest has ${text}/${prefix}, and the subnet is ${toCIDRText(subnet)}`
  say('PrefixMismatch', 'warn', message, 'A guest that is configured by hand needs the other length.')
}

// --- gateway ---

function checkGateways({ nic, ips }: PlannedCard, network: TargetNetwork, mapping: Mapping, say: Say): void {
  const said = nic.gateways.filter(({ origin }) => origin === 'fixed').flatMap(({ address }) => readable(address))
  const gateways = said.length > 0 ? said : knownGateways(nic, mapping)
  const own = infrastructureIn(network).map(({ gateway }) => gateway)
  for (const gateway of gateways) {
    if (isOutside(gateway, nic)) {
      const message = `the gateway ${toIPText(gateway)} of the machine is outside of its subnet`
      say(
        'GatewayOutsideSubnet',
        'error',
        message,
        'A primary network cannot have it: map the card to another network.',
      )
      continue
    }
    const its = own.find(({ family }) => family === gateway.family)
    if (its === undefined || isSameIP(its, gateway)) continue
    const message = `the gateway of the machine is ${toIPText(gateway)}, and that of ${network.name} ${toIPText(its)}`
    say(
      'GatewayMismatch',
      'error',
      message,
      'Map the card to a network with its gateway, or make one: it cannot change.',
    )
  }
  const isFour = ips.some(({ family }) => family === 4)
  if (isFour && !gateways.some(({ family }) => family === 4)) {
    const its = own.find(({ family }) => family === 4)
    const message = `the source does not know the gateway of the card; the network has ${its ? toIPText(its) : 'none'}`
    say('GatewayUnknown', 'warn', message, 'Compare it with the guest.')
  }
}

/** What the administrator knows, where the source does not. */
const knownGateways = ({ network, networkId }: SourceNIC, { subnets }: Mapping): IP[] =>
  [network, networkId]
    .flatMap(key => (key === undefined ? [] : (subnets.get(key) ?? [])))
    .flatMap(({ gateway }) => (gateway === undefined ? [] : [gateway]))

/** Of the addresses of its own family, by the lengths that the guest has. */
function isOutside(gateway: IP, nic: SourceNIC): boolean {
  const subnets = nic.ips.flatMap(({ address, prefix }) =>
    prefix === undefined ? [] : readable(address).map(ip => ({ ip, bits: prefix })),
  )
  const own = subnets.filter(({ ip }) => ip.family === gateway.family)
  return own.length > 0 && !own.some(subnet => containsIP(subnet, gateway))
}

// --- what is lost ---

function checkLosses({ nic, target: { to } }: PlannedCard, target: ImportTarget, say: Say): void {
  if (nic.routes.length > 0) {
    const routes = nic.routes.map(({ destination, gateway }) =>
      gateway ? `${destination} via ${gateway}` : destination,
    )
    const message = `the network does not tell the guest of its routes: ${routes.toSorted().join(', ')}`
    say('ExtraRoutesLost', 'warn', message, 'Configure them in the guest.')
  }
  const isByDHCP = nic.ips.some(({ origin }) => origin === 'dhcp')
  const lost = nic.dns.filter(server => target.dns === undefined || !target.dns.includes(server))
  if (to === 'primary' && isByDHCP && lost.length > 0) {
    const message = `DHCP tells the guest the DNS of the cluster in place of ${lost.join(', ')}`
    say('DnsLost', 'warn', message, 'Configure them in the guest, or in dnsConfig of the VirtualMachine.')
  }
}

function readable(text: string): IP[] {
  const ip = parseIP(text)
  return isMalformed(ip) ? [] : [ip]
}

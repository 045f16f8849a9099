// What becomes of each machine and each of its cards, before it is judged: its name, what each card is connected to, and which
// of its addresses are asked for. Checks and manifests both go by this, so they cannot differ.

import { networkNameOfClusterUDN } from '../api/cluster-user-defined-network.ts'
import { type IP, isSameIP, parseIP } from '../ip/address.ts'
import { type CIDR, containsIP } from '../ip/cidr.ts'
import { type MACText, parseMAC } from '../ip/mac.ts'
import { isMalformed } from '../ip/malformed.ts'
import type { SourceMachine, SourceNIC } from '../sources/machine.ts'
import type { CardTarget, Mapping } from './mapping.ts'
import type { ImportTarget, TargetNetwork } from './target.ts'

export interface PlannedMachine {
  readonly source: SourceMachine
  /** Of the VirtualMachine. */
  readonly name: string
  /** In the order of the source, without those that are left out. */
  readonly cards: readonly PlannedCard[]
  /** Cards that the mapping does not know. */
  readonly unmapped: readonly SourceNIC[]
}

export type KeptTarget = Exclude<CardTarget, { readonly to: 'ignored' }>

export interface PlannedCard {
  readonly nic: SourceNIC
  /** `net-0`: dense, whatever was left out. */
  readonly interface: string
  readonly target: KeptTarget
  /** Canonical; undefined where the source has none, or none that can be read. */
  readonly mac: MACText | undefined
  /** As an IPAMClaim says it; undefined where the network is not known. */
  readonly networkName: string | undefined
  /** Of the primary network; undefined where the card is not on it, or it is not known. */
  readonly network: TargetNetwork | undefined
  /** Those in which addresses are asked for. */
  readonly subnets: readonly CIDR[]
  /** Asked for: at most one of each family of the subnets. */
  readonly ips: readonly IP[]
  /** Of the card in the source, and not asked for. */
  readonly left: readonly IP[]
}

export function planMachines(
  machines: readonly SourceMachine[],
  mapping: Mapping,
  target: Pick<ImportTarget, 'networks' | 'attachments'>,
): PlannedMachine[] {
  return machines.filter(machine => !isSkipped(machine, mapping)).map(machine => planMachine(machine, mapping, target))
}

export const isSkipped = ({ id, name }: SourceMachine, { skipped }: Mapping): boolean =>
  skipped.has(name) || skipped.has(id)

function planMachine(
  source: SourceMachine,
  mapping: Mapping,
  target: Pick<ImportTarget, 'networks' | 'attachments'>,
): PlannedMachine {
  const cards: PlannedCard[] = []
  const unmapped: SourceNIC[] = []
  for (const nic of source.nics) {
    const to = cardTargetOf(nic, mapping)
    if (to === undefined) unmapped.push(nic)
    else if (to.to !== 'ignored') cards.push(planCard(nic, `net-${cards.length}`, to, mapping, target))
  }
  return { source, name: vmNameOf(source, mapping), cards, unmapped }
}

/** The MAC of one card is said with more care than the name of what many are connected to. */
export function cardTargetOf(nic: SourceNIC, { cards }: Mapping): CardTarget | undefined {
  const keys = [macOf(nic), nic.network, nic.networkId].filter(key => key !== undefined)
  for (const key of keys) {
    const found = cards.get(key)
    if (found !== undefined) return found
  }
  return undefined
}

function macOf({ mac }: SourceNIC): MACText | undefined {
  const parsed = mac === undefined ? undefined : parseMAC(mac)
  return isMalformed(parsed) ? undefined : parsed
}

function planCard(
  nic: SourceNIC,
  name: string,
  to: KeptTarget,
  { addresses }: Mapping,
  target: Pick<ImportTarget, 'networks' | 'attachments'>,
): PlannedCard {
  const mac = macOf(nic)
  const network = to.to === 'primary' ? target.networks.find(one => one.name === to.network) : undefined
  const attachment = to.to === 'attachment' ? target.attachments.get(`${to.namespace}/${to.name}`) : undefined
  const subnets = network?.subnets ?? attachment?.subnets ?? []
  const has = ipsOf(nic)
  const wanted = (mac && addresses.get(mac)?.flatMap(text => readable(text))) ?? []
  const ips = subnets.flatMap(subnet => chosenFor(subnet, has, wanted))
  const networkName = to.to === 'primary' ? networkNameOfClusterUDN(to.network) : attachment?.networkName
  const left = has.filter(ip => !ips.some(other => isSameIP(ip, other)))
  return { nic, interface: name, target: to, mac, networkName, network, subnets, ips, left }
}

/** The one that was chosen by the administrator, else the first one in the subnet, else the first one of its family. */
function chosenFor(subnet: CIDR, has: readonly IP[], wanted: readonly IP[]): IP[] {
  const isOfFamily = ({ family }: IP) => family === subnet.ip.family
  const own = has.filter(isOfFamily)
  const ip = wanted.find(isOfFamily) ?? own.find(one => containsIP(subnet, one)) ?? own[0]
  return ip === undefined ? [] : [ip]
}

export const ipsOf = ({ ips }: SourceNIC): IP[] => ips.flatMap(({ address }) => readable(address))

function readable(text: string): IP[] {
  const ip = parseIP(text)
  return isMalformed(ip) ? [] : [ip]
}

// --- names ---

const nameCharsMax = 63

function vmNameOf({ id, name }: SourceMachine, { names }: Mapping): string {
  return names.get(name) ?? names.get(id) ?? (folded(name) || folded(id) || 'vm')
}

const folded = (text: string): string =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, nameCharsMax)
    .replace(/-$/, '')

/** What tells a machine from all others of all sources: recorded on its VirtualMachine. */
export const sourceIdOf = ({ source, id }: SourceMachine): string => `${source.instance ?? source.kind}/${id}`

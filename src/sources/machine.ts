// One machine of another platform, with its cards and what is known of their addresses: what every reader in this folder
// answers with, and all that a plan may go by. It says only what the source said: what a source does not know is absent, and
// is never guessed, since a wrong prefix or gateway is found out only when the machine is cut off.

import { type IPText, isLinkLocal, isLoopback, isUnspecified, parseZonedIP, toIPText } from '../ip/address.ts'
import { type MACText, parseMAC } from '../ip/mac.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'

export type SourceKind = 'vsphere' | 'rvtools' | 'govc' | 'vmx' | 'ovf' | 'openstack' | 'hyperv' | 'proxmox'

/** Where a machine was read from. */
export interface SourceOrigin {
  readonly kind: SourceKind
  /** The name of the file, or the host that was asked. */
  readonly from: string
  /** Which vCenter, where the source says so: the same `id` may be there in two of them. */
  readonly instance?: string
  /** When the source said it (RFC 3339): the moment it was asked, or the time of the file. */
  readonly asOf?: string
}

/**
 * What the addresses rest on: an agent inside the guest (VMware Tools, Hyper-V integration services), the platform which
 * gave them out (Neutron), what an administrator configured (cloud-init of Proxmox), or nothing.
 */
export type AddressProvenance = 'guest-agent' | 'platform' | 'configuration' | 'none'

export interface SourceMachine {
  readonly source: SourceOrigin
  /** What the source tells its machines apart by: `vm-123`, a uuid, or the name where there is nothing better. */
  readonly id: string
  readonly name: string
  readonly powerState: 'on' | 'off' | 'suspended' | 'unknown'
  /** The operating system in the words of the source: `rhel8_64Guest`, `Ubuntu Linux (64-bit)`. */
  readonly guestId?: string
  /** The host name that the guest tells. */
  readonly hostName?: string
  /** In the order of the source. */
  readonly nics: readonly SourceNIC[]
  readonly addressesFrom: AddressProvenance
  /** Absent where the source does not say. If it is false, addresses may be out of date. */
  readonly isAgentRunning?: boolean
  /** What a person should know before going by it. No reason to refuse the machine. */
  readonly notes: readonly SourceNote[]
}

export interface SourceNIC {
  /** What the source tells the cards of one machine apart by: `4000`, `ethernet0`, `net0`. */
  readonly key: string
  readonly label?: string
  /** Absent where the source has none; never an empty text. */
  readonly mac?: MACText
  /** What the source calls that which the card is connected to: a port group, a switch, a bridge. */
  readonly network?: string
  /** How the source identifies it, where that is not its name: `dvportgroup-12`, a uuid. */
  readonly networkId?: string
  readonly vlan?: number
  readonly startConnected: boolean
  /** `vmxnet3`, `e1000`, `virtio`, in lower case. */
  readonly model?: string
  /** In the order of the source, without link-local ones. */
  readonly ips: readonly SourceAddress[]
  readonly gateways: readonly SourceGateway[]
  /** Other than the default ones. */
  readonly routes: readonly SourceRoute[]
  readonly dns: readonly IPText[]
  readonly searchDomains: readonly string[]
}

export type AddressOrigin = 'manual' | 'dhcp' | 'linklayer' | 'random' | 'other'

export interface SourceAddress {
  readonly address: IPText
  readonly prefix?: number
  readonly origin?: AddressOrigin
}

export interface SourceGateway {
  readonly address: IPText
  /** A link-local router of IPv6 made itself known, and will again in another place: it is no fixed gateway. */
  readonly origin: 'fixed' | 'router-advertised'
}

export interface SourceRoute {
  /** A network with its prefix: `10.9.0.0/16`. */
  readonly destination: string
  /** Absent of one that is on the link. */
  readonly gateway?: IPText
}

export type SourceNoteReason =
  | 'MACMismatch'
  | 'MACMissing'
  | 'GatewayOutsideSubnet'
  | 'NetworkUnresolved'
  | 'SRIOV'
  | 'AllowedAddressPairs'

export interface SourceNote {
  readonly reason: SourceNoteReason
  /** The key of the card it is about. */
  readonly nic?: string
  /** One sentence. */
  readonly message: string
}

/** What is wrong in a source: a file with such is not to be gone by until it is mended. */
export interface SourceFault {
  /** `vms.csv, line 3, column "Mac Address"`, `vm.json, virtualMachines[0].name`. */
  readonly where: string
  /** What is wrong there and what to write instead, in one sentence. */
  readonly problem: string
}

/** A machine that is not to be imported, such as a template. */
export interface LeftOut {
  readonly name: string
  readonly reason: 'Template' | 'SRMPlaceholder' | 'NoHardware'
}

/** What a reader answers. `machines` are all there are only if `faults` is empty. */
export interface SourceReading {
  readonly machines: readonly SourceMachine[]
  readonly leftOut: readonly LeftOut[]
  readonly faults: readonly SourceFault[]
}

/** A file as a reader gets it: nothing here opens one. */
export interface SourceFile {
  readonly name: string
  readonly text: string
  /** RFC 3339. */
  readonly writtenAt?: string
}

/** Undefined of an empty text: a card without a MAC is not a card with the MAC "". */
export function readMAC(text: string | undefined): MACText | undefined | Malformed {
  const trimmed = text?.trim() ?? ''
  return trimmed === '' ? undefined : parseMAC(trimmed)
}

/**
 * Undefined of an address which is of no use in another place: link-local, loopback, unspecified. A zone is dropped with it or
 * without it, as it names an interface of the guest.
 */
export function readIP(text: string): IPText | undefined | Malformed {
  const zoned = parseZonedIP(text.trim())
  if (isMalformed(zoned)) return zoned
  const { ip } = zoned
  return isLinkLocal(ip) || isLoopback(ip) || isUnspecified(ip) ? undefined : toIPText(ip)
}

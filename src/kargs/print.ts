// The value of `guestinfo.afterburn.initrd.network-kargs`: the network configuration of a machine as arguments of its kernel, which
// Afterburn hands to NetworkManager at the first boot.
//
// A machine with one device gets what the vSphere machine controller of OpenShift writes, to the byte. It differs where that
// writes what cannot work: each address has the gateway of its own family, and where several devices have addresses, each item names
// its device, for NetworkManager puts all items without a name on one device, whichever comes first.

import { type IP, toIPText } from '../ip/address.ts'
import type { CIDR } from '../ip/cidr.ts'
import { type DeviceAddress, type NetworkDevice, type ReadDevice, readDevice, type Written } from './device.ts'
import { toNetmask } from './netmask.ts'

export const kargsKey = 'guestinfo.afterburn.initrd.network-kargs'

export interface Kargs {
  /** Empty where no device is told anything: all of it comes by DHCP. */
  readonly kargs: string
}

/** Nothing is printed while there is one. */
export interface KargsFaults {
  /** Each names its field, and says what to write. */
  readonly faults: readonly string[]
}

/**
 * @example
 * printKargs([{ field: 'devices[0]', ipAddrs: ['192.0.2.5/24'], gateway: '192.0.2.1', nameservers: ['192.0.2.2'] }])
 * // { kargs: 'ip=192.0.2.5::192.0.2.1:255.255.255.0:::none nameserver=192.0.2.2' }
 */
export function printKargs(devices: readonly NetworkDevice[]): Kargs | KargsFaults {
  const faults: string[] = []
  const read = devices.map(device => readDevice(device, faults))
  const fixed = read.filter(({ addresses }) => addresses.length > 0)
  if (fixed.length > 1) faults.push(...fixed.flatMap(device => faultsOfNIC(device, fixed)))
  if (faults.length > 0) return { faults }
  return { kargs: read.flatMap(device => itemsOf(device, devices.length > 1)).join(' ') }
}

export const hasFaults = (result: Kargs | KargsFaults): result is KargsFaults => 'faults' in result

function faultsOfNIC({ field, nic }: ReadDevice, all: readonly ReadDevice[]): string[] {
  if (nic === undefined) {
    return [`${field}: several devices have addresses, so each needs its MAC or the name of its interface`]
  }
  const first = all.find(other => other.nic === nic)
  return first?.field === field ? [] : [`${field}.nic: ${nic} is that of ${first?.field} too`]
}

function itemsOf({ nic, addresses, nameservers }: ReadDevice, namesNIC: boolean): string[] {
  return [
    ...addresses.map(address => ipItem(address, namesNIC ? (nic ?? '') : '')),
    ...nameservers.map(server => `nameserver=${bracketed(server)}`),
  ]
}

function ipItem({ cidr, gateway }: DeviceAddress, nic: string): string {
  const client = bracketed({ ip: cidr.ip, text: toIPText(cidr.ip) })
  return `ip=${client}::${gateway === undefined ? '' : bracketed(gateway)}:${maskOf(cidr)}::${nic}:none`
}

const maskOf = ({ ip, bits }: CIDR): string => (ip.family === 4 ? toNetmask(bits) : `${bits}`)

/** As it was written: so does the machine controller of OpenShift. */
const bracketed = ({ ip, text }: { readonly ip: IP; readonly text: Written['text'] }): string =>
  ip.family === 6 ? `[${text}]` : text

// What one network device of a machine is told, as people and IPAddresses write it. Every text is judged here, so that nothing
// which is no address ever reaches the command line of a kernel: there it would be dropped without a word, or be a word of its own.

import { type Family, type IP, isMapped, isMulticast, isUnspecified, parseIP } from '../ip/address.ts'
import { type CIDR, parseCIDR, toCIDR } from '../ip/cidr.ts'
import { parseMAC } from '../ip/mac.ts'
import { isMalformed, type Malformed, malformed } from '../ip/malformed.ts'

/** An address that a claim was given. */
export interface PoolAddress {
  /** How messages name the object: `IPAddress openshift-machine-api/c1-worker-0-claim-0-0`. */
  readonly field: string
  readonly address: string
  readonly prefix: number | undefined
  /** Empty or undefined where it has none. */
  readonly gateway?: string | undefined
}

export interface NetworkDevice {
  /** How messages name the device: `spec.providerSpec.value.network.devices[0]`. */
  readonly field: string
  /** MAC or name of the interface; needed where several devices have addresses. */
  readonly nic?: string | undefined
  /** Written out, with prefix length; they come before those of pools. */
  readonly ipAddrs?: readonly string[]
  readonly poolAddresses?: readonly PoolAddress[]
  /** Of the addresses whose family it has, where no IPAddress names one. */
  readonly gateway?: string | undefined
  readonly nameservers?: readonly string[]
}

/** An address or gateway: what it is, and how it was written. */
export interface Written {
  readonly ip: IP
  readonly text: string
}

export interface DeviceAddress {
  readonly cidr: CIDR
  readonly gateway: Written | undefined
}

export interface ReadDevice {
  readonly field: string
  /** `00-50-56-aa-bb-cc`, or the name of an interface. */
  readonly nic: string | undefined
  readonly addresses: readonly DeviceAddress[]
  readonly nameservers: readonly Written[]
}

/** What is wrong goes to `faults`, each with its field. */
export function readDevice(device: NetworkDevice, faults: string[]): ReadDevice {
  const { field, ipAddrs = [], poolAddresses = [], nameservers = [] } = device
  const judged = <T>(where: string, value: T | Malformed): T[] => {
    if (!isMalformed(value)) return [value]
    faults.push(`${where}: ${value.malformed}`)
    return []
  }
  const written = (where: string, text: string | undefined): Written[] =>
    text === undefined || text === '' ? [] : judged(where, readHostIP(text)).map(ip => ({ ip, text }))

  const literals = ipAddrs.flatMap((text, i) => judged(`${field}.ipAddrs[${i}]`, parseCIDR(text)))
  const pooled = poolAddresses.flatMap(one =>
    judged(one.field, readPoolCIDR(one)).map(cidr => ({
      cidr,
      gateways: written(`${one.field}: spec.gateway`, one.gateway),
    })),
  )
  // A gateway of an IPAddress comes before that of the device, for what is written out beside it too: they are on one wire.
  const ofPools = pooled.flatMap(({ gateways }) => gateways).toReversed()
  const gateways = [...ofPools, ...written(`${field}.gateway`, device.gateway)]
  const gatewayFor = (family: Family, own: readonly Written[] = []) =>
    [...own, ...gateways].find(({ ip }) => ip.family === family)
  return {
    field,
    nic: device.nic === undefined ? undefined : judged(`${field}.nic`, readNIC(device.nic))[0],
    addresses: [
      ...literals.map(cidr => ({ cidr, gateway: gatewayFor(cidr.ip.family) })),
      ...pooled.map(({ cidr, gateways: own }) => ({ cidr, gateway: gatewayFor(cidr.ip.family, own) })),
    ],
    nameservers: nameservers.flatMap((text, i) =>
      judged(`${field}.nameservers[${i}]`, readHostIP(text)).map(ip => ({ ip, text })),
    ),
  }
}

/** An address of some other host: gateway or nameserver. */
function readHostIP(text: string): IP | Malformed {
  const ip = parseIP(text)
  if (isMalformed(ip)) return ip
  if (isUnspecified(ip) || isMulticast(ip)) return malformed(text, 'is the address of no host')
  if (isMapped(ip)) return malformed(text, `is IPv4 written as IPv6: write the IPv4 address alone`)
  return ip
}

function readPoolCIDR({ address, prefix }: PoolAddress): CIDR | Malformed {
  const ip = parseIP(address)
  if (isMalformed(ip)) return { malformed: `spec.address: ${ip.malformed}` }
  const most = ip.family === 4 ? 32 : 128
  if (prefix !== undefined && Number.isInteger(prefix) && prefix >= 0 && prefix <= most) return toCIDR(ip, prefix)
  const what = prefix === undefined ? 'has no prefix length' : `has the prefix length ${prefix}`
  return { malformed: `spec.prefix: ${address} ${what}: write a whole number of 0 to ${most}` }
}

/** A kernel keeps fifteen characters of the name of an interface. */
const interfaceName = /^[A-Za-z][A-Za-z0-9_.-]{0,14}$/

/** NetworkManager takes a MAC with dashes: a colon would end the field. */
function readNIC(text: string): string | Malformed {
  const mac = parseMAC(text)
  if (!isMalformed(mac)) return mac.replaceAll(':', '-')
  if (interfaceName.test(text)) return text
  return malformed(text, 'names no network device: write its MAC, or the name of its interface, such as ens192')
}

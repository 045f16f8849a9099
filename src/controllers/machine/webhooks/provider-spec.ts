// What is wrong with the network and the tags of a vSphere provider spec, all at once, in the words and paths that users of the machine API know. The
// API server checks nothing of it: without this, a misspelt field is dropped in silence, and the machine boots without its gateway.

import { type Fault, forbidden, invalid, required, tooMany } from '../../../admission/fault.ts'
import { type Fields, fieldOf } from '../../../admission/spec.ts'
import { isRecord } from '../../../api/shape.ts'
import { type NetworkDevice, parseVSphereProviderSpec } from '../../../api/vsphere-provider-spec.ts'
import {
  bitsOf,
  isLinkLocal,
  isLoopback,
  isMulticast,
  isSameIP,
  isUnspecified,
  parseIP,
  toIPText,
} from '../../../ip/address.ts'
import { type CIDR, containsIP, firstIP, lastIP, parseCIDR } from '../../../ip/cidr.ts'
import { isMalformed, quoteText } from '../../../ip/malformed.ts'
import { wishFaults } from '../claims/wanted.ts'
import { tagFaults } from '../vm/tag-faults.ts'

export interface Judged {
  readonly faults: readonly Fault[]
  readonly warnings: readonly string[]
}

/** `control plane`: the failure domain brings the networks, and an address of one machine has no place in the template of many. */
export type JudgedFor = 'machine' | 'set' | 'control plane'

const devicesMax = 10
/** What a resolver looks at. */
const nameserversMax = 3

export function judgeProviderSpec(value: Fields, path: string, judgedFor: JudgedFor): Judged {
  const network = fieldOf(value, 'network')
  const devices = isRecord(network) ? fieldOf(network, 'devices') : undefined
  const at = `${path}.network.devices`
  const faults: Fault[] = []
  const warnings: string[] = [
    ...unknownIn(value, specFields),
    ...(isRecord(network) ? unknownIn(network, ['devices']) : []),
  ]
  const list = Array.isArray(devices) ? devices : []
  if (devices !== undefined && !Array.isArray(devices))
    return { faults: [invalid(at, devices, 'must be a list')], warnings }
  if (list.length === 0 && judgedFor !== 'control plane') {
    faults.push(required(at, 'at least 1 network device must be provided'))
  }
  if (list.length > devicesMax) return { faults: [tooMany(at, list.length, devicesMax)], warnings }
  for (const [i, device] of list.entries()) {
    const judged = isRecord(device)
      ? judgeFields(device, `${at}[${i}]`)
      : { faults: [invalid(`${at}[${i}]`, device, 'must be an object')], warnings: [] }
    faults.push(...judged.faults)
    warnings.push(...judged.warnings)
  }
  const spec = parseVSphereProviderSpec(value, path)
  if (spec === undefined) return { faults, warnings }
  // A field of a wrong type makes the rest meaningless. Those of devices were named above.
  if (isMalformed(spec)) return { faults: faults.length > 0 ? faults : [forbidden(path, spec.malformed)], warnings }
  for (const [i, device] of spec.devices.entries()) {
    const judged = judgeDevice(device, `${at}[${i}]`, judgedFor)
    faults.push(...judged.faults)
    warnings.push(...judged.warnings)
  }
  faults.push(...tagFaults(spec, path))
  faults.push(...wishFaults(spec, path).map(({ field, value, detail }) => invalid(field, value, detail)))
  return { faults: [...faults, ...repeatedFaults(spec.devices, at)], warnings }
}

// --- fields ---

const specFields = [
  ...['apiVersion', 'kind', 'metadata', 'userDataSecret', 'credentialsSecret', 'template', 'workspace', 'network'],
  ...['numCPUs', 'numCoresPerSocket', 'memoryMiB', 'diskGiB', 'tagIDs', 'snapshot', 'cloneMode', 'dataDisks'],
]
const deviceFields = ['networkName', 'gateway', 'ipAddrs', 'nameservers', 'addressesFromPools']
const poolFields = ['group', 'resource', 'name']

/** Names of Cluster API, and of an older draft, for the same fields. The API server would drop them, and the guest would miss them at boot. */
const meant: Readonly<Record<string, string>> = {
  gateway4: 'gateway',
  gateway6: 'gateway',
  gateways: 'gateway',
  addressesfrompool: 'addressesFromPools',
  addressfrompools: 'addressesFromPools',
  addressfrompool: 'addressesFromPools',
  addresses: 'ipAddrs',
  ipaddr: 'ipAddrs',
  ipaddress: 'ipAddrs',
  ipaddresses: 'ipAddrs',
  nameserver: 'nameservers',
  dns: 'nameservers',
  network: 'networkName',
  apigroup: 'group',
  kind: 'resource',
}

const unknownIn = (fields: Fields, known: readonly string[]): string[] =>
  Object.keys(fields).flatMap(key => (known.includes(key) ? [] : [`Unknown field (${shortened(key)}) will be ignored`]))

const shortened = (key: string): string => (key.length > 80 ? `${key.slice(0, 80)}...` : key)

function meantBy(key: string, known: readonly string[]): string | undefined {
  const lower = key.toLowerCase()
  const alike =
    known.find(one => one.toLowerCase() === lower) ?? (Object.hasOwn(meant, lower) ? meant[lower] : undefined)
  return alike !== undefined && known.includes(alike) ? alike : undefined
}

function judgeNames(fields: Fields, at: string, known: readonly string[]): Judged {
  const unknown = Object.keys(fields).filter(key => !known.includes(key))
  const faults = unknown.flatMap(key => {
    const instead = meantBy(key, known)
    return instead === undefined
      ? []
      : [invalid(`${at}.${key}`, fields[key], `there is no such field: write ${instead}`)]
  })
  const others = unknown.filter(key => meantBy(key, known) === undefined)
  return { faults, warnings: others.map(key => `Unknown field (${shortened(key)}) will be ignored`) }
}

function judgeFields(device: Fields, at: string): Judged {
  const { faults, warnings } = judgeNames(device, at, deviceFields)
  const types = [
    ...['networkName', 'gateway'].flatMap(key => textFault(device, at, key)),
    ...['ipAddrs', 'nameservers'].flatMap(key => textsFault(device, at, key)),
  ]
  const pools = fieldOf(device, 'addressesFromPools')
  if (pools === undefined) return { faults: [...faults, ...types], warnings }
  const field = `${at}.addressesFromPools`
  if (!Array.isArray(pools)) {
    return { faults: [...faults, ...types, invalid(field, pools, 'must be a list of pools')], warnings }
  }
  const entries = pools.map((entry: unknown, i): Judged => {
    if (!isRecord(entry))
      return { faults: [invalid(`${field}[${i}]`, entry, 'must have group, resource and name')], warnings: [] }
    const judged = judgeNames(entry, `${field}[${i}]`, poolFields)
    return {
      ...judged,
      faults: [...judged.faults, ...poolFields.flatMap(key => textFault(entry, `${field}[${i}]`, key))],
    }
  })
  return {
    faults: [...faults, ...types, ...entries.flatMap(entry => entry.faults)],
    warnings: [...warnings, ...entries.flatMap(entry => entry.warnings)],
  }
}

function textFault(fields: Fields, at: string, key: string): Fault[] {
  const value = fieldOf(fields, key)
  return value === undefined || typeof value === 'string' ? [] : [invalid(`${at}.${key}`, value, 'must be a text')]
}

function textsFault(fields: Fields, at: string, key: string): Fault[] {
  const value = fieldOf(fields, key)
  if (value === undefined || (Array.isArray(value) && value.every(one => typeof one === 'string'))) return []
  return [invalid(`${at}.${key}`, value, 'must be a list of texts')]
}

// --- what the fields say ---

function judgeDevice(device: NetworkDevice, at: string, judgedFor: JudgedFor): Judged {
  const { networkName, gateway, ipAddrs, nameservers, addressesFromPools } = device
  const faults: Fault[] = []
  const warnings: string[] = []
  if (networkName === '' && judgedFor !== 'control plane') {
    faults.push(required(`${at}.networkName`, 'networkName must be provided'))
  }
  const literals = ipAddrs.map((text, i) => judgeAddress(text, `${at}.ipAddrs[${i}]`))
  faults.push(...literals.flatMap(({ fault }) => fault ?? []))
  const cidrs = literals.flatMap(({ cidr }) => cidr ?? [])
  const isStatic = ipAddrs.length > 0 || addressesFromPools.length > 0
  faults.push(...gatewayFaults(gateway, cidrs, addressesFromPools.length > 0, at))
  faults.push(
    ...nameservers.flatMap((text, i) =>
      isMalformed(parseIP(text))
        ? [invalid(`${at}.nameservers[${i}]`, text, `${quoteText(text)} is not a valid IP`)]
        : [],
    ),
  )
  if (nameservers.length > nameserversMax) {
    warnings.push(`${at}.nameservers: resolvers look at the first ${nameserversMax} alone`)
  }
  if (isStatic && nameservers.length === 0) {
    warnings.push(`${at}.nameservers: without DHCP no name server is known: list one, or see that the pool does`)
  }
  if (gateway === '' && addressesFromPools.length === 0 && cidrs.some(({ ip }) => ip.family === 4)) {
    warnings.push(`${at}.gateway: without one the machine reaches its own subnet alone`)
  }
  if (ipAddrs.length > 0 && judgedFor !== 'machine') {
    const what = judgedFor === 'set' ? 'every Machine of the set gets these same addresses' : 'they are dropped'
    warnings.push(`${at}.ipAddrs: ${what}: use addressesFromPools`)
  }
  return { faults, warnings }
}

function judgeAddress(text: string, field: string): { readonly fault?: Fault; readonly cidr?: CIDR } {
  const cidr = parseCIDR(text)
  if (isMalformed(cidr)) {
    const advice = 'write the address with the length of its subnet, such as 192.168.1.100/24'
    return { fault: invalid(field, text, `invalid CIDR address: ${text}: ${advice}`) }
  }
  const why = whyNoHost(cidr)
  return why === undefined ? { cidr } : { fault: invalid(field, text, why) }
}

function whyNoHost({ ip, bits }: CIDR): string | undefined {
  if (isUnspecified(ip) || isLoopback(ip) || isMulticast(ip))
    return 'is no address that a machine can have on a network'
  if (isLinkLocal(ip)) return 'is link-local: machines choose these by themselves, and no router forwards them'
  // A subnet of one or two addresses has neither.
  if (bitsOf(ip.family) - bits < 2) return undefined
  if (isSameIP(ip, firstIP({ ip, bits }))) return `is the first address of its subnet, which no machine can have`
  if (ip.family === 4 && isSameIP(ip, lastIP({ ip, bits }))) return 'is the broadcast address of its subnet'
  return undefined
}

/** Which addresses come from pools is not known yet: then a gateway is judged by itself. */
function gatewayFaults(text: string, cidrs: readonly CIDR[], hasPools: boolean, at: string): Fault[] {
  if (text === '') return []
  const field = `${at}.gateway`
  const ip = parseIP(text)
  if (isMalformed(ip)) return [invalid(field, text, `${quoteText(text)} is not a valid IP`)]
  if (cidrs.some(cidr => isSameIP(cidr.ip, ip))) return [invalid(field, text, 'is an address of the machine itself')]
  if (hasPools || cidrs.length === 0) return []
  const same = cidrs.filter(cidr => cidr.ip.family === ip.family)
  if (same.length === 0) return [invalid(field, text, `is IPv${ip.family}, and no address of the device is`)]
  if (same.some(cidr => containsIP(cidr, ip))) return []
  return [invalid(field, text, 'is in no subnet of the addresses of the device: no packet would reach it')]
}

/** One address on two devices, or twice on one. */
function repeatedFaults(devices: readonly NetworkDevice[], at: string): Fault[] {
  const seen = new Map<string, string>()
  return devices.flatMap(({ ipAddrs }, device) =>
    ipAddrs.flatMap((text, i) => {
      const cidr = parseCIDR(text)
      if (isMalformed(cidr)) return []
      const [address, field] = [toIPText(cidr.ip), `${at}[${device}].ipAddrs[${i}]`]
      const before = seen.get(address)
      seen.set(address, before ?? field)
      return before === undefined ? [] : [invalid(field, text, `is the address of ${before} too`)]
    }),
  )
}

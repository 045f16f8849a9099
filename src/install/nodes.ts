// What each machine of an installation is told at its first boot, from the objects that describe it: the Machine, its claims, and the
// IPAddresses that they are bound to. What an administrator changed in those files counts, for they are what is read.

import { type IPAddress, parseIPAddress } from '../api/ip-address.ts'
import { type IPAddressClaim, parseIPAddressClaim } from '../api/ip-address-claim.ts'
import { claimNameOf, type Machine, parseMachine } from '../api/machine.ts'
import { machineClusterLabel, machineRoleLabel } from '../api/names.ts'
import { isRecord, ownText } from '../api/shape.ts'
import { type NetworkDevice, poolReferenceOfEntry } from '../api/vsphere-provider-spec.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import type { NetworkDevice as DeviceOfKargs, PoolAddress } from '../kargs/device.ts'
import { hasFaults, kargsKey, printKargs } from '../kargs/print.ts'
import { type Dropped, readKargs } from '../kargs/read.ts'
import { assignHosts } from './assign.ts'
import { deviceOfHost } from './check-addresses.ts'
import type { InstallConfig } from './config.ts'
import { machineNameOf } from './manifests.ts'

/** One row of the plan of an installation. */
export interface Node {
  readonly name: string
  /** `bootstrap`, `master` or `worker`. */
  readonly role: string
  /** Empty where only the manifests are known, which do not say it. */
  readonly failureDomain: string
  readonly networks: readonly string[]
  /** With prefix length, as the guest configures them. */
  readonly addresses: readonly string[]
  readonly gateways: readonly string[]
  readonly nameservers: readonly string[]
  readonly claims: readonly string[]
  readonly kargs: string
  /** Arguments of which the guest makes nothing. */
  readonly dropped: readonly Dropped[]
  /** What the virtual machine has in its extra configuration. */
  readonly guestinfo: Readonly<Record<string, string>>
}

export interface Nodes {
  readonly nodes: readonly Node[]
  readonly faults: readonly string[]
}

/**
 * Of objects in any order; others than machines, claims and addresses are passed over. With the install-config the plan has the
 * bootstrap machine too, and failure domains.
 */
export function nodesOf(objects: readonly unknown[], config?: InstallConfig): Nodes {
  const faults: string[] = []
  const read = <T>(kind: string, parse: (object: unknown) => T | Malformed): T[] =>
    objects.flatMap(object => {
      if (!isRecord(object) || object.kind !== kind) return []
      const parsed = parse(object)
      if (!isMalformed(parsed)) return [parsed]
      faults.push(`${kind} ${nameIn(object)}: ${parsed.malformed}`)
      return []
    })
  const known: Known = {
    claims: byName(read('IPAddressClaim', parseIPAddressClaim), faults),
    addresses: byName(read('IPAddress', parseIPAddress), faults),
    users: new Map(),
  }
  const machines = read('Machine', parseMachine)
  const infraID = ownText(machines[0]?.metadata.labels ?? {}, machineClusterLabel) ?? ''
  const zones = zonesOf(config, infraID)
  const nodes = machines.map(machine => nodeOf(machine, known, faults, config, zones))
  const bootstrap = config === undefined ? [] : [bootstrapOf(config, infraID, faults)]
  return { nodes: [...bootstrap, ...nodes], faults }
}

const nameIn = ({ metadata }: Readonly<Record<string, unknown>>): string =>
  isRecord(metadata) && typeof metadata.name === 'string' ? metadata.name : 'without a name'

interface Known {
  readonly claims: ReadonlyMap<string, IPAddressClaim>
  readonly addresses: ReadonlyMap<string, IPAddress>
  /** By address: the claim that came to it first. */
  readonly users: Map<string, string>
}

function byName<T extends { readonly metadata: { readonly name: string } }>(
  all: readonly T[],
  faults: string[],
): ReadonlyMap<string, T> {
  const named = new Map<string, T>()
  for (const one of all) {
    const { name } = one.metadata
    if (named.has(name)) faults.push(`${name} is described in two files`)
    named.set(name, one)
  }
  return named
}

const zonesOf = (config: InstallConfig | undefined, infraID: string): ReadonlyMap<string, string> => {
  if (config === undefined) return new Map()
  const { controlPlane, compute } = assignHosts(config)
  return new Map([...controlPlane, ...compute].map(one => [machineNameOf(one, infraID), one.zone]))
}

function nodeOf(
  { metadata, providerSpec }: Machine,
  known: Known,
  faults: string[],
  config: InstallConfig | undefined,
  zones: ReadonlyMap<string, string>,
): Node {
  const { name } = metadata
  if (isMalformed(providerSpec)) faults.push(`Machine ${name}: ${providerSpec.malformed}`)
  const devices = providerSpec === undefined || isMalformed(providerSpec) ? [] : providerSpec.devices
  const role = ownText(metadata.labels, machineRoleLabel) ?? ''
  const told = devices.map((device, i) => toldBy(device, name, i, known, faults))
  const kargs = kargsOf(
    told.map(({ device }) => device),
    faults,
  )
  const domain = config === undefined || role !== 'master' ? '' : `${config.clusterName}.${config.baseDomain}`
  return {
    name,
    role,
    failureDomain: zones.get(name) ?? '',
    networks: devices.map(({ networkName }) => networkName),
    ...configured(kargs),
    claims: told.flatMap(({ claims }) => claims),
    kargs,
    guestinfo: {
      'guestinfo.hostname': name,
      ...(domain !== '' && { 'guestinfo.domain': domain }),
      'stealclock.enable': 'TRUE',
      ...(kargs !== '' && { [kargsKey]: kargs }),
    },
  }
}

/** As the installer makes it: on the network of the first machine of the control plane, and without a claim. */
function bootstrapOf(config: InstallConfig, infraID: string, faults: string[]): Node {
  const { bootstrap, controlPlane } = assignHosts(config)
  const zone = controlPlane[0]?.zone ?? ''
  const device = bootstrap?.networkDevice
  const kargs = kargsOf(device === undefined ? [] : [deviceOfHost(device)], faults)
  return {
    name: `${infraID}-bootstrap`,
    role: 'bootstrap',
    failureDomain: zone,
    networks: config.failureDomains.find(({ name }) => name === zone)?.networks ?? [],
    ...configured(kargs),
    claims: [],
    kargs,
    guestinfo: kargs === '' ? {} : { [kargsKey]: kargs },
  }
}

function kargsOf(devices: readonly DeviceOfKargs[], faults: string[]): string {
  const printed = printKargs(devices)
  if (!hasFaults(printed)) return printed.kargs
  faults.push(...printed.faults)
  return ''
}

/** What the guest makes of it. */
function configured(kargs: string) {
  const { connections, dropped } = readKargs(kargs)
  const families = connections.flatMap(({ ipv4, ipv6 }) => [ipv4, ipv6])
  return {
    addresses: families.flatMap(({ addresses }) => addresses),
    gateways: families.flatMap(({ gateway }) => gateway ?? []),
    nameservers: [...new Set(families.flatMap(({ nameservers }) => nameservers))],
    dropped,
  }
}

// --- from a device to its addresses ---

function toldBy(device: NetworkDevice, machine: string, index: number, known: Known, faults: string[]) {
  const { ipAddrs, gateway, nameservers, addressesFromPools } = device
  const claims = addressesFromPools.map((_, i) => claimNameOf(machine, index, i))
  const poolAddresses = addressesFromPools.flatMap((entry, i) => {
    const name = claims[i] ?? ''
    const found = boundTo(name, poolReferenceOfEntry(entry).name, known)
    if (typeof found !== 'string') return [found]
    faults.push(`Machine ${machine}: ${found}`)
    return []
  })
  return {
    claims,
    device: { field: `Machine ${machine}: devices[${index}]`, ipAddrs, gateway, nameservers, poolAddresses },
  }
}

/** A text says why there is none. */
function boundTo(name: string, pool: string, { claims, addresses, users }: Known): PoolAddress | string {
  const claim = claims.get(name)
  if (claim === undefined) return `there is no IPAddressClaim ${name}`
  if (claim.poolRef.name !== pool)
    return `IPAddressClaim ${name} is one on pool ${claim.poolRef.name}, and not on ${pool}`
  if (claim.addressName === '') return `no IPAddress is bound to claim ${name}: write status.addressRef.name`
  const address = addresses.get(claim.addressName)
  if (address === undefined) return `there is no IPAddress ${claim.addressName}, which claim ${name} is bound to`
  const { claimName } = address
  if (claimName !== name) return `IPAddress ${address.metadata.name} is that of claim ${claimName}, and not of ${name}`
  const before = users.get(address.address)
  if (before !== undefined) return `${address.address} is the address of claim ${before} too`
  users.set(address.address, name)
  return {
    field: `IPAddress ${address.metadata.name}`,
    address: address.address,
    prefix: address.prefix,
    gateway: address.gateway,
  }
}

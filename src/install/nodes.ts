// What each machine of an installation is told at its first boot, from the objects that describe it: the Machine, its claims, and the
// IPAddresses that they are bound to. What an administrator changed in those files counts, for they are what is read.

import { type IPAddress, parseIPAddress } from '../api/ip-address.ts'
import { type IPAddressClaim, parseIPAddressClaim } from '../api/ip-address-claim.ts'
import { claimNameOf, type Machine, parseMachine } from '../api/machine.ts'
import { machineClusterLabel, machineRoleLabel } from '../api/names.ts'
import { isRecord, ownText } from '../api/shape.ts'
import { type NetworkDevice, poolReferenceOfEntry } from '../api/vsphere-provider-spec.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import { bootGuest, type Told } from '../kargs/boot.ts'
import type { NetworkDevice as DeviceOfKargs, PoolAddress } from '../kargs/device.ts'
import { hasFaults, kargsKey, printKargs } from '../kargs/print.ts'
import type { Dropped } from '../kargs/read.ts'
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
  /** Why the guest has, or will have, something else than it is told. */
  readonly warnings: readonly string[]
  /** What the virtual machine has in its extra configuration. */
  readonly guestinfo: Readonly<Record<string, string>>
}

export interface Nodes {
  readonly nodes: readonly Node[]
  readonly faults: readonly string[]
}

/**
 * Of objects in any order; others than machines, claims and addresses are passed over. With the install-config the plan has the
 * bootstrap machine too, and failure domains. `commandLine` is what their template starts the kernel with; MachineConfigs
 * among the objects say which connections Ignition writes.
 */
export function nodesOf(objects: readonly unknown[], config?: InstallConfig, commandLine = ''): Nodes {
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
    commandLine,
    connectionFiles: connectionFilesIn(objects),
  }
  const machines = read('Machine', parseMachine)
  const infraID = ownText(machines[0]?.metadata.labels ?? {}, machineClusterLabel) ?? ''
  const zones = zonesOf(config, infraID)
  const nodes = machines.map(machine => nodeOf(machine, known, faults, config, zones))
  const bootstrap = config === undefined ? [] : [bootstrapOf(config, infraID, commandLine, faults)]
  return { nodes: [...bootstrap, ...nodes], faults }
}

const nameIn = ({ metadata }: Readonly<Record<string, unknown>>): string =>
  isRecord(metadata) && typeof metadata.name === 'string' ? metadata.name : 'without a name'

interface Known {
  readonly claims: ReadonlyMap<string, IPAddressClaim>
  readonly addresses: ReadonlyMap<string, IPAddress>
  /** By address: the claim that came to it first. */
  readonly users: Map<string, string>
  readonly commandLine: string
  /** By role. */
  readonly connectionFiles: ReadonlyMap<string, readonly string[]>
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
    ...configured({
      kargs,
      commandLine: known.commandLine,
      connectionFiles: known.connectionFiles.get(role) ?? [],
    }),
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
function bootstrapOf(config: InstallConfig, infraID: string, commandLine: string, faults: string[]): Node {
  const { bootstrap, controlPlane } = assignHosts(config)
  const zone = controlPlane[0]?.zone ?? ''
  const device = bootstrap?.networkDevice
  const kargs = kargsOf(device === undefined ? [] : [deviceOfHost(device)], faults)
  return {
    name: `${infraID}-bootstrap`,
    role: 'bootstrap',
    failureDomain: zone,
    networks: config.failureDomains.find(({ name }) => name === zone)?.networks ?? [],
    ...configured({ kargs, commandLine, connectionFiles: [] }),
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

/** What the guest makes of it at its first boot, and what it loses at the next. */
function configured(told: Told) {
  const first = bootGuest(told)
  const { connections, dropped } = first
  const families = connections.flatMap(({ ipv4, ipv6 }) => [ipv4, ipv6])
  return {
    addresses: families.flatMap(({ addresses }) => addresses),
    gateways: families.flatMap(({ gateway }) => gateway ?? []),
    nameservers: [...new Set(families.flatMap(({ nameservers }) => nameservers))],
    dropped,
    warnings: told.kargs === '' ? [] : [first, bootGuest(told, first.disk)].flatMap(({ why }) => why ?? []),
  }
}

const connectionsDirectory = '/etc/NetworkManager/system-connections/'

/** Of MachineConfigs, by the role that they are for. What is of another shape is the affair of others. */
function connectionFilesIn(objects: readonly unknown[]): ReadonlyMap<string, readonly string[]> {
  const byRole = new Map<string, readonly string[]>()
  for (const object of objects) {
    if (!isRecord(object) || object.kind !== 'MachineConfig') continue
    const role = textIn(object, 'metadata', 'labels', machineConfigRoleLabel)
    const files = valueIn(object, 'spec', 'config', 'storage', 'files')
    const paths = (Array.isArray(files) ? files : []).flatMap((file: unknown) => textIn(file, 'path') ?? [])
    const written = paths.filter(path => path.startsWith(connectionsDirectory))
    if (role !== undefined) byRole.set(role, [...(byRole.get(role) ?? []), ...written])
  }
  return byRole
}

const machineConfigRoleLabel = 'machineconfiguration.openshift.io/role'

const valueIn = (value: unknown, ...keys: readonly string[]): unknown =>
  keys.reduce((inner, key) => (isRecord(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined), value)

function textIn(value: unknown, ...keys: readonly string[]): string | undefined {
  const text = valueIn(value, ...keys)
  return typeof text === 'string' ? text : undefined
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

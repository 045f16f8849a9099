// All that is wrong with an install-config, at once: first what the installer of OpenShift refuses, in its order and its words, then
// what it lets through and what the nodes then suffer from (`check-addresses.ts`).

import { isTagID } from '../api/vsphere-provider-spec.ts'
import { parseIP, toIPText } from '../ip/address.ts'
import { parseCIDR } from '../ip/cidr.ts'
import { isMalformed } from '../ip/malformed.ts'
import { tagsOfMachineMax } from '../limits.ts'
import { assignHosts, hostsOf, type Role, roles, zonesOf } from './assign.ts'
import { checkAddresses, type HeldAddress } from './check-addresses.ts'
import type { FailureDomain, Host, HostDevice, InstallConfig, MachinePool } from './config.ts'
import {
  bare,
  duplicate,
  type Fault,
  invalid,
  notACIDR,
  notAnIP,
  type Report,
  reporterTo,
  required,
  tooMany,
  unsupported,
} from './fault.ts'

/** So many nameservers a resolver asks. */
const nameserversMax = 3
/** So many network devices a virtual machine of vSphere may have. */
const networksMax = 10

/** The installer itself knows two. */
const poolsMax = 10

/**
 * As an agent-based install reads it: it takes its hosts from another file, so those of this one are neither judged nor made. The installer
 * passes over them without a word.
 */
export function withoutHosts(config: InstallConfig, faults: Fault[]): InstallConfig {
  if (config.hosts === undefined) return config
  const message =
    'agent-config.yaml is beside this file, and an agent-based install does not read hosts: write addresses into its own hosts, ' +
    'or keep the two files apart'
  reporterTo(faults)('HostsUnread', config.hostsAt, message)
  return { ...config, hosts: undefined }
}

/**
 * In the order in which they are told. `held` is what a ledger holds, where one was read. `unread` is what could not be read: of such a
 * field nothing else is said, for it is not missing.
 */
export function checkInstallConfig(
  config: InstallConfig,
  held: readonly HeldAddress[] = [],
  unread: readonly Fault[] = [],
): Fault[] {
  const paths = new Set(
    unread.filter(({ check }) => check === 'TypeWrong').map(({ path }) => path.replace(/\[\d+\]$/, '')),
  )
  return faultsOf(config, held).filter(({ path }) => !paths.has(path))
}

function faultsOf(config: InstallConfig, held: readonly HeldAddress[]): Fault[] {
  const faults: Fault[] = []
  const report = reporterTo(faults)
  checkFailureDomains(config, report)
  checkPools(config, report)
  checkZones(config, report)
  if (config.hosts === undefined) return faults
  checkCounts(config, config.hosts, report)
  const known = new Set(config.failureDomains.map(({ name }) => name))
  for (const host of config.hosts) checkHost(host, known, report)
  checkPlacement(config, config.hosts, report)
  checkAddresses(config, config.hosts, held, report)
  return faults
}

// --- failure domains ---

function checkFailureDomains({ failureDomains, servers, hostsAt }: InstallConfig, report: Report): void {
  if (failureDomains.length === 0) {
    const at = { ...hostsAt, path: 'platform.vsphere.failureDomains' }
    report('FailureDomainsMissing', at, required('machines are made in failure domains: name at least one'))
  }
  const seen = new Set<string>()
  for (const domain of failureDomains) {
    const { name, server, networks, networksAt, datastore } = domain
    if (seen.has(name)) report('FailureDomainTwice', { ...domain, path: `${domain.path}.name` }, duplicate(name))
    seen.add(name)
    if (servers === undefined || !servers.includes(server.value)) {
      report('ServerUnknown', server, invalid(server.value, 'server does not exist in vcenters'))
    }
    if (networks.length === 0) report('NetworksMissing', networksAt, required('must specify a network'))
    if (networks.length > networksMax) report('NetworksTooMany', networksAt, tooMany(networks.length, networksMax))
    checkTags(domain, report)
    if (!/^\/.+\/datastore\/.+$/.test(datastore.value)) {
      const detail = 'full path of datastore must be provided in format /<datacenter/datastore/<datastore>'
      report('DatastorePath', datastore, invalid(datastore.value, detail))
    }
  }
}

function checkTags({ tagIDs, tagsAt }: FailureDomain, report: Report): void {
  if (tagIDs.length > tagsOfMachineMax) report('TagsTooMany', tagsAt, tooMany(tagIDs.length, tagsOfMachineMax))
  for (const tag of tagIDs) {
    if (isTagID(tag.value)) continue
    const detail = 'must be the id of a tag, not its name, such as urn:vmomi:InventoryServiceTag:<uuid>:GLOBAL'
    report('TagMalformed', tag, invalid(tag.value, detail))
  }
}

/** Machines are called after their pool. */
function checkPools({ compute, controlPlane }: InstallConfig, report: Report): void {
  if (compute.length > poolsMax) {
    report('PoolsTooMany', { path: 'compute', place: controlPlane.place }, tooMany(compute.length, poolsMax))
  }
  const seen = new Set([controlPlane.name])
  for (const pool of compute) {
    const at = { ...pool, path: `${pool.path}.name` }
    if (seen.has(pool.name)) report('PoolName', at, duplicate(pool.name))
    else if (!/^[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?$/.test(pool.name)) {
      const detail = 'machines cannot be called after it: write at most 20 lower-case letters, digits and "-"'
      report('PoolName', at, invalid(pool.name, detail))
    }
    seen.add(pool.name)
  }
}

function checkZones({ controlPlane, compute, failureDomains }: InstallConfig, report: Report): void {
  const known = new Set(failureDomains.map(({ name }) => name))
  for (const zone of [controlPlane, ...compute].flatMap(({ zones }) => zones)) {
    if (known.has(zone.value)) continue
    report(
      'ZoneUnknown',
      zone,
      invalid(zone.value, `zone [${bare(zone.value)}] specified by machinepool is not defined`),
    )
  }
}

// --- counts ---

function checkCounts({ controlPlane, compute, hostsAt }: InstallConfig, hosts: readonly Host[], report: Report): void {
  if (hostsOf(hosts, 'bootstrap').length !== 1) {
    report('BootstrapCount', hostsAt, invalid('bootstrap', 'a single host with the bootstrap role must be defined'))
  }
  const count = (role: Role, what: string, pools: readonly MachinePool[]) => {
    const [found, wanted] = [hostsOf(hosts, role).length, pools.reduce((sum, { replicas }) => sum + replicas, 0)]
    if (found === wanted) return
    const detail =
      found < wanted
        ? `not enough hosts found (${found}) to support all the configured ${what} replicas (${wanted})`
        : `too many hosts found (${found}) for the configured ${what} replicas (${wanted})`
    report(role === 'compute' ? 'ComputeCount' : 'ControlPlaneCount', hostsAt, invalid(role, detail))
  }
  count('control-plane', 'control plane', [controlPlane])
  count('compute', 'compute', compute)
}

// --- one host ---

const domainsNamedMax = 10

function checkHost(
  { path, place, role, failureDomain, networkDevice }: Host,
  known: ReadonlySet<string>,
  report: Report,
): void {
  if (!roles.some(one => one === role.value)) report('RoleUnknown', role, unsupported(role.value, roles))
  if (failureDomain !== undefined && !known.has(failureDomain.value)) {
    const named = [...known].slice(0, domainsNamedMax).map(bare).join(', ')
    const more = known.size > domainsNamedMax ? `, and ${known.size - domainsNamedMax} more` : ''
    const there = known.size === 0 ? '' : `: there are ${named}${more}`
    report('FailureDomainUnknown', failureDomain, invalid(failureDomain.value, `failure domain not found${there}`))
  }
  if (networkDevice === undefined) {
    const at = { path: `${path}.networkDevice`, place }
    report('NetworkDeviceMissing', at, required('must specify networkDevice configuration'))
  } else checkDevice(networkDevice, report)
}

function checkDevice({ path, place, ipAddrs, gateway, nameservers }: HostDevice, report: Report): void {
  if (ipAddrs.length === 0) report('AddressMissing', { path: `${path}.ipAddrs`, place }, required('must specify a IP'))
  for (const address of ipAddrs) {
    const { value } = address
    if (value === '') report('AddressMissing', address, required('must specify a IP address with CIDR'))
    else if (isMalformed(parseCIDR(value))) {
      const ip = parseIP(value)
      const example = isMalformed(ip) ? '192.0.2.5/24' : `${toIPText(ip)}/${ip.family === 4 ? 24 : 64}`
      const advice = `write the address with the length of its subnet, such as ${example}`
      report('AddressMalformed', address, `${notACIDR(value)}: ${advice}`)
    }
  }
  if (nameservers.length > nameserversMax) {
    report('NameserversTooMany', { path: `${path}.nameservers`, place }, tooMany(nameservers.length, nameserversMax))
  }
  for (const server of nameservers) {
    if (isMalformed(parseIP(server.value))) report('NameserverMalformed', server, notAnIP(server.value))
  }
  if (gateway !== undefined && isMalformed(parseIP(gateway.value))) {
    report('GatewayMalformed', gateway, notAnIP(gateway.value))
  }
}

// --- where machines are ---

function checkPlacement(config: InstallConfig, hosts: readonly Host[], report: Report): void {
  const { controlPlane, compute, bootstrap } = assignHosts(config)
  for (const { pool, host } of [...controlPlane, ...compute]) {
    const domain = host?.failureDomain
    if (domain === undefined || pool.zones.length === 0 || zonesOf(pool, []).includes(domain.value)) continue
    const detail = `it is none of the zones of ${pool.path}: the machine is made there all the same`
    report('HostOutsideZones', domain, invalid(domain.value, detail))
  }
  const domain = bootstrap?.failureDomain
  const [first] = controlPlane
  if (domain !== undefined && first !== undefined && domain.value !== first.zone) {
    const detail = `it is ignored: the bootstrap machine is made beside the first of the control plane, in ${bare(first.zone)}`
    report('BootstrapFailureDomain', domain, invalid(domain.value, detail))
  }
  const zones = new Set(controlPlane.map(({ zone }) => zone))
  if (controlPlane.length > 1 && zones.size === 1 && config.failureDomains.length > 1) {
    const [zone = ''] = zones
    report(
      'OneFailureDomain',
      config.hostsAt,
      `the whole control plane is in ${bare(zone)}: it ends with that failure domain`,
    )
  }
  checkSameNameservers(hosts, report)
  checkDevices(config, new Set([...controlPlane, ...compute].map(one => one.zone)), report)
}

/** What names no device is put on one that no setting chose, and no name of a device is known before the machine is there. */
function checkDevices({ failureDomains }: InstallConfig, used: ReadonlySet<string>, report: Report): void {
  for (const { name, networks, networksAt } of failureDomains) {
    if (networks.length < 2 || !used.has(name)) continue
    const detail = `machines have ${networks.length} devices, and at their first boot it is not certain which gets the addresses`
    report('DeviceUncertain', networksAt, detail)
  }
}

/** A set makes machines from one template: what one host has of its own is lost with its machine. */
function checkSameNameservers(hosts: readonly Host[], report: Report): void {
  for (const role of ['control-plane', 'compute'] as const) {
    const devices = hostsOf(hosts, role).flatMap(({ networkDevice }) => networkDevice ?? [])
    const listOf = ({ nameservers }: HostDevice) => nameservers.map(({ value }) => value).join(', ')
    // The control plane is replaced by the template of its last machine, compute machines by that of the first.
    const model = role === 'control-plane' ? devices.at(-1) : devices[0]
    const other = devices.find(device => model !== undefined && listOf(device) !== listOf(model))
    if (model === undefined || other === undefined) continue
    const at = { path: `${other.path}.nameservers`, place: other.place }
    const detail = `hosts of the role ${role} have different nameservers: machines that are made later have those of ${model.path}`
    report('NameserversDiffer', at, detail)
  }
}

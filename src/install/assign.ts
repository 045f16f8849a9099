// Which host describes which machine, and in which failure domain that machine is. In a pool, hosts are taken in the order of the
// file, as the installer takes them; a host that names a failure domain puts its machine there, and others follow the zones of the
// pool in turn. No host describes two machines: where there are several compute pools, those that name a zone of a pool go to it first.

import type { FailureDomain, Host, InstallConfig, MachinePool } from './config.ts'

export interface Placed {
  readonly pool: MachinePool
  /** Of the machine in its pool, from 0. */
  readonly index: number
  /** Undefined where the file describes no hosts. */
  readonly host: Host | undefined
  /** Name of a failure domain, which may not exist: that is a fault of its own. */
  readonly zone: string
}

export interface Assignment {
  readonly controlPlane: readonly Placed[]
  /** Of every compute pool, in their order; none where there are no hosts, for then MachineSets make them. */
  readonly compute: readonly Placed[]
  readonly bootstrap: Host | undefined
}

export const roles = ['bootstrap', 'control-plane', 'compute'] as const
export type Role = (typeof roles)[number]

export const hostsOf = (hosts: readonly Host[], role: Role): readonly Host[] =>
  hosts.filter(host => host.role.value === role)

export function assignHosts(config: InstallConfig): Assignment {
  const { controlPlane, compute, failureDomains, hosts } = config
  const zonesOfControlPlane = controlPlaneZones(controlPlane, failureDomains)
  if (hosts === undefined) {
    return { controlPlane: place(controlPlane, zonesOfControlPlane, []), compute: [], bootstrap: undefined }
  }
  const shares = share(compute, failureDomains, hostsOf(hosts, 'compute'))
  return {
    controlPlane: place(controlPlane, zonesOfControlPlane, hostsOf(hosts, 'control-plane')),
    compute: compute.flatMap((pool, i) => place(pool, zonesOf(pool, failureDomains), shares[i] ?? [])),
    bootstrap: hostsOf(hosts, 'bootstrap')[0],
  }
}

const namesOf = (domains: readonly FailureDomain[]): readonly string[] => domains.map(({ name }) => name)

/** Those of a compute pool: what it names, else every failure domain. */
export function zonesOf({ zones }: MachinePool, domains: readonly FailureDomain[]): readonly string[] {
  return zones.length > 0 ? zones.map(({ value }) => value) : namesOf(domains)
}

/** As many as machines; so says the installer, and the order in which failure domains are used follows from it. */
function controlPlaneZones(pool: MachinePool, domains: readonly FailureDomain[]): readonly string[] {
  if (pool.zones.length > 0) return zonesOf(pool, domains)
  return namesOf(domains).slice(0, pool.replicas)
}

function place(pool: MachinePool, zones: readonly string[], hosts: readonly Host[]): Placed[] {
  return Array.from({ length: machinesOf(pool) }, (_, index) => {
    const host = hosts[index]
    return { pool, index, host, zone: host?.failureDomain?.value ?? zones[index % zones.length] ?? '' }
  })
}

/** A number of replicas that no file has hosts for is a fault already: no more than these are looked at. */
const machinesMax = 2_000
const machinesOf = ({ replicas }: MachinePool): number => Math.min(replicas, machinesMax)

function share(
  pools: readonly MachinePool[],
  domains: readonly FailureDomain[],
  hosts: readonly Host[],
): readonly (readonly Host[])[] {
  const taken = new Map<Host, number>()
  const room = pools.map(machinesOf)
  const take = (mayGo: (host: Host, zones: ReadonlySet<string>) => boolean): void => {
    for (const [i, pool] of pools.entries()) {
      const zones = new Set(zonesOf(pool, domains))
      for (const host of hosts) {
        if ((room[i] ?? 0) === 0) break
        if (taken.has(host) || !mayGo(host, zones)) continue
        taken.set(host, i)
        room[i] = (room[i] ?? 0) - 1
      }
    }
  }
  take(({ failureDomain }, zones) => failureDomain !== undefined && zones.has(failureDomain.value))
  take(({ failureDomain }) => failureDomain === undefined)
  take(() => true)
  return pools.map((_, i) => hosts.filter(host => taken.get(host) === i))
}

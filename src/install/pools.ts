// The pools that machines of an installation name, default-0 and so on. The installer names them and makes none, so that no machine can
// be replaced or added; with these objects and the machine desk they are served. A pool has one subnet: where hosts have several,
// it is not known which one a new machine is to be in, and nothing is guessed.

import { installerGroup } from '../api/names.ts'
import { fromValue, parseIP } from '../ip/address.ts'
import { containsIP, parseCIDR } from '../ip/cidr.ts'
import { isMalformed } from '../ip/malformed.ts'
import { parseEntry } from '../ip/range.ts'
import { roles } from './assign.ts'
import type { Host, InstallConfig } from './config.ts'
import { addressesOf, type HostAddress, type Manifest, machineNamespace, poolNameOf } from './manifests.ts'

export interface PoolFaults {
  readonly faults: readonly string[]
}

/** `spare`: ranges for machines that are made later, each put into the pool whose subnet it is in. */
export function renderPools(
  { hosts = [], vips }: InstallConfig,
  spare: readonly string[],
): readonly Manifest[] | PoolFaults {
  const machines = hosts.filter(({ role }) => role.value !== roles[0])
  const faults: string[] = []
  const most = Math.max(0, ...machines.map(host => addressesOf(host).length))
  const pools = Array.from({ length: most }, (_, i) => poolOf(i, machines, faults))
  const left = new Set(spare)
  const manifests = pools.map(({ index, addresses, model, nameservers }) => {
    const extra = spare.filter(text => isInside(text, model))
    for (const text of extra) left.delete(text)
    // They are of the cluster itself, and no machine may get one.
    const kept = vips.map(({ value }) => value).filter(text => isInside(text, model))
    return {
      file: `99_openshift-machine-api_ippool-${poolNameOf(index)}.yaml`,
      object: {
        apiVersion: `${installerGroup}/v1beta1`,
        kind: 'IPPool',
        metadata: { name: poolNameOf(index), namespace: machineNamespace },
        spec: {
          addresses: [...addresses.map(({ address }) => address), ...extra],
          prefix: model.prefix,
          ...(model.gateway !== '' && { gateway: model.gateway }),
          ...(kept.length > 0 && { excludedAddresses: kept }),
          ...(nameservers.length > 0 && { nameservers }),
        },
      },
    }
  })
  for (const text of left)
    faults.push(`--spare ${JSON.stringify(text)} is no range of addresses in a subnet of the hosts`)
  return faults.length > 0 ? { faults } : manifests
}

interface PlannedPool {
  readonly index: number
  readonly addresses: readonly HostAddress[]
  /** The one that all others agree with. */
  readonly model: HostAddress
  readonly nameservers: readonly string[]
}

function poolOf(index: number, machines: readonly Host[], faults: string[]): PlannedPool {
  const found = machines.flatMap(host => {
    const address = addressesOf(host)[index]
    return address === undefined ? [] : [{ host, address }]
  })
  const [first] = found
  const model = first?.address ?? { address: '', prefix: 0, gateway: '' }
  const other = found.find(({ address }) => !isOfSubnet(address, model))
  if (other !== undefined && first !== undefined) {
    faults.push(
      `${poolNameOf(index)}: ${first.host.path} and ${other.host.path} are in different subnets or have different gateways, ` +
        'and a pool has one of each: leave out --with-pools and write pools of your own',
    )
  }
  return {
    index,
    addresses: found.map(({ address }) => address),
    model,
    nameservers: first?.host.networkDevice?.nameservers.map(({ value }) => value) ?? [],
  }
}

function isOfSubnet({ address, prefix, gateway }: HostAddress, model: HostAddress): boolean {
  const subnet = parseCIDR(`${model.address}/${model.prefix}`)
  const ip = parseIP(address)
  if (isMalformed(subnet) || isMalformed(ip)) return false
  return prefix === model.prefix && gateway === model.gateway && containsIP(subnet, ip)
}

function isInside(text: string, { address, prefix }: HostAddress): boolean {
  const subnet = parseCIDR(`${address}/${prefix}`)
  const range = parseEntry(text)
  if (isMalformed(subnet) || isMalformed(range)) return false
  const ends = [range.first, range.last].map(value => fromValue(range.family, value))
  return ends.every(end => containsIP(subnet, end))
}

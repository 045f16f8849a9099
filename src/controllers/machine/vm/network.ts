// The addresses that a Machine is to have, from the IPAddresses of its claims and from its own spec; and the kernel arguments that
// tell its guest. An IPAddress counts only by the claim that the Machine controls and that names it, and only if it names the claim
// back: by its name alone, no address of another claim gets into a machine.

import type { IPAddress } from '../../../api/ip-address.ts'
import type { IPAddressClaim } from '../../../api/ip-address-claim.ts'
import { claimNameOf, controllingMachine, type Machine } from '../../../api/machine.ts'
import type { VSphereProviderSpec } from '../../../api/vsphere-provider-spec.ts'
import { toIPText } from '../../../ip/address.ts'
import { parseCIDR } from '../../../ip/cidr.ts'
import { isMalformed } from '../../../ip/malformed.ts'
import type { NetworkDevice, PoolAddress } from '../../../kargs/device.ts'
import { hasFaults, printKargs } from '../../../kargs/print.ts'

export interface Reports {
  claim(name: string): IPAddressClaim | undefined
  address(name: string): IPAddress | undefined
  /** What the pool of the claim offers to those that it gives addresses to. */
  nameservers(claim: IPAddressClaim): readonly string[]
}

/** What a Machine has on its network devices. */
export interface MachineDevices {
  readonly devices: readonly NetworkDevice[]
  /** Names of the claims that are not bound. */
  readonly unbound: readonly string[]
}

export function devicesOf(machine: Machine, { devices }: VSphereProviderSpec, reports: Reports): MachineDevices {
  const unbound: string[] = []
  const read = devices.map(({ ipAddrs, gateway, nameservers, addressesFromPools }, i) => {
    const poolAddresses = addressesFromPools.flatMap((_, j) => {
      const name = claimNameOf(machine.metadata.name, i, j)
      const address = boundAddress(machine, name, reports)
      if (address === undefined) unbound.push(name)
      return address ?? []
    })
    const names = addressesFromPools.map((_, j) => claimNameOf(machine.metadata.name, i, j))
    return {
      field: `providerSpec.network.devices[${i}]`,
      ipAddrs,
      gateway,
      nameservers: nameservers.length > 0 ? nameservers : nameserversOf(names, reports),
      poolAddresses,
    }
  })
  return { devices: read, unbound }
}

/** A device that names none of its own has those of its pools, each once. */
function nameserversOf(names: readonly string[], { claim, nameservers }: Reports): readonly string[] {
  const all = names.flatMap(name => {
    const found = claim(name)
    return found === undefined ? [] : nameservers(found)
  })
  return [...new Set(all)]
}

function boundAddress({ metadata }: Machine, name: string, { claim, address }: Reports): PoolAddress | undefined {
  const found = claim(name)
  if (found === undefined || found.isDeleting || found.addressName === '') return undefined
  if (controllingMachine(found.metadata)?.uid !== metadata.uid) return undefined
  const report = address(found.addressName)
  if (report === undefined || report.isDeleting || report.claimName !== name) return undefined
  const { prefix, gateway } = report
  return { field: `IPAddress ${metadata.namespace}/${found.addressName}`, address: report.address, prefix, gateway }
}

/** Texts as a guest reports them. */
export function addressesOf(devices: readonly NetworkDevice[]): string[] {
  return devices.flatMap(({ ipAddrs = [], poolAddresses = [] }) => [
    ...ipAddrs.flatMap(text => {
      const cidr = parseCIDR(text)
      return isMalformed(cidr) ? [] : [toIPText(cidr.ip)]
    }),
    ...poolAddresses.map(({ address }) => address),
  ])
}

/** What is wrong with the addresses as they are, before any device has a MAC. */
export function faultsOf(devices: readonly NetworkDevice[]): readonly string[] {
  const printed = printKargs(devices.map((device, i) => ({ ...device, nic: `eth${i}` })))
  return hasFaults(printed) ? printed.faults : []
}

/**
 * Undefined while they cannot be told: with several devices each item names the MAC of its own, which a device has once the virtual
 * machine is there.
 */
export function kargsOf(devices: readonly NetworkDevice[], macs: readonly string[]): string | undefined {
  if (devices.length > 1 && macs.length !== devices.length) return undefined
  const named = devices.length > 1 ? devices.map((device, i) => ({ ...device, nic: macs[i] })) : devices
  const printed = printKargs(named)
  return hasFaults(printed) ? undefined : printed.kargs
}

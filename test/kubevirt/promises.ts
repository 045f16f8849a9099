// What Mooring promises about a virtual machine at any moment, looked at from outside.

import { until } from '../capi/until.ts'
import type { Body, Meta } from '../conformance/client.ts'
import { claim, claimsOf, holdsOf, ipsOf, networks, podsOf, type Site, selectionsOf, vmiStatus } from './vms.ts'

/** CIDRs by interface. */
export type Addresses = Readonly<Record<string, string>>

/** Every interface has a claim that is the VM's, with an address that is held for it. */
export async function untilAddressed(
  site: Site,
  vm: Body,
  interfaces: readonly string[] = networks,
): Promise<Addresses> {
  const addresses: Record<string, string> = {}
  await until(`${vm.metadata.name} has its addresses`, async () => {
    const held = await holdsOf(site)
    for (const name of interfaces) {
      const claimName = `${vm.metadata.name}.${name}`
      const found = await claim(site, claimName)
      if (found === undefined) return `there is no claim ${claimName}`
      const fault = faultOf(found, vm)
      if (fault !== undefined) return `${claimName} ${fault}`
      const [cidr = ''] = ipsOf(found)
      const [address = ''] = cidr.split('/')
      if (held.get(address) !== claimName) return `${address} is held by ${held.get(address) ?? 'no claim'}`
      addresses[name] = cidr
    }
    return undefined
  })
  return addresses
}

function faultOf(found: Body, vm: Body): string | undefined {
  const { ownerReferences, finalizers }: Partial<Meta> = found.metadata
  const owner = ownerReferences?.find(({ controller }) => controller === true)
  if (owner?.uid !== vm.metadata.uid) return `is owned by ${JSON.stringify(ownerReferences ?? [])}`
  if (!finalizers?.includes('kubevirt.io/persistent-ipam')) return `has the finalizers ${finalizers?.join(', ')}`
  const { conditions = [] } = (found.status ?? {}) as { conditions?: { type: string; status: string }[] }
  for (const type of ['IPsAllocated', 'IPAllocated']) {
    if (!conditions.some(one => one.type === type && one.status === 'True')) return `says ${JSON.stringify(conditions)}`
  }
  if (ipsOf(found).length !== 1) return `has ${ipsOf(found).length} addresses`
  return undefined
}

/** Every launcher pod names the claim of each interface, and the interface as every pod before it did. */
export async function expectReferences(
  site: Site,
  vm: string,
  interfaces: readonly string[] = networks,
): Promise<string> {
  const pods = await podsOf(site, vm)
  if (pods.length === 0) throw new Error(`${vm} has no launcher pod`)
  const shown = pods.map(pod => {
    const selections = selectionsOf(pod)
    const references = selections.map(one => one['ipam-claim-reference'] ?? `${one.name} without a claim`).toSorted()
    const expected = interfaces.map(name => `${vm}.${name}`).toSorted()
    expectSame(`the claims of ${pod.metadata.name}`, expected.join(' '), references.join(' '))
    return selections.map(one => `${one.name}=${one.interface ?? 'unnamed'}`).join(' ')
  })
  const [first = ''] = shown
  for (const other of shown) expectSame('the interfaces of all pods', first, other)
  return first
}

/** The guest sees what the claims say. */
export async function untilReported(site: Site, vm: string, addresses: Addresses): Promise<void> {
  await until(`the instance ${vm} reports its addresses`, async () => {
    const { interfaces = [] } = await vmiStatus(site, vm)
    for (const [name, cidr] of Object.entries(addresses)) {
      const seen = interfaces.find(one => one.name === name)?.ipAddress
      if (seen !== cidr.split('/')[0]) return `${name} is expected at ${cidr} and reports ${seen ?? 'nothing'}`
    }
    return undefined
  })
}

export async function expectHeld(site: Site, addresses: Addresses): Promise<void> {
  const held = await holdsOf(site)
  for (const [name, cidr] of Object.entries(addresses)) {
    const [address = ''] = cidr.split('/')
    if (!held.has(address)) throw new Error(`${cidr} of ${name} is free`)
  }
}

/** No claim of the VM is left, and its addresses are free. */
export async function untilFree(site: Site, vm: string, addresses: Addresses): Promise<void> {
  await until(`the addresses of ${vm} are free`, async () => {
    const claims = (await claimsOf(site)).map(({ metadata }) => metadata.name)
    const left = claims.filter(name => name.startsWith(`${vm}.`))
    if (left.length > 0) return `${left.join(', ')} left`
    const held = await holdsOf(site)
    const still = Object.values(addresses).filter(cidr => held.has(cidr.split('/')[0] ?? ''))
    return still.length === 0 ? undefined : `${still.join(', ')} still held`
  })
}

export function expectSame(what: string, expected: string, seen: string): void {
  if (seen !== expected) throw new Error(`${what}: expected "${expected}", saw "${seen}"`)
}

export const inWords = (addresses: Addresses): string =>
  Object.entries(addresses)
    .map(([name, cidr]) => `${name} ${cidr}`)
    .toSorted()
    .join(', ')

// What Mooring promises about a virtual machine that moved in, looked at from outside: its claim, its pods as they were admitted,
// its instance and the ledger say the same.

import { until } from '../capi/until.ts'
import type { Body } from '../conformance/client.ts'
import { card, everythingHeld, gateways, type Home } from './homes.ts'
import { claim, ipsOf, isDone, podsOf, vmiStatus } from './vms.ts'

export interface Moved {
  readonly mac: string
  /** Without prefix lengths, IPv4 first. */
  readonly ips: readonly string[]
}

export const claimNameOf = (vm: string): string => `${vm}.${card}`

const withLength = (ip: string): string => `${ip}/${ip.includes(':') ? 64 : 24}`

/** Until everything is so; answers with the names of its pods. */
export async function untilMoved(home: Home, vm: Body, moved: Moved): Promise<string> {
  const { name } = vm.metadata
  let names = ''
  await until(`${name} has ${moved.mac} ${moved.ips.join(' ')}`, async () => {
    const pods = (await podsOf(home, name)).filter(pod => !isDone(pod))
    names = pods.map(({ metadata }) => metadata.name).join(' ')
    if (pods.length === 0) return 'it has no pod'
    return differences([
      ['the claim', await claimInShort(home, name), claimExpected(vm, moved)],
      ...pods.flatMap(pod => podDifferences(home, pod, moved)),
      ['the instance', await interfacesInShort(home, name), [{ name: card, mac: moved.mac, ips: moved.ips }]],
      ['the ledger', await heldBy(home, name), heldExpected(moved)],
    ])
  })
  return names
}

type Difference = readonly [what: string, seen: unknown, expected: unknown]

function differences(all: readonly Difference[]): string | undefined {
  const found = all.flatMap(([what, seen, expected]) => {
    const [now, wanted] = [JSON.stringify(seen), JSON.stringify(expected)]
    return now === wanted ? [] : [`${what} is ${now}, not ${wanted}`]
  })
  return found.length === 0 ? undefined : found.join('; ')
}

async function claimInShort(home: Home, vm: string): Promise<unknown> {
  const found = await claim(home, claimNameOf(vm))
  const { ownerReferences = [], finalizers } = found?.metadata ?? {}
  return {
    owner: ownerReferences.find(({ controller }) => controller === true)?.uid,
    finalizers,
    ips: ipsOf(found),
    conditions: conditionsOf(found).map(({ type, status, reason }) => `${type} ${status} ${reason}`),
  }
}

const claimExpected = ({ metadata }: Body, { ips }: Moved) => ({
  owner: metadata.uid,
  finalizers: ['kubevirt.io/persistent-ipam'],
  ips: ips.map(withLength),
  conditions: ['IPAllocated True SuccessfulAllocation', 'IPsAllocated True SuccessfulAllocation'],
})

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
}

export const conditionsOf = (found: Body | undefined): Condition[] => {
  const { conditions = [] } = (found?.status ?? {}) as { conditions?: Condition[] }
  return conditions.toSorted((one, other) => one.type.localeCompare(other.type))
}

/** What the webhook gave it on its way in, and what OVN-Kubernetes would configure it with. */
function podDifferences(home: Home, { metadata }: Body, { mac, ips }: Moved): Difference[] {
  const reference = claimNameOf(metadata.annotations?.['kubevirt.io/domain'] ?? '')
  const read = (annotation: string): unknown => JSON.parse(metadata.annotations?.[annotation] ?? 'null')
  const [element] = (read('v1.multus-cni.io/default-network') ?? []) as Record<string, unknown>[]
  const networks = read('k8s.ovn.org/pod-networks') as Record<string, Record<string, unknown>> | null
  const { ip_addresses, mac_address, gateway_ips, role } = networks?.[`${home.namespace}/${home.network}`] ?? {}
  return [
    [`the claim of ${metadata.name}`, metadata.annotations?.['k8s.ovn.org/primary-udn-ipamclaim'], reference],
    [`the claim in ${metadata.name}`, element?.['ipam-claim-reference'], reference],
    [`the MAC asked for by ${metadata.name}`, element?.mac, mac],
    [
      `the network of ${metadata.name}`,
      { ip_addresses, mac_address, gateway_ips, role },
      { ip_addresses: ips.map(withLength), mac_address: mac, gateway_ips: gateways(home), role: 'primary' },
    ],
  ]
}

async function interfacesInShort(home: Home, vm: string): Promise<unknown> {
  const { interfaces = [] } = await vmiStatus(home, vm)
  return interfaces.map(({ name, mac, ipAddresses }) => ({ name, mac, ips: ipAddresses }))
}

async function heldBy(home: Home, vm: string): Promise<readonly string[]> {
  const held = Object.entries(await everythingHeld(home))
  return held.flatMap(([what, holder]) => (holder === claimNameOf(vm) ? [what] : [])).toSorted()
}

const heldExpected = ({ mac, ips }: Moved): readonly string[] => [mac, ...ips].toSorted()

export async function untilNothingHeld(home: Home, vm: string): Promise<void> {
  await until(`nothing of ${vm} is held`, async () => {
    if ((await claim(home, claimNameOf(vm))) !== undefined) return 'its claim is there'
    const held = await heldBy(home, vm)
    return held.length === 0 ? undefined : held.join(', ')
  })
}

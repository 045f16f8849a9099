// Networks that take the place of the pod network, as an administrator defines them for machines that move in, and the machines.

import { must } from '../capi/answers.ts'
import { until } from '../capi/until.ts'
import type { Body, Client } from '../conformance/client.ts'
import { apply } from './apply.ts'
import { holdsOf, kubevirt, type Site, untilAccount } from './vms.ts'

/** A namespace with a network of its own in the place of the pod network: 192.168.x.0/24 and fd00:x::/64. */
export interface Home extends Site {
  /** Of the ClusterUserDefinedNetwork, and of its NetworkAttachmentDefinition. */
  readonly network: string
  readonly octet: number
}

let homes = 0

export const v4 = ({ octet }: Home, host: number): string => `192.168.${octet}.${host}`
export const v6 = ({ octet }: Home, host: number): string => `fd00:${octet}::${host}`
export const networkName = ({ network }: Home): string => `cluster_udn_${network}`

/** With the gateways that the machines had: not the first addresses, which a network has by itself. */
export const gateways = (home: Home): readonly string[] => [v4(home, 254), `fd00:${home.octet}::fe`]

export async function createHome(client: Client, namespace: string): Promise<Home> {
  homes++
  const home: Home = { client, namespace, network: `home-${namespace}`, octet: 100 + homes }
  const labels = { 'k8s.ovn.org/primary-user-defined-network': '', home: namespace }
  await apply(client, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } })
  await untilAccount(home)
  await apply(client, {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'ClusterUserDefinedNetwork',
    metadata: { name: home.network },
    spec: {
      namespaceSelector: { matchLabels: { home: namespace } },
      network: {
        topology: 'Layer2',
        layer2: {
          role: 'Primary',
          subnets: [`192.168.${home.octet}.0/24`, `fd00:${home.octet}::/64`],
          defaultGatewayIPs: gateways(home),
          ipam: { lifecycle: 'Persistent' },
        },
      },
    },
  })
  await until('the network is rendered', async () => {
    const { code } = await client.get(
      `/apis/k8s.cni.cncf.io/v1/namespaces/${namespace}/network-attachment-definitions/${home.network}`,
    )
    return code === 200 ? undefined : String(code)
  })
  return home
}

/** What a machine asks for on its only interface, which is on the pod network. */
export interface Moving {
  readonly mac?: string
  readonly annotations?: Readonly<Record<string, string>>
  readonly binding?: string
}

export const card = 'net1'

export function aMovingVM({ namespace }: Site, name: string, { mac, annotations = {}, binding }: Moving) {
  const device = { name: card, binding: { name: binding ?? 'l2bridge' }, ...(mac !== undefined && { macAddress: mac }) }
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: { name, namespace },
    spec: {
      runStrategy: 'Always',
      template: {
        metadata: { annotations },
        spec: {
          terminationGracePeriodSeconds: 0,
          domain: { resources: { requests: { memory: '64Mi' } }, devices: { interfaces: [device] } },
          networks: [{ name: card, pod: {} }],
        },
      },
    },
  }
}

export const createMovingVM = async (home: Home, name: string, moving: Moving): Promise<Body> =>
  must(await home.client.create(`${kubevirt(home)}/virtualmachines`, aMovingVM(home, name, moving)))

/** As shipped: addresses by the name of the interface. */
export const byInterface = (...ips: readonly string[]): Readonly<Record<string, string>> => ({
  'network.kubevirt.io/addresses': JSON.stringify({ [card]: ips }),
})

/** As proposed at first: an element of the default network. */
export const byDefaultNetwork = (mac: string, ...ips: readonly string[]): Readonly<Record<string, string>> => ({
  'v1.multus-cni.io/default-network': JSON.stringify([{ name: 'default', namespace: 'ovn-kubernetes', mac, ips }]),
})

/** What is held of the network, by address or MAC: the name of the claim. */
export async function everythingHeld(home: Home): Promise<Record<string, string>> {
  const held = await holdsOf(home)
  const { items } = must(await home.client.get('/apis/mooring.dev/v1alpha1/macholds'))
  for (const { spec, status } of items) {
    const { claimRef, mac } = spec as { claimRef: { namespace: string; name: string }; mac: string }
    const { state = 'held' } = (status ?? {}) as { state?: string }
    if (claimRef.namespace === home.namespace && state === 'held') held.set(mac, claimRef.name)
  }
  return Object.fromEntries(held)
}

// Virtual machines and their networks, as users make them, and what became of them.

import { must } from '../capi/answers.ts'
import { until } from '../capi/until.ts'
import type { Body, Client } from '../conformance/client.ts'
import { apply } from './apply.ts'
import { aNamespace } from './install.ts'

/** A namespace with its own networks: the stories do not see each other's. */
export interface Site {
  readonly client: Client
  readonly namespace: string
}

/** The NADs of a site: one whose CNI asks Mooring by name, one of OVN-Kubernetes. */
export const networks = ['lan', 'blue'] as const
export type Network = (typeof networks)[number]

export const kubevirt = ({ namespace }: Site): string => `/apis/kubevirt.io/v1/namespaces/${namespace}`
export const core = ({ namespace }: Site): string => `/api/v1/namespaces/${namespace}`
const cni = ({ namespace }: Site): string => `/apis/k8s.cni.cncf.io/v1alpha1/namespaces/${namespace}`

let sites = 0

export async function createSite(client: Client, namespace: string): Promise<Site> {
  sites++
  const nad = (name: Network, config: object) => ({
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { name, namespace },
    spec: { config: JSON.stringify({ cniVersion: '1.0.0', ...config }) },
  })
  await apply(client, aNamespace(namespace))
  await untilAccount({ client, namespace })
  await apply(
    client,
    nad('lan', {
      name: `lan-${namespace}`,
      type: 'bridge',
      bridge: 'br0',
      ipam: { type: 'mooring', ranges: [`10.50.${sites}.0/24`] },
    }),
    nad('blue', {
      name: `blue-${namespace}`,
      type: 'ovn-k8s-cni-overlay',
      topology: 'layer2',
      subnets: `10.60.${sites}.0/24`,
      netAttachDefName: `${namespace}/blue`,
      allowPersistentIPs: true,
    }),
  )
  return { client, namespace }
}

/** Without it no pod is made. */
export async function untilAccount({ client, namespace }: Site): Promise<void> {
  await until(`${namespace} has its service account`, async () => {
    const { code } = await client.get(`/api/v1/namespaces/${namespace}/serviceaccounts/default`)
    return code === 200 ? undefined : String(code)
  })
}

const anInterface = (name: string) => ({ name, bridge: {} })
const aNetwork = (name: string, networkName: Network) => ({ name, multus: { networkName } })

/** Starts at once, with an interface on each of the networks, named as the network is. */
export async function createVM(site: Site, name: string): Promise<Body> {
  const created = await site.client.create(`${kubevirt(site)}/virtualmachines`, {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: { name, namespace: site.namespace },
    spec: {
      runStrategy: 'Always',
      template: {
        metadata: {},
        spec: {
          terminationGracePeriodSeconds: 0,
          domain: {
            resources: { requests: { memory: '64Mi' } },
            devices: { interfaces: networks.map(anInterface) },
          },
          networks: networks.map(network => aNetwork(network, network)),
        },
      },
    },
  })
  return must(created)
}

/** What `virtctl` sends: start, stop, restart. */
export async function ask(site: Site, name: string, verb: 'start' | 'stop' | 'restart'): Promise<void> {
  const path = `/apis/subresources.kubevirt.io/v1/namespaces/${site.namespace}/virtualmachines/${name}/${verb}`
  must(await site.client.update(path, {}))
}

interface VMSpec {
  readonly template: {
    readonly spec: {
      readonly domain: { readonly devices: { readonly interfaces: readonly object[] } }
      readonly networks: readonly object[]
    }
  }
}

/** What `virtctl` does no more: the user changes the template, and virt-controller follows. */
export async function plug(site: Site, vm: string, name: string, network: Network): Promise<void> {
  await changeInterfaces(site, vm, (interfaces, networks) => ({
    interfaces: [...interfaces, anInterface(name)],
    networks: [...networks, aNetwork(name, network)],
  }))
}

export async function unplug(site: Site, vm: string, name: string): Promise<void> {
  await changeInterfaces(site, vm, (interfaces, networks) => ({
    interfaces: interfaces.map(one => ((one as { name: string }).name === name ? { ...one, state: 'absent' } : one)),
    networks,
  }))
}

async function changeInterfaces(
  site: Site,
  vm: string,
  change: (
    interfaces: readonly object[],
    networks: readonly object[],
  ) => { interfaces: object[]; networks: readonly object[] },
): Promise<void> {
  const path = `${kubevirt(site)}/virtualmachines/${vm}`
  const { template } = must(await site.client.get(path)).spec as unknown as VMSpec
  const { interfaces, networks } = change(template.spec.domain.devices.interfaces, template.spec.networks)
  const spec = { template: { spec: { networks, domain: { devices: { interfaces } } } } }
  must(await site.client.merge(path, { spec }))
}

export async function vmi(site: Site, name: string): Promise<Body | undefined> {
  const { code, body } = await site.client.get(`${kubevirt(site)}/virtualmachineinstances/${name}`)
  return code === 200 ? body : undefined
}

interface VMIStatus {
  readonly phase?: string
  readonly nodeName?: string
  readonly interfaces?: readonly {
    readonly name?: string
    readonly mac?: string
    readonly ipAddress?: string
    readonly ipAddresses?: readonly string[]
  }[]
}

export const vmiStatus = async (site: Site, name: string): Promise<VMIStatus> =>
  ((await vmi(site, name))?.status ?? {}) as VMIStatus

export async function untilRunning(site: Site, name: string): Promise<void> {
  await until(`${name} is Running`, async () => {
    const { phase } = await vmiStatus(site, name)
    return phase === 'Running' ? undefined : (phase ?? 'no instance')
  })
}

export async function untilStopped(site: Site, name: string): Promise<void> {
  await until(`${name} is stopped`, async () => {
    const left = (await podsOf(site, name)).map(({ metadata }) => metadata.name)
    if ((await vmi(site, name)) !== undefined) left.push('the instance')
    return left.length === 0 ? undefined : `${left.join(', ')} still there`
  })
}

/** The launcher pods of a VM that are there, the older ones first. */
export async function podsOf(site: Site, vm: string): Promise<Body[]> {
  const query = `labelSelector=kubevirt.io%3Dvirt-launcher,vm.kubevirt.io/name%3D${vm}`
  const { items } = must(await site.client.get(`${core(site)}/pods?${query}`))
  return items.toSorted((a, b) => a.metadata.creationTimestamp.localeCompare(b.metadata.creationTimestamp))
}

const phaseOf = (pod: Body): string => (pod.status as { phase?: string } | undefined)?.phase ?? ''
export const isDone = (pod: Body): boolean => ['Succeeded', 'Failed'].includes(phaseOf(pod))

/** An element of the annotation that multus reads. */
interface Selection {
  readonly name: string
  readonly interface?: string
  readonly 'ipam-claim-reference'?: string
}

export function selectionsOf(pod: Body): Selection[] {
  const text = pod.metadata.annotations?.['k8s.v1.cni.cncf.io/networks']
  return text === undefined ? [] : (JSON.parse(text) as Selection[])
}

export async function claimsOf(site: Site): Promise<Body[]> {
  return must(await site.client.get(`${cni(site)}/ipamclaims`)).items
}

export async function claim(site: Site, name: string): Promise<Body | undefined> {
  const { code, body } = await site.client.get(`${cni(site)}/ipamclaims/${name}`)
  return code === 200 ? body : undefined
}

export const ipsOf = (claim: Body | undefined): readonly string[] =>
  (claim?.status as { ips?: string[] } | undefined)?.ips ?? []

/** What is held, by address: the name of the claim, of this site alone. */
export async function holdsOf({ client, namespace }: Site): Promise<Map<string, string>> {
  const { items } = must(await client.get('/apis/mooring.dev/v1alpha1/holds'))
  const held = new Map<string, string>()
  for (const { spec, status } of items) {
    const { claimRef, address } = spec as { claimRef: { namespace: string; name: string }; address: string }
    const { state = 'held' } = (status ?? {}) as { state?: string }
    if (claimRef.namespace === namespace && state === 'held') held.set(address, claimRef.name)
  }
  return held
}

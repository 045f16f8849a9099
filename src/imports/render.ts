// The objects of an import, in the order in which they have to be made: the namespace, its network, the IPPools that keep MACs and
// addresses for their machines and for no others, and the machines, stopped. The same plan gives the same bytes.

import {
  addressesAnnotation,
  defaultNetworkAnnotation,
  importSourceAnnotation,
  placeholdersAnnotation,
  primaryNetworkLabel,
} from '../api/names.ts'
import { toIPText } from '../ip/address.ts'
import { containsIP, toCIDRText } from '../ip/cidr.ts'
import { type MACText, parseMAC } from '../ip/mac.ts'
import { isMalformed } from '../ip/malformed.ts'
import type { KubeObject } from '../kube/object.ts'
import { type PlannedCard, type PlannedMachine, sourceIdOf } from './cards.ts'
import type { Mapping } from './mapping.ts'
import { type ImportTarget, importedAs, type TargetNetwork, type TargetPool } from './target.ts'

export function renderImport(
  planned: readonly PlannedMachine[],
  mapping: Mapping,
  target: ImportTarget,
): readonly KubeObject[] {
  const cards = planned.flatMap(machine => machine.cards)
  const hasPrimary = cards.some(card => card.target.to === 'primary')
  const names = new Set(cards.flatMap(card => (card.target.to === 'primary' ? [card.target.network] : [])))
  const networks = target.networks.filter(({ name, isProposed }) => isProposed && names.has(name)).toSorted(byName)
  // By now it has disks: it would lose them to the placeholders.
  const isThere = ({ source, name }: PlannedMachine) => importedAs(target, mapping.namespace, name, sourceIdOf(source))
  return [
    ...(target.namespaces.has(mapping.namespace) ? [] : [toNamespace(mapping.namespace, hasPrimary)]),
    ...networks.map(toClusterUDN),
    ...toPools(planned, mapping, target),
    ...planned.filter(machine => !isThere(machine)).map(machine => toVirtualMachine(machine, mapping, target)),
  ]
}

const byName = (one: { readonly name: string }, other: { readonly name: string }): number =>
  one.name < other.name ? -1 : 1

const toNamespace = (name: string, hasPrimary: boolean): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, ...(hasPrimary && { labels: { [primaryNetworkLabel]: '' } }) },
})

function toClusterUDN({ name, subnets, gateways, infrastructure, namespaceSelector }: TargetNetwork) {
  return {
    apiVersion: 'k8s.ovn.org/v1',
    kind: 'ClusterUserDefinedNetwork',
    metadata: { name },
    spec: {
      namespaceSelector: { matchLabels: namespaceSelector.matchLabels },
      network: {
        topology: 'Layer2',
        layer2: {
          role: 'Primary',
          subnets: subnets.map(toCIDRText),
          ipam: { lifecycle: 'Persistent' },
          defaultGatewayIPs: gateways.map(toIPText),
          infrastructureSubnets: infrastructure.map(toCIDRText),
        },
      },
    },
  }
}

// --- pools ---

/** A network has one IPPool: where there is one, it is written whole, with what it has. */
function toPools(planned: readonly PlannedMachine[], { namespace }: Mapping, target: ImportTarget): KubeObject[] {
  const kept = new Map<string, Kept[]>()
  for (const { name: virtualMachine, cards } of planned) {
    for (const card of cards) {
      const { mac, networkName, ips } = card
      if (mac === undefined || networkName === undefined || ips.length === 0) continue
      const its = kept.get(networkName) ?? []
      its.push({ mac, card, binding: { namespace, virtualMachine } })
      kept.set(networkName, its)
    }
  }
  return [...kept]
    .map(([networkName, its]) => poolOf(networkName, its, target))
    .toSorted(byName)
    .map(toPool)
}

interface Kept {
  readonly mac: MACText
  readonly card: PlannedCard
  readonly binding: TargetPool['bindings'][string]
}

function poolOf(networkName: string, kept: readonly Kept[], { pools }: ImportTarget): TargetPool {
  const there = pools.find(pool => pool.networkName === networkName)
  const macs = new Set(kept.map(({ mac }) => mac))
  // However it is spelled there: two spellings of one MAC would be two entries, of which none is served.
  const others = <T>(map: Readonly<Record<string, T>> = {}) =>
    Object.entries(map).filter(([key]) => {
      const mac = parseMAC(key)
      return isMalformed(mac) || !macs.has(mac)
    })
  return {
    name: there?.name ?? nameOf(networkName, kept),
    networkName,
    entries: Object.fromEntries([...others(there?.entries), ...kept.map(({ mac, card }) => [mac, cidrsOf(card)])]),
    bindings: Object.fromEntries([...others(there?.bindings), ...kept.map(({ mac, binding }) => [mac, binding])]),
  }
}

function nameOf(networkName: string, [first]: readonly Kept[]): string {
  const to = first?.card.target
  if (to === undefined) return networkName
  return to.to === 'primary' ? to.network : `${to.namespace}.${to.name}`
}

const toPool = ({ name, networkName, entries, bindings }: TargetPool) => ({
  apiVersion: 'ippool.k8s.cni.cncf.io/v1alpha',
  kind: 'IPPool',
  metadata: { name },
  spec: { 'network-name': networkName, entries: sorted(entries), bindings: sorted(bindings) },
})

const sorted = <T>(map: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(map).toSorted(([one], [other]) => (one < other ? -1 : 1)))

/** With the length of the subnet, which is that of the network and not of the guest. */
function cidrsOf({ ips, subnets }: PlannedCard): string[] {
  return ips.flatMap(ip => {
    const subnet = subnets.find(one => containsIP(one, ip))
    return subnet === undefined ? [] : [toCIDRText({ ip, bits: subnet.bits })]
  })
}

// --- machines ---

/** Stands in for what an import of the network does not know; the annotation says so. */
const placeholderMemory = '2Gi'
const placeholderDisk = 'disk-0'

function toVirtualMachine({ source, name, cards }: PlannedMachine, { namespace }: Mapping, { parts }: ImportTarget) {
  const requests = requestsOf(cards, parts)
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: {
      name,
      namespace,
      annotations: { [importSourceAnnotation]: sourceIdOf(source), [placeholdersAnnotation]: 'disks, memory' },
    },
    spec: {
      runStrategy: 'Halted',
      template: {
        ...(Object.keys(requests).length > 0 && { metadata: { annotations: requests } }),
        spec: {
          domain: {
            memory: { guest: placeholderMemory },
            devices: {
              disks: [{ name: placeholderDisk, disk: { bus: 'virtio' } }],
              interfaces: cards.map(toInterface),
            },
          },
          networks: cards.map(toNetworkOfMachine),
          volumes: [{ name: placeholderDisk, persistentVolumeClaim: { claimName: `${name}-${placeholderDisk}` } }],
        },
      },
    },
  }
}

function toInterface({ interface: name, nic, target, mac }: PlannedCard): object {
  return {
    name,
    ...(target.to === 'primary' ? { binding: { name: 'l2bridge' } } : { bridge: {} }),
    ...(mac !== undefined && { macAddress: mac }),
    ...(!nic.startConnected && { state: 'down' }),
  }
}

function toNetworkOfMachine({ interface: name, target }: PlannedCard): object {
  if (target.to === 'primary') return { name, pod: {} }
  return { name, multus: { networkName: `${target.namespace}/${target.name}` } }
}

/** The annotations of the template. OVN-Kubernetes reads the second one itself; ipam-extensions refuses pods that have it. */
function requestsOf(cards: readonly PlannedCard[], parts: ImportTarget['parts']): Record<string, string> {
  const asking = cards.filter(({ ips }) => ips.length > 0)
  const isDirect = ({ target }: PlannedCard) => !parts.hasIPAMExtensions && target.to === 'primary'
  const byInterface = asking.filter(card => !isDirect(card)).map(card => [card.interface, card.ips.map(toIPText)])
  const direct = asking.find(isDirect)
  const element = direct && {
    name: 'default',
    namespace: parts.defaultNetworkNamespace,
    ips: cidrsOf(direct),
    ...(direct.mac !== undefined && { mac: direct.mac }),
  }
  return {
    ...(byInterface.length > 0 && { [addressesAnnotation]: JSON.stringify(Object.fromEntries(byInterface)) }),
    ...(element && { [defaultNetworkAnnotation]: JSON.stringify([element]) }),
  }
}

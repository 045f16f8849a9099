// What an import would meet, read from an API server: listed once, nothing is written. A kind that is not installed has no objects;
// one that the user may not read is named, since conflicts with it are not found.

import { parseHold } from '../api/hold.ts'
import { type IPAMClaim, parseIPAMClaim } from '../api/ipam-claim.ts'
import type { Lock } from '../api/lock.ts'
import { parseMACHold } from '../api/mac-hold.ts'
import { domainAnnotation, importSourceAnnotation, networkNameAnnotation, podNetworksAnnotation } from '../api/names.ts'
import { childOf, isRecord, jsonOf, ownText, shapeOf, shapesOf, textOf } from '../api/shape.ts'
import { parseUserDefinedNetwork } from '../api/user-defined-network.ts'
import { parseVirtualMachine, parseVirtualMachineInstance, type VMInterface } from '../api/virtual-machine.ts'
import * as office from '../controllers/office/kinds.ts'
import { ipamClaims, pods, virtualMachineInstances, virtualMachines } from '../controllers/vm/kinds.ts'
import { ipsOf } from '../controllers/vm/pods/annotation.ts'
import { fromValue, type IPText, parseIP, toIPText } from '../ip/address.ts'
import { type CIDR, parseCIDR, toCIDR, toNetwork } from '../ip/cidr.ts'
import { type MACText, parseMAC } from '../ip/mac.ts'
import { isMalformed, type Malformed } from '../ip/malformed.ts'
import { isApiError } from '../kube/api-error.ts'
import type { Client } from '../kube/client.ts'
import { defineKind, type Kind, type KubeObject, keyOf, nameOfKind } from '../kube/object.ts'
import { type Attachment, type MooringReading, networkNameOf, parseAttachment } from '../networks/attachment.ts'
import {
  type ImportTarget,
  noTarget,
  type TargetAddress,
  type TargetAttachment,
  type TargetCard,
  type TargetNetwork,
  type TargetParts,
  type TargetPool,
} from './target.ts'

const kubeVirts = defineKind<KubeObject>({
  group: 'kubevirt.io',
  versions: ['v1'],
  plural: 'kubevirts',
  kind: 'KubeVirt',
  namespaced: true,
})

const services = defineKind<KubeObject>({
  group: '',
  versions: ['v1'],
  plural: 'services',
  kind: 'Service',
  namespaced: true,
})

const dnsServices = [
  { namespace: 'kube-system', name: 'kube-dns' },
  { namespace: 'openshift-dns', name: 'dns-default' },
]

/** What the administrator knows about the cluster, and no object says. */
export type DeclaredParts = Pick<
  TargetParts,
  'hasPreconfiguredAddresses' | 'hasIPAMExtensions' | 'defaultNetworkNamespace'
>

export async function readTarget(client: Client, declared: DeclaredParts): Promise<ImportTarget> {
  const unread: string[] = []
  const list = async (kind: Kind): Promise<readonly KubeObject[]> => {
    try {
      return (await client.list(kind)).items
    } catch (error) {
      if (isApiError(error, 'NotInstalled')) return []
      if (!isApiError(error, 'Forbidden')) throw error
      unread.push(nameOfKind(kind))
      return []
    }
  }
  // One after the other: a plan is no reason to burden the server.
  const attachments = read(await list(office.attachments), parseAttachment)
  const claims = read(await list(ipamClaims), parseIPAMClaim)
  const machines = await list(virtualMachines)
  const launchers = await list(pods)
  const holds = read(await list(office.holds), parseHold)
  const macHolds = read(await list(office.macHolds), parseMACHold)
  const isOVNInstalled = await isInstalled(client, office.egressIPs)
  const claimed = new Map(claims.map(claim => [keyOfMetadata(claim), vmOf(claim)]))
  const names = new Map(attachments.map(one => [one.key, networkNameOf(one)]))
  return {
    ...noTarget,
    namespaces: new Map(
      (await list(office.namespaces)).map(({ metadata }) => [metadata.name ?? '', metadata.labels ?? {}]),
    ),
    networks: (await list(office.clusterUserDefinedNetworks)).flatMap(toTargetNetworks),
    attachments: new Map(attachments.map(one => [one.key, toAttachment(one, isOVNInstalled)])),
    machines: machines.map(({ metadata }) => ({
      namespace: metadata.namespace ?? '',
      name: metadata.name ?? '',
      source: metadata.annotations?.[importSourceAnnotation],
    })),
    cards: firstOfEach([
      ...machines.flatMap(cardsOfMachine),
      ...(await list(virtualMachineInstances)).flatMap(cardsOfInstance),
      ...launchers.flatMap(cardsOfPod),
      ...macHolds.map(hold => ({ mac: hold.mac, ...heldBy('MACHold', hold, claimed) })),
    ]),
    addresses: firstOfEach([
      ...claims.flatMap(addressesOfClaim),
      ...holds.map(hold => ({ ip: hold.address, networkName: hold.space, ...heldBy('Hold', hold, claimed) })),
      ...launchers.flatMap(pod => addressesOfPod(pod, names)),
    ]),
    pools: (await list(office.ipPools)).map(toPool),
    parts: { ...noTarget.parts, ...declared, hasL2Bridge: l2BridgeIn(await list(kubeVirts)) },
    dns: await dnsOf(client),
    unread: unread.toSorted(),
  }
}

/** Whether the user may read its objects or not. */
function isInstalled(client: Client, kind: Kind): Promise<boolean> {
  return client.list(kind).then(
    () => true,
    error => {
      if (isApiError(error, 'NotInstalled', 'Forbidden')) return isApiError(error, 'Forbidden')
      throw error
    },
  )
}

/** Without what cannot be read: it is of no use to its owner either. */
function read<T>(objects: readonly KubeObject[], parse: (object: unknown) => T | Malformed): T[] {
  return objects.map(object => parse(object)).flatMap(one => (isMalformed(one) ? [] : [one]))
}

// --- networks ---

function toTargetNetworks(object: KubeObject): TargetNetwork[] {
  const udn = parseUserDefinedNetwork(object)
  if (isMalformed(udn) || udn.namespaceSelector === undefined) return []
  const cidrs = (texts: readonly string[]) => texts.flatMap(text => readableCIDR(text))
  return [
    {
      name: udn.metadata.name,
      topology: udn.topology,
      isPrimary: udn.isPrimary,
      isPersistent: udn.isPersistent,
      subnets: cidrs(udn.subnets),
      gateways: udn.defaultGatewayIPs.map(text => parseIP(text)).flatMap(ip => (isMalformed(ip) ? [] : [ip])),
      infrastructure: cidrs(udn.infrastructureSubnets),
      namespaceSelector: udn.namespaceSelector,
      isOfMooring: ownText(udn.metadata.annotations, networkNameAnnotation) !== undefined,
      isProposed: false,
    },
  ]
}

function readableCIDR(text: string): CIDR[] {
  const cidr = parseCIDR(text)
  return isMalformed(cidr) ? [] : [toNetwork(cidr)]
}

/** OVN-Kubernetes serves requests on primary networks alone; Mooring does on those that it gives out addresses of. */
function toAttachment({ key, reading, isServedByOVN }: Attachment, isOVNInstalled: boolean): TargetAttachment {
  switch (reading.family) {
    case 'ovn': {
      const { allowsPersistentIPs, isPrimary, subnets } = reading.config
      const isServed = allowsPersistentIPs && !isPrimary && !isServedByOVN && !isOVNInstalled
      return { networkName: reading.name, isPrimary, subnets: isServed ? subnets : [] }
    }
    case 'mooring':
      return {
        networkName: reading.name,
        isPrimary: false,
        subnets: reading.allowsPersistentIPs ? subnetsOf(reading) : [],
      }
    default:
      return { networkName: key, isPrimary: false, subnets: [] }
  }
}

/** None where the addresses are those of a pool: a pool keeps some by its preAllocations. */
function subnetsOf({ config: { from } }: MooringReading): CIDR[] {
  if ('pool' in from) return []
  return from.ranges.flatMap(({ family, prefix, addresses }) => {
    const [first] = addresses.ranges
    return first === undefined ? [] : [toNetwork(toCIDR(fromValue(family, first.first), prefix))]
  })
}

// --- MACs ---

const cardsOf = (interfaces: readonly VMInterface[], owner: string, vm: string): TargetCard[] =>
  interfaces.flatMap(({ mac }) => cardOf(mac, owner, vm))

function cardOf(text: unknown, owner: string, vm: string | undefined): TargetCard[] {
  const mac = typeof text === 'string' && text !== '' ? parseMAC(text) : undefined
  return mac === undefined || isMalformed(mac) ? [] : [{ mac, owner, vm }]
}

function cardsOfMachine(object: KubeObject): TargetCard[] {
  const vm = parseVirtualMachine(object)
  return isMalformed(vm) ? [] : cardsOf(vm.interfaces, `VirtualMachine ${keyOf(object)}`, keyOf(object))
}

/** A card may have got its MAC from KubeVirt: the spec then has none. */
function cardsOfInstance(object: KubeObject): TargetCard[] {
  const vmi = parseVirtualMachineInstance(object)
  const [owner, key] = [`VirtualMachineInstance ${keyOf(object)}`, keyOf(object)]
  const status = childOf(shapeOf(object, '', []), 'status')
  const shown = shapesOf(status, 'interfaces').flatMap(one => cardOf(textOf(one, 'mac'), owner, key))
  return [...(isMalformed(vmi) ? [] : cardsOf(vmi.interfaces, owner, key)), ...shown]
}

/** Namespace/name of the attachment, and its entry, of what OVN-Kubernetes configured a pod with that can still run. */
function entriesOfPod({ metadata, ...rest }: KubeObject): [string, Readonly<Record<string, unknown>>][] {
  const phase = textOf(childOf(shapeOf(rest, '', []), 'status'), 'phase')
  if (phase === 'Succeeded' || phase === 'Failed') return []
  const value = jsonOf(metadata.annotations?.[podNetworksAnnotation] ?? '')
  return isRecord(value) ? Object.entries(value).flatMap(([key, one]) => (isRecord(one) ? [[key, one]] : [])) : []
}

const vmOfPod = ({ metadata: { namespace, annotations } }: KubeObject): string | undefined =>
  annotations?.[domainAnnotation] === undefined ? undefined : `${namespace}/${annotations[domainAnnotation]}`

const cardsOfPod = (pod: KubeObject): TargetCard[] =>
  entriesOfPod(pod).flatMap(([, entry]) => cardOf(entry.mac_address, `Pod ${keyOf(pod)}`, vmOfPod(pod)))

// --- addresses ---

const keyOfMetadata = ({ metadata: { namespace, name } }: Pick<IPAMClaim, 'metadata'>): string => `${namespace}/${name}`

const vmOf = ({ metadata, vm }: IPAMClaim): string | undefined =>
  vm === undefined ? undefined : `${metadata.namespace}/${vm}`

function addressesOfClaim(claim: IPAMClaim): TargetAddress[] {
  const owner = `IPAMClaim ${keyOfMetadata(claim)}`
  return claim.ips.flatMap(text => {
    const cidr = parseCIDR(text)
    if (isMalformed(cidr)) return []
    return [{ ip: toIPText(cidr.ip), networkName: claim.network, owner, vm: vmOf(claim) }]
  })
}

function heldBy(
  kind: string,
  { claim, metadata, state, until }: Lock,
  claims: ReadonlyMap<string, string | undefined>,
) {
  const key = `${claim.namespace}/${claim.name}`
  const rests = state === 'quarantined' ? `, which rests until ${until ?? 'it is released'}` : ''
  return { owner: `${kind} ${metadata.name} of ${claim.kind} ${key}${rests}`, vm: claims.get(key) }
}

function addressesOfPod(pod: KubeObject, names: ReadonlyMap<string, string | undefined>): TargetAddress[] {
  return entriesOfPod(pod).flatMap(([key, entry]) => {
    const networkName = names.get(key.split('/').slice(0, 2).join('/'))
    if (networkName === undefined) return []
    return ipsOf(entry).map(ip => ({ ip: toIPText(ip), networkName, owner: `Pod ${keyOf(pod)}`, vm: vmOfPod(pod) }))
  })
}

/** What a claim shows is shown by its hold and its pod too: one of them is enough to say. */
function firstOfEach<
  T extends {
    readonly mac?: MACText
    readonly ip?: IPText
    readonly networkName?: string
    readonly vm: string | undefined
  },
>(all: readonly T[]): T[] {
  const seen = new Set<string>()
  return all.filter(({ mac, ip, networkName, vm }) => {
    const key = `${mac} ${ip} ${networkName} ${vm}`
    if (vm !== undefined && seen.has(key)) return false
    seen.add(key)
    return true
  })
}

// --- the rest ---

function toPool({ metadata, ...rest }: KubeObject): TargetPool {
  const spec = childOf(shapeOf(rest, '', []), 'spec')
  const mapOf = (key: string) => (isRecord(spec.value[key]) ? spec.value[key] : {})
  return {
    name: metadata.name ?? '',
    networkName: textOf(spec, 'network-name') ?? '',
    entries: mapOf('entries') as TargetPool['entries'],
    bindings: mapOf('bindings') as TargetPool['bindings'],
  }
}

/** Not known where there is no KubeVirt: it may be installed later. */
function l2BridgeIn(found: readonly KubeObject[]): boolean | undefined {
  if (found.length === 0) return undefined
  return found.some(object => {
    const path = ['spec', 'configuration', 'network', 'binding', 'l2bridge']
    return isRecord(path.reduce<unknown>((value, key) => (isRecord(value) ? value[key] : undefined), object))
  })
}

async function dnsOf(client: Client): Promise<readonly IPText[] | undefined> {
  for (const ref of dnsServices) {
    const service = await client.get(services, ref).catch(error => {
      if (isApiError(error, 'Forbidden', 'NotInstalled')) return undefined
      throw error
    })
    if (service === undefined) continue
    const ip = parseIP(textOf(childOf(shapeOf(service, '', []), 'spec'), 'clusterIP') ?? '')
    if (!isMalformed(ip)) return [toIPText(ip)]
  }
  return undefined
}

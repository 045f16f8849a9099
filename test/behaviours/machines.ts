// Virtual machines, and what KubeVirt and a node would do with them, done by hand and step by step: a story says when a pod
// comes, where it runs, and when it ends. Real KubeVirt is in test/kubevirt.

import { createHash } from 'node:crypto'
import { expect } from 'vitest'
import { ipamClaims, pods } from '../../src/controllers/vm/kinds.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { events, holds, macHolds } from './kinds.ts'
import type { Stored, Thing, World } from './world.ts'

type Fields = Readonly<Record<string, unknown>>

const run = Math.random().toString(36).slice(2, 6)
let count = 0
/** Networks of OVN-Kubernetes share their names with every other test on the server. */
export const nextName = (what: string): string => `${what}-${run}-${++count}`

const kubevirt = 'kubevirt.io/v1'
const vmFinalizer = 'kubevirt.io/virtualMachineControllerFinalize'
const vmiFinalizer = 'kubevirt.io/foregroundDeleteVirtualMachine'

/** A NetworkAttachmentDefinition; its config as it is given, or as a text. */
export function anAttachment(
  config: Fields | string,
  metadata: Fields = {},
): KubeObject & { metadata: { name: string } } {
  const attachment = {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { name: nextName('net'), ...metadata },
    spec: { config: typeof config === 'string' ? config : JSON.stringify(config) },
  }
  return attachment
}

/** In the style of OVN-Kubernetes: a layer2 network of both families, unless it is said otherwise, that keeps addresses. */
export function anOVNNetwork(config: Fields = {}, metadata: Fields = {}) {
  const name = nextName('net')
  return anAttachment(
    {
      cniVersion: '1.1.0',
      name: nextName('tenant'),
      type: 'ovn-k8s-cni-overlay',
      topology: 'layer2',
      subnets: '10.100.0.0/24,fd00:100::/64',
      allowPersistentIPs: true,
      ...config,
    },
    { name, ...metadata },
  )
}

/** In the place of the pod network of a namespace: as OVN-Kubernetes has it, the config names its own object. */
export function aPrimaryNetwork(namespace: string, config: Fields = {}) {
  const name = nextName('net')
  return anOVNNetwork({ role: 'primary', netAttachDefName: `${namespace}/${name}`, ...config }, { name, namespace })
}

/** A bridge whose addresses come from Mooring. */
export const aBridge = (ipam: Fields, config: Fields = {}) =>
  anAttachment({
    cniVersion: '1.0.0',
    name: nextName('bridge'),
    type: 'bridge',
    ipam: { type: 'mooring', ...ipam },
    ...config,
  })

export const configOf = (attachment: KubeObject): Fields & { readonly name: string } =>
  JSON.parse((attachment as Stored).spec.config)

export interface Plugged {
  /** Of the interface and its network inside of the machine. */
  readonly name: string
  /** `name`, or `namespace/name`, of a NetworkAttachmentDefinition; the pod network without it. */
  readonly attachment?: string
  readonly mac?: string
  readonly state?: 'absent'
}

const templateOf = (plugged: readonly Plugged[]) => ({
  domain: {
    devices: {
      interfaces: plugged.map(({ name, mac, state }) => ({
        name,
        bridge: {},
        ...(mac && { macAddress: mac }),
        ...(state && { state }),
      })),
    },
  },
  networks: plugged.map(({ name, attachment }) =>
    attachment === undefined ? { name, pod: {} } : { name, multus: { networkName: attachment } },
  ),
})

/** What the template asks for, by annotations; MACs are in `Plugged`. */
export interface Asking {
  /** By interface. */
  readonly addresses?: Readonly<Record<string, readonly string[]>>
  readonly defaultNetwork?: object
}

const toAnnotations = ({ addresses, defaultNetwork }: Asking) => ({
  ...(addresses && { 'network.kubevirt.io/addresses': JSON.stringify(addresses) }),
  ...(defaultNetwork && { 'v1.multus-cni.io/default-network': JSON.stringify([defaultNetwork]) }),
})

interface PodOptions {
  readonly labels?: Fields
  readonly annotations?: Fields
  readonly node?: string
  /** It names its claims; left to the webhook otherwise. */
  readonly isReferred?: boolean
}

/** `pod`, and the first eleven digits of the hash. */
export const interfaceOf = (network: string): string =>
  `pod${createHash('sha256').update(network).digest('hex').slice(0, 11)}`

/** A machine on these networks, each of an interface `net1`, `net2`, ... unless it is given as it is. */
export class Machine {
  readonly world: World
  readonly name: string
  readonly namespace: string
  #plugged: readonly Plugged[]
  #asking: Asking

  private constructor(world: World, name: string, plugged: readonly Plugged[], namespace: string, asking: Asking = {}) {
    this.world = world
    this.name = name
    this.namespace = namespace
    this.#plugged = plugged
    this.#asking = asking
  }

  /** The VirtualMachine exists; nothing runs. */
  static async made(
    world: World,
    on: readonly (KubeObject | Plugged)[],
    name = nextName('vm'),
    namespace = world.home,
    asking: Asking = {},
  ) {
    const machine = new Machine(world, name, on.map(toPlugged(namespace)), namespace, asking)
    await world.create({
      ...machine.#draft('VirtualMachine'),
      metadata: { name, namespace, finalizers: [vmFinalizer] },
      spec: {
        runStrategy: 'Always',
        template: { metadata: { annotations: toAnnotations(asking) }, spec: templateOf(machine.#plugged) },
      },
    } as KubeObject)
    return machine
  }

  /** A VirtualMachineInstance without a VirtualMachine. */
  static async lone(world: World, on: readonly (KubeObject | Plugged)[], name = nextName('vmi')) {
    const machine = new Machine(world, name, on.map(toPlugged(world.home)), world.home)
    await machine.#makeInstance([])
    return machine
  }

  get vm(): Thing {
    return this.#draft('VirtualMachine')
  }

  get vmi(): Thing {
    return this.#draft('VirtualMachineInstance')
  }

  /** By the name of the interface. */
  claim(network = 'net1'): Thing {
    return this.claimNamed(`${this.name}.${network}`)
  }

  claimNamed(name: string): Thing {
    return { apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim', metadata: { name, namespace: this.namespace } }
  }

  /** The instance, and a pod that runs on a node. */
  async started(more: PodOptions = {}): Promise<Stored> {
    if ((await this.world.get(this.vmi)) === undefined) {
      const vm = await this.world.get(this.vm)
      await this.#makeInstance(vm === undefined ? [] : [ownerOf(vm)])
    }
    return this.aPod(more)
  }

  /** A launcher pod on a node, as KubeVirt would render it; without the webhook the reference is written here. */
  async aPod(more: PodOptions = {}): Promise<Stored> {
    const vmi = (await this.world.get(this.vmi)) as Stored
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: nextName(`virt-launcher-${this.name}`.slice(0, 200)),
        namespace: this.namespace,
        labels: { 'kubevirt.io': 'virt-launcher', 'kubevirt.io/created-by': vmi.metadata.uid, ...more.labels },
        annotations: {
          'kubevirt.io/domain': this.name,
          'k8s.v1.cni.cncf.io/networks': this.networksText(more.isReferred ?? true),
          ...vmi.metadata.annotations,
          ...(more.isReferred !== false && this.#primaryClaim()),
          ...more.annotations,
        },
        ownerReferences: [ownerOf(vmi)],
      },
      spec: { nodeName: more.node ?? 'node-1', containers: [{ name: 'compute', image: 'launcher' }] },
    }
    return createPod(this.world, pod as KubeObject)
  }

  /** On the pod network: for OVN-Kubernetes the claim is named in an annotation. */
  #primaryClaim(): Fields {
    const onPodNetwork = this.#plugged.find(({ attachment }) => attachment === undefined)
    return onPodNetwork === undefined
      ? {}
      : { 'k8s.ovn.org/primary-udn-ipamclaim': `${this.name}.${onPodNetwork.name}` }
  }

  /** The template asks for something else from now on; an instance that runs does not. */
  async asks(asking: Asking): Promise<void> {
    const now = { 'network.kubevirt.io/addresses': null, 'v1.multus-cni.io/default-network': null }
    this.#asking = asking
    const annotations = { ...now, ...toAnnotations(asking) }
    await this.world.patch(this.vm, { spec: { template: { metadata: { annotations } } } })
  }

  networksText(isReferred: boolean): string {
    const elements = this.#plugged.flatMap(({ name, attachment, mac, state }) => {
      if (attachment === undefined || state === 'absent') return []
      const [namespace, nad] = attachment.includes('/') ? attachment.split('/') : [this.namespace, attachment]
      const reference = isReferred ? { 'ipam-claim-reference': `${this.name}.${name}` } : {}
      return [{ name: nad, namespace, ...(mac && { mac }), interface: interfaceOf(name), ...reference }]
    })
    return JSON.stringify(elements)
  }

  /** The target of a live migration. */
  async migrating(node = 'node-2'): Promise<Stored> {
    return this.aPod({ labels: { 'kubevirt.io/migrationJobUID': 'job' }, node })
  }

  /** The pod ends by itself. */
  async completed(pod: Thing, phase: 'Succeeded' | 'Failed' = 'Succeeded'): Promise<void> {
    await this.world.patch(pod, { status: { phase } }, 'status')
  }

  /** The pod ends and goes, as a kubelet says it: also where the API server waits for that. */
  async ended(pod: Stored): Promise<void> {
    await this.completed(pod)
    const { name = '', namespace = '' } = pod.metadata
    await this.world.client.delete(pods, { name, namespace }, { graceSeconds: 0 })
  }

  /** Everything that ran is gone; the VirtualMachine stays. */
  async stopped(...pods: Stored[]): Promise<void> {
    for (const pod of pods) await this.ended(pod)
    await this.world.delete(this.vmi)
    await this.#unguard(this.vmi)
  }

  /** KubeVirt lets go of what is being deleted. The garbage collector may take its own finalizer off at the same time. */
  #unguard(thing: Thing): Promise<void> {
    return this.world.eventually(async () => {
      const stored = await this.world.get(thing)
      const { finalizers = [], resourceVersion } = stored?.metadata ?? {}
      const others = finalizers.filter(one => !one.startsWith('kubevirt.io/'))
      if (others.length === finalizers.length) return
      await this.world.patch(thing, { metadata: { finalizers: others, resourceVersion } })
    })
  }

  async deleted(propagation?: 'Foreground' | 'Orphan'): Promise<void> {
    await this.world.delete(this.vm, propagation)
  }

  /** KubeVirt's finalizer comes off: the VirtualMachine may go. */
  async letGo(): Promise<void> {
    await this.#unguard(this.vm)
  }

  async letGoOfInstance(): Promise<void> {
    await this.#unguard(this.vmi)
  }

  /** Plugged and unplugged: the template, and the instance if there is one. */
  async replug(on: readonly (KubeObject | Plugged)[]): Promise<void> {
    this.#plugged = on.map(toPlugged(this.namespace))
    if ((await this.world.get(this.vm)) !== undefined)
      await this.world.patch(this.vm, { spec: { template: { spec: templateOf(this.#plugged) } } })
    if ((await this.world.get(this.vmi)) !== undefined)
      await this.world.patch(this.vmi, { spec: templateOf(this.#plugged) })
  }

  #draft(kind: string): KubeObject {
    return { apiVersion: kubevirt, kind, metadata: { name: this.name, namespace: this.namespace } }
  }

  async #makeInstance(ownerReferences: readonly object[]): Promise<void> {
    await this.world.create({
      ...this.#draft('VirtualMachineInstance'),
      metadata: {
        name: this.name,
        namespace: this.namespace,
        finalizers: [vmiFinalizer],
        ownerReferences,
        annotations: toAnnotations(this.#asking),
      },
      spec: templateOf(this.#plugged),
    } as KubeObject)
  }
}

/** A namespace that has just been made has no service account yet; any other refusal is one. */
export async function createPod(world: World, pod: KubeObject): Promise<Stored> {
  const made = await world.eventually(async () =>
    world.create(pod).catch((error: Error) => {
      if (/service ?account/i.test(error.message)) throw error
      return error
    }),
  )
  if (made instanceof Error) throw made
  return made
}

const toPlugged =
  (namespace: string) =>
  (on: KubeObject | Plugged, at: number): Plugged => {
    if (!('metadata' in on)) return on as Plugged
    const { metadata } = on as KubeObject
    const isHere = metadata.namespace === undefined || metadata.namespace === namespace
    return {
      name: `net${at + 1}`,
      attachment: isHere ? (metadata.name ?? '') : `${metadata.namespace}/${metadata.name}`,
    }
  }

export const ownerOf = ({ apiVersion = '', kind = '', metadata }: KubeObject) => ({
  apiVersion,
  kind,
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
  controller: true,
  blockOwnerDeletion: true,
})

/** An IPAMClaim that a user makes; of no machine unless it says so. */
export const aClaimByHand = (network: KubeObject, metadata: Fields = {}): KubeObject => {
  const claim = {
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    metadata: { name: nextName('by-hand'), ...metadata },
    spec: { network: configOf(network).name, interface: '' },
  }
  return claim
}

/** A claim whose status shows addresses before Mooring has seen it. */
export async function wishing(world: World, network: Stored, ips: readonly string[]): Promise<Stored> {
  await world.desk.stop()
  const claim = await world.create(aClaimByHand(network))
  await world.patch(claim, { status: { ips } }, 'status')
  await world.desk.start()
  return claim
}

/** The claims of a machine, by what owns them. */
export async function claimsOf(world: World, machine: Machine): Promise<Stored[]> {
  const uid = (await world.get(machine.vm))?.metadata.uid
  return (await world.list(ipamClaims)).filter(({ metadata }) =>
    metadata.ownerReferences?.some(owner => owner.uid === uid),
  )
}

export const conditionOf = (claim: Stored | undefined, type = 'IPsAllocated') =>
  (claim?.status?.conditions as { type: string; status: string; reason: string; message: string }[] | undefined)?.find(
    condition => condition.type === type,
  )

/** The claim has addresses, says so, and each is held in its name and no more. */
export async function hasAddresses(
  world: World,
  claim: Thing,
  addresses?: readonly string[],
): Promise<readonly string[]> {
  return world.eventually(async () => {
    const stored = await world.get(claim)
    expect(conditionOf(stored) ?? 'nothing is said').toMatchObject({ status: 'True' })
    const ips: readonly string[] = stored?.status?.ips ?? []
    if (addresses !== undefined) expect(ips).toEqual(addresses)
    expect((await heldBy(world, stored)).toSorted()).toEqual(ips.map(ip => ip.split('/')[0]).toSorted())
    return ips
  })
}

export async function waitsFor(
  world: World,
  claim: Thing,
  reason: string,
  message: RegExp | string = '',
): Promise<void> {
  await world.eventually(async () => {
    const stored = await world.get(claim)
    expect(conditionOf(stored)).toMatchObject({ status: 'False', reason })
    expect(conditionOf(stored)?.message).toMatch(message)
    expect(stored?.status?.ips ?? []).toEqual([])
  })
}

/** Addresses that are held in the name of a claim. */
export async function heldBy(world: World, claim: Stored | undefined): Promise<string[]> {
  const { items } = await world.client.list(holds)
  return (items as Stored[])
    .filter(({ spec, status }) => spec.claimRef.uid === claim?.metadata.uid && status.state === 'held')
    .map(({ spec }) => spec.address)
}

/** Every row of the ledger in the space of a network. */
export async function locksIn(world: World, space: string): Promise<Stored[]> {
  const { items } = await world.client.list(holds)
  return (items as Stored[]).filter(({ spec }) => spec.space === space)
}

/** MACs that are held in the space of a network, each with the name of its claim. */
export async function macsIn(world: World, network: KubeObject): Promise<Readonly<Record<string, string>>> {
  const { items } = await world.client.list(macHolds)
  const found = (items as Stored[]).filter(
    ({ spec, status }) => spec.space === configOf(network).name && status.state === 'held',
  )
  return Object.fromEntries(found.map(({ spec }) => [spec.mac, spec.claimRef.name]))
}

export const macsBecome = (world: World, network: KubeObject, macs: Readonly<Record<string, string>>) =>
  world.eventually(async () => expect(await macsIn(world, network)).toEqual(macs))

/** The same, in a namespace of its own. */
export const aHomeNetwork = async (world: World, config: Fields = {}): Promise<Stored> =>
  world.create(aPrimaryNetwork(await world.anotherNamespace(), config))

export const nothingIsHeld = (world: World, network: KubeObject) =>
  world.eventually(async () => expect(await locksIn(world, configOf(network).name)).toEqual([]))

/** The claim is not served, says why, and shows what it showed before. */
export const says = (world: World, claim: Thing, reason: string | RegExp, ips: readonly string[]) =>
  world.eventually(async () => {
    const stored = await world.get(claim)
    expect(conditionOf(stored)).toMatchObject({ status: 'False', reason: expect.stringMatching(reason) })
    expect(stored?.status?.ips ?? []).toEqual(ips)
  })

/** There is such an event about the object. */
export const isWarned = (world: World, { metadata }: Stored, reason: string) =>
  world.eventually(async () =>
    expect((await warningsOf(world, { metadata } as Stored)).map(event => event.reason)).toContain(reason),
  )

/** In the words of the events about an object. */
export async function warningsOf(world: World, { metadata }: Stored): Promise<{ reason: string; note: string }[]> {
  const { items } = await world.client.list(events, { namespace: metadata.namespace ?? world.home })
  const about = items as unknown as { regarding: { uid?: string }; reason: string; note: string }[]
  return about.filter(({ regarding }) => regarding.uid === metadata.uid)
}

type Entry = Readonly<Record<string, unknown>>

/** The networks that a pod asks for, each with the claim that it was told. */
export const elementsOf = ({ metadata }: Stored): Readonly<Record<string, string>>[] =>
  JSON.parse(metadata.annotations?.['k8s.v1.cni.cncf.io/networks'] ?? '[]')

/** What the annotation of OVN-Kubernetes says, by the keys of networks. */
export async function toldTo(world: World, pod: Thing): Promise<Readonly<Record<string, Entry>>> {
  const text = (await world.get(pod))?.metadata.annotations?.['k8s.ovn.org/pod-networks']
  return JSON.parse(text ?? '{}')
}

export const isTold = (world: World, pod: Thing, key: string, entry: Entry) =>
  world.eventually(async () => expect((await toldTo(world, pod))[key]).toMatchObject(entry))

export const keyOf = (network: KubeObject, world: World) =>
  `${network.metadata.namespace ?? world.home}/${network.metadata.name}`

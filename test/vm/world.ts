// Virtual machines, their pods and their claims with good defaults, and what is promised about them, said once.

import { expect } from 'vitest'
import { capi } from '../../src/controllers/capi/desk.ts'
import type { Desk, DeskInView } from '../../src/controllers/desk.ts'
import type { Office } from '../../src/controllers/office/office.ts'
import { vm } from '../../src/controllers/vm/desk.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import type { Domain } from '../../src/runtime/domain.ts'
import { done } from '../../src/runtime/reconciler.ts'
import { holds } from '../behaviours/kinds.ts'
import { aWorld, type Stored, type Thing, type World, type WorldOptions } from '../behaviours/world.ts'
import { type NetworkStory, StoryNetworks } from './networks.ts'

const run = Math.random().toString(36).slice(2, 6)
let count = 0
export const nextName = (what: string): string => `${what}-${run}-${++count}`

export interface VMWorldUnderTest extends World {
  readonly networks: StoryNetworks
  readonly desks: readonly Desk[]
}

/** A world with these networks, which every process of it knows. Claims are the test's to make: no reconciler makes any. */
export async function aVMWorld(
  stories: readonly NetworkStory[],
  options: Omit<WorldOptions, 'desks'> = {},
): Promise<VMWorldUnderTest> {
  const networks = new StoryNetworks(...stories)
  const desks = [capi, { ...vm, see: (office: Office) => seeStories(office, networks) }]
  return { ...(await aWorld({ ...options, desks })), networks, desks }
}

function seeStories(office: Office, networks: StoryNetworks): DeskInView {
  const inView = vm.see({ ...office, networks: networks.open(office) })
  return { ...inView, open: domain => inView.open(withoutClaims(domain)) }
}

/** The reconciler that makes claims, and deletes those that no virtual machine asks for, does nothing. */
function withoutClaims(domain: Domain): Domain {
  const addReconciler: Domain['addReconciler'] = one =>
    domain.addReconciler(one.name === 'vm.claims' ? { ...one, reconcile: async () => done() } : one)
  return new Proxy(domain, {
    get(_, key) {
      const value: unknown = key === 'addReconciler' ? addReconciler : Reflect.get(domain, key)
      return typeof value === 'function' ? value.bind(domain) : value
    },
  })
}

export interface Machine {
  readonly vm: Stored
  readonly vmi: Stored
}

/** A virtual machine and its instance, of one name. */
export async function aMachine(world: World, name = nextName('vm')): Promise<Machine> {
  const vm = await world.create({
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    ...draft(name, {}, { template: { spec: {} } }),
  })
  return { vm, vmi: await anInstance(world, vm) }
}

function anInstance(world: World, vm: Stored): Promise<Stored> {
  const { name = '', namespace } = vm.metadata
  const placed = draft(name, { ownerReferences: [ownerOf(vm)], namespace })
  return world.create({ apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', ...placed })
}

function draft(name: string, more: object, spec: object = {}) {
  return { metadata: { name, ...more }, spec }
}

export const ownerOf = ({ apiVersion = '', kind = '', metadata: { name = '', uid = '' } }: KubeObject) => ({
  ...{ apiVersion, kind, name, uid },
  controller: true,
  blockOwnerDeletion: true,
})

interface ClaimParts {
  readonly name?: string
  readonly network?: string
  /** Empty for a claim that was made by hand. */
  readonly owner?: Stored | undefined
  readonly namespace?: string
  readonly isGuarded?: boolean
}

export function aClaim({ owner, network = 'blue', name, namespace, isGuarded = true }: ClaimParts = {}): KubeObject {
  const claim = {
    apiVersion: 'k8s.cni.cncf.io/v1alpha1',
    kind: 'IPAMClaim',
    metadata: {
      name: name ?? `${owner?.metadata.name ?? nextName('claim')}.${network}`,
      ...(namespace !== undefined && { namespace }),
      ...(isGuarded && { finalizers: ['kubevirt.io/persistent-ipam'] }),
      ...(owner && { labels: { 'kubevirt.io/vm': owner.metadata.name }, ownerReferences: [ownerOf(owner)] }),
    },
    spec: { network, interface: 'pod1' },
  }
  return claim as KubeObject
}

interface PodParts {
  readonly name?: string
  readonly claim?: string
  readonly network?: string
  readonly node?: string
  readonly elements?: readonly object[]
  readonly annotations?: Readonly<Record<string, string>>
  readonly isHostNetwork?: boolean
  readonly labels?: Readonly<Record<string, string>>
  /** It runs on until this finalizer is taken off, also when it is deleted. */
  readonly finalizers?: readonly string[]
  /** Of a tenant who writes what they like: no instance owns it. */
  readonly forgedIn?: string
}

export function aPod(vmi: Stored, parts: PodParts = {}): KubeObject {
  const { claim, network = 'blue', node = 'node-1', isHostNetwork = false } = parts
  const element = { name: network, ...(claim !== undefined && { 'ipam-claim-reference': claim }) }
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: parts.name ?? nextName('virt-launcher'),
      namespace: parts.forgedIn ?? vmi.metadata.namespace ?? 'default',
      labels: { 'kubevirt.io': 'virt-launcher', ...parts.labels },
      annotations: {
        'kubevirt.io/domain': vmi.metadata.name,
        'k8s.v1.cni.cncf.io/networks': JSON.stringify(parts.elements ?? [element]),
        ...parts.annotations,
      },
      ...(parts.forgedIn === undefined && { ownerReferences: [ownerOf(vmi)] }),
      ...(parts.finalizers && { finalizers: parts.finalizers }),
    },
    spec: {
      containers: [{ name: 'compute', image: 'launcher' }],
      // No kubelet is there to wait for.
      terminationGracePeriodSeconds: 0,
      ...(node !== '' && { nodeName: node }),
      ...(isHostNetwork && { hostNetwork: true }),
    },
  }
  return pod as KubeObject
}

export const ends = (world: World, pod: Thing, phase: 'Succeeded' | 'Failed' = 'Succeeded') =>
  world.patch(pod, { status: { phase } }, 'status')

// --- what is promised ---

export interface Said {
  readonly status: string
  readonly reason: string
  readonly message: string
}

export function saidBy(claim: Stored | undefined, type: 'IPsAllocated' | 'IPAllocated'): Said | undefined {
  const conditions: (Said & { readonly type: string })[] = claim?.status?.conditions ?? []
  return conditions.find(condition => condition.type === type)
}

/** It has its addresses, says so in both conditions, and holds just that. */
export async function isServed(world: World, claim: Thing, ips?: readonly string[]): Promise<readonly string[]> {
  return world.eventually(async () => {
    const stored = await world.get(claim)
    const said = saidBy(stored, 'IPsAllocated')
    expect(said?.status === 'True' ? 'served' : `${said?.reason} ${said?.message}`).toBe('served')
    expect(said?.reason).toBe('SuccessfulAllocation')
    expect(saidBy(stored, 'IPAllocated')).toMatchObject({ ...said, type: 'IPAllocated' })
    const found: string[] = stored?.status.ips
    if (ips !== undefined) expect(found).toEqual(ips)
    expect(await heldBy(world, stored)).toEqual(found.map(ip => ip.split('/')[0]).toSorted())
    return found
  })
}

/** It says why it waits, in both conditions. */
export async function waits(
  world: World,
  claim: Thing,
  reason: string,
  message: RegExp | string,
  seedReason = reason,
): Promise<void> {
  await world.eventually(async () => {
    const stored = await world.get(claim)
    expect(saidBy(stored, 'IPsAllocated')).toMatchObject({ status: 'False', reason })
    expect(saidBy(stored, 'IPsAllocated')?.message).toMatch(message)
    expect(saidBy(stored, 'IPAllocated')).toMatchObject({ status: 'False', reason: seedReason })
  })
}

export async function heldBy(world: World, claim: Stored | undefined): Promise<string[]> {
  const all = (await world.client.list(holds)).items as Stored[]
  return all
    .filter(({ spec, status }) => spec.claimRef.uid === claim?.metadata.uid && status.state === 'held')
    .map(({ spec }) => spec.address)
    .toSorted()
}

export async function locksIn(world: World, network: string): Promise<Stored[]> {
  const all = (await world.client.list(holds)).items as Stored[]
  return all.filter(({ spec }) => spec.space === network)
}

/** What OVN-Kubernetes is told about a pod; undefined while it is told nothing. */
export async function entriesOf(world: World, pod: Thing): Promise<Record<string, unknown> | undefined> {
  const text = (await world.get(pod))?.metadata.annotations?.['k8s.ovn.org/pod-networks']
  return text === undefined ? undefined : JSON.parse(text)
}

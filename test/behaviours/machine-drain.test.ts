// The Node of a Machine is drained before Mooring takes its virtual machine down: pods are asked to go, and budgets are respected.

import { describe, expect, test } from 'vitest'
import { aDevice, aMachinePool } from './openshift-machines.ts'
import { aSite, aVM, goes, runs, type Site, says, vmOf } from './vsphere-site.ts'
import type { Stored, World } from './world.ts'

const aNode = (name: string, providerID: string): Stored => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  spec: { providerID },
})

async function aPod(world: World, node: string, name: string, metadata: object = {}): Promise<Stored> {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: name }, ...metadata },
    spec: {
      nodeName: node,
      containers: [{ name: 'one', image: 'image.example/one' }],
      tolerations: [{ operator: 'Exists' }],
    },
  }
  // A namespace gets its service account a moment after it is made.
  const made = await world.eventually(() => world.create(pod))
  await world.patch(made, { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } }, 'status')
  return made
}

/** Its kubelet ends it. */
async function isEnded(world: World, pod: Stored): Promise<void> {
  await world.eventually(async () => expect((await world.get(pod))?.metadata.deletionTimestamp).toBeDefined(), 60_000)
  await world.client.delete(podKind, { namespace: world.home, name: pod.metadata.name ?? '' }, { graceSeconds: 0 })
}

const podKind = { group: '', versions: ['v1'], plural: 'pods', kind: 'Pod', namespaced: true } as const

async function aRunning(site: Site, metadata: object = {}): Promise<Stored> {
  const { world } = site
  const draft = aVM([aDevice(await world.create(aMachinePool()))])
  const machine = await world.create({ ...draft, metadata: { ...draft.metadata, ...metadata } })
  await runs(site, machine)
  return machine
}

const nodeNameOf = ({ metadata }: Stored): string => metadata.name ?? ''
const unschedulable = async (world: World, node: Stored) => (await world.get(node))?.spec.unschedulable

describe('A Machine whose virtual machine Mooring makes', () => {
  test('is taken down when the pods of its Node have gone; a budget that does not let one go is waited for', async () => {
    const site = await aSite()
    const { world } = site
    const machine = await aRunning(site)
    const name = nodeNameOf(machine)
    const node = await world.create(aNode(name, `vsphere://bios-${machine.metadata.uid}`))
    const plain = await aPod(world, name, 'plain')
    const kept = await aPod(world, name, 'kept')
    const isStatic = { annotations: { 'kubernetes.io/config.mirror': 'of-a-file' } }
    const fixed = await aPod(world, name, 'static', isStatic)
    const budget = await world.create({
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'kept' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'kept' } } },
    } as Stored)
    await world.delete(machine)
    await says(site, machine, 'MachineDeletion', {
      status: 'False',
      reason: 'Draining',
      message: expect.stringMatching(new RegExp(`^waiting for pods of the Node ${name} to end: .*/kept \\(.*budget`)),
    })
    expect(await unschedulable(world, node)).toBe(true)
    await isEnded(world, plain)
    await world.idle(20_000)
    expect(vmOf(site, machine)?.powerState).toBe('poweredOn')
    expect((await world.get(kept))?.metadata.deletionTimestamp).toBeUndefined()
    await world.delete(budget)
    await isEnded(world, kept)
    await goes(site, machine)
    expect((await world.get(fixed))?.metadata.deletionTimestamp).toBeUndefined()
  })

  test('is not drained where a user says so, and hooks before its end come after the drain', async () => {
    const site = await aSite()
    const { world } = site
    const annotations = { 'machine.openshift.io/exclude-node-draining': '' }
    const excluded = await aRunning(site, { annotations })
    const quiet = await world.create(aNode(nodeNameOf(excluded), `vsphere://bios-${excluded.metadata.uid}`))
    await world.delete(excluded)
    await goes(site, excluded)
    expect(await unschedulable(world, quiet)).toBeUndefined()
    const machine = await aRunning(site)
    const node = await world.create(aNode(nodeNameOf(machine), `vsphere://bios-${machine.metadata.uid}`))
    const hook = (when: string) => ({ spec: { lifecycleHooks: { [when]: [{ name: when, owner: 'operator' }] } } })
    await world.patch(machine, hook('preDrain'))
    await world.patch(machine, hook('preTerminate'))
    await world.delete(machine)
    await says(site, machine, 'MachineDeletion', { message: 'waiting for lifecycle hooks of others: preDrain' })
    expect(await unschedulable(world, node)).toBeUndefined()
    await world.patch(machine, { spec: { lifecycleHooks: { preDrain: null } } })
    await says(site, machine, 'MachineDeletion', { message: 'waiting for lifecycle hooks of others: preTerminate' })
    expect(await unschedulable(world, node)).toBe(true)
    expect(vmOf(site, machine)?.powerState).toBe('poweredOn')
    await world.patch(machine, { spec: { lifecycleHooks: null } })
    await goes(site, machine)
  })

  test('drains no Node that another virtual machine runs, whatever its author writes', async () => {
    const site = await aSite()
    const { world } = site
    const machine = await aRunning(site)
    const victim = await world.create(aNode(`${nodeNameOf(machine)}-victim`, 'vsphere://bios-of-another'))
    const namesake = await world.create(aNode(nodeNameOf(machine), 'vsphere://bios-of-a-third'))
    const pod = await aPod(world, nodeNameOf(victim), 'busy')
    await world.patch(machine, { status: { nodeRef: { kind: 'Node', name: nodeNameOf(victim) } } }, 'status')
    await world.patch(machine, { spec: { providerID: 'vsphere://bios-of-another' } })
    await world.delete(machine)
    await goes(site, machine)
    expect(await unschedulable(world, victim)).toBeUndefined()
    expect(await unschedulable(world, namesake)).toBeUndefined()
    expect((await world.get(pod))?.metadata.deletionTimestamp).toBeUndefined()
  })
})

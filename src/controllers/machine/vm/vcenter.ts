// The virtual machine of a Machine at its vCenter: what is seen of it, and what is ordered. Nothing is decided here.

import type { Machine } from '../../../api/machine.ts'
import type { VSphereProviderSpec } from '../../../api/vsphere-provider-spec.ts'
import { vsphereCallMsMax } from '../../../limits.ts'
import type { VSphereClient } from '../../../vsphere/client.ts'
import { orderClone } from '../../../vsphere/clone.ts'
import {
  findFolder,
  findNetwork,
  findPlace,
  findTemplate,
  type NetworkBacking,
  NotInInventory,
  type Place,
} from '../../../vsphere/inventory.ts'
import { attachedTags, findTags } from '../../../vsphere/tags.ts'
import { askTask, runningClonesOf, serverNowMs } from '../../../vsphere/task.ts'
import type { ManagedRef } from '../../../vsphere/value.ts'
import { findByInstanceUuid, findByName, type VirtualMachine } from '../../../vsphere/virtual-machine.ts'
import type { TaskState } from './plan.ts'

/** One Machine and the session that its passes use. */
export interface Ground {
  readonly vcenter: VSphereClient
  readonly machine: Machine
  readonly spec: VSphereProviderSpec
  readonly signal: AbortSignal
}

export interface SeenThere {
  readonly vm: VirtualMachine | undefined
  readonly task: TaskState
  readonly mayCome: boolean
}

/** The order matters: an order that is no longer under way has ended before the virtual machine is looked for. */
export async function look(ground: Ground): Promise<SeenThere> {
  const { vcenter, machine, signal } = ground
  const task = await lookAtTask(ground)
  const mayCome = task.kind !== 'runs' && (await mayOrderCome(ground))
  const vm = await findByInstanceUuid(vcenter, machine.metadata.uid, signal)
  return { vm, task, mayCome: mayCome && vm === undefined }
}

async function lookAtTask({ vcenter, machine, signal }: Ground): Promise<TaskState> {
  const { taskRef } = machine.providerStatus
  const task = taskRef === '' ? undefined : await askTask(vcenter, taskRef, signal)
  if (taskRef === '') return { kind: 'none' }
  if (task?.error !== undefined) return { kind: 'failed', why: task.error.message }
  return { kind: task === undefined || task.state === 'success' ? 'ended' : 'runs' }
}

/** How long after it was written an order may still reach the server: it is given up after the first, clocks and networks are late. */
const onItsWayMs = vsphereCallMsMax + 30_000

/** An order that was written, and of which nothing came back: it may be on its way, or among the clones that are being made. */
async function mayOrderCome(ground: Ground): Promise<boolean> {
  const { vcenter, machine, signal } = ground
  const { cloneOrderedAt, taskRef, instanceId } = machine.providerStatus
  if (cloneOrderedAt === '' || taskRef !== '' || instanceId !== '') return false
  const orderedMs = Date.parse(cloneOrderedAt)
  const nowMs = await serverNowMs(vcenter, signal)
  if (Number.isNaN(orderedMs)) return false
  if (nowMs < orderedMs + onItsWayMs) return true
  const template = await findSource(ground)
  if (template === undefined) return false
  const running = await runningClonesOf(vcenter, template, signal)
  // What was taken on much later is another Machine's.
  return running.some(({ queuedAtMs }) => Number.isNaN(queuedAtMs) || queuedAtMs < orderedMs + onItsWayMs)
}

async function findSource({ vcenter, spec, signal }: Ground): Promise<ManagedRef | undefined> {
  try {
    const place = await findPlace(vcenter, spec.workspace, signal)
    return await findTemplate(vcenter, place, spec.template, signal)
  } catch (error) {
    if (error instanceof NotInInventory) return undefined
    throw error
  }
}

/** What else has the name of the Machine, in words. */
export async function lookAtName({ vcenter, machine, spec, signal }: Ground): Promise<string | undefined> {
  const folder = await findFolder(vcenter, spec.workspace, signal)
  const found = folder && (await findByName(vcenter, folder, machine.metadata.name, signal))
  if (found === undefined) return undefined
  return 'other' in found ? `a ${found.other}` : `the virtual machine with the instance UUID ${found.instanceUuid}`
}

/** Those of its spec that its virtual machine lacks. Without any in its spec nothing is asked. */
export async function lookAtTags({ vcenter, spec, signal }: Ground, { vm, task }: SeenThere): Promise<string[]> {
  if (vm === undefined || task.kind === 'runs' || spec.tagIDs.length === 0) return []
  const attached = await attachedTags(vcenter, vm.ref, signal)
  return spec.tagIDs.filter(id => !attached.includes(id))
}

export interface Found {
  readonly place: Place
  readonly template: ManagedRef
  readonly networks: readonly NetworkBacking[]
}

/** Before anything is ordered: what is not there is told by its field. */
export async function find({ vcenter, spec, signal }: Ground): Promise<Found> {
  const place = await findPlace(vcenter, spec.workspace, signal)
  const template = await findTemplate(vcenter, place, spec.template, signal)
  await findTags(vcenter, spec.tagIDs, signal)
  const networks: NetworkBacking[] = []
  for (const [i, { networkName: name }] of spec.devices.entries()) {
    const field = `network.devices[${i}].networkName`
    networks.push(await findNetwork(vcenter, place.datacenter, { name, field }, signal))
  }
  return { place, template, networks }
}

/** The id of the task. */
export function order(
  { vcenter, machine, spec, signal }: Ground,
  found: Found,
  extraConfig: Readonly<Record<string, string>>,
): Promise<string> {
  const { numCPUs, numCoresPerSocket, memoryMiB, diskGiB, cloneMode, snapshot } = spec
  const { name, uid } = machine.metadata
  const isLinked = cloneMode === 'linkedClone'
  // A disk that is shared with a snapshot cannot grow.
  const hardware = { numCPUs, numCoresPerSocket, memoryMiB, diskGiB: isLinked ? 0 : diskGiB }
  const linkedTo = isLinked ? snapshot : undefined
  return orderClone(vcenter, { ...found, ...hardware, name, instanceUuid: uid, extraConfig, linkedTo }, signal)
}

export async function serverTime({ vcenter, signal }: Ground): Promise<string> {
  return new Date(await serverNowMs(vcenter, signal)).toISOString()
}

// A virtual machine of a vCenter as it is now, and what can be done to it. Every operation answers the task that the server took on;
// a caller that crashes in between finds the virtual machine again by its instance UUID, which is given to it when it is cloned.

import { childOf, childrenOf, textOf, type XMLElement } from '../xml.ts'
import { isCard } from './cards.ts'
import type { VSphereClient } from './client.ts'
import { isVimFault, VSphereConnectionError } from './fault.ts'
import { childNamed } from './inventory.ts'
import type { CollectedObject } from './objects.ts'
import { readProperties, scalarOf } from './properties.ts'
import { type ManagedRef, readRef, typeOf, type VimFields } from './value.ts'

type Client = Pick<VSphereClient, 'call' | 'content' | 'host' | 'sessions'>

export interface VirtualMachine {
  readonly ref: ManagedRef
  readonly name: string
  readonly instanceUuid: string
  /** Of its BIOS: what the guest reads of itself, and what a node calls its provider's id. */
  readonly uuid: string
  /** `poweredOn`, `poweredOff`, `suspended`. */
  readonly powerState: string
  /** Its host does not answer: what is told of it may be old. */
  readonly isConnected: boolean
  readonly extraConfig: ReadonlyMap<string, string>
  readonly cards: readonly Card[]
  readonly disks: readonly Disk[]
  /** What VMware Tools sees inside; empty while they do not run. */
  readonly guestIPs: readonly string[]
}

export interface Card {
  readonly key: string
  readonly type: string
  /** In lower case; empty until the server has given it one. */
  readonly mac: string
}

export interface Disk {
  readonly key: string
  readonly capacityKiB: number
  readonly element: XMLElement
}

const paths = [
  'name',
  'config.instanceUuid',
  'config.uuid',
  'config.extraConfig',
  'config.hardware.device',
  'runtime.powerState',
  'runtime.connectionState',
  'guest.net',
]

/** Undefined where there is none. The Machine's uid is the UUID: no other virtual machine was ever given it. */
export async function findByInstanceUuid(
  client: Client,
  uuid: string,
  signal?: AbortSignal,
): Promise<VirtualMachine | undefined> {
  const args = { uuid, vmSearch: true, instanceUuid: true }
  const [found] = await client.call('FindByUuid', client.content.searchIndex, args, signal)
  const ref = readRef(found)
  return ref === undefined ? undefined : readVirtualMachine(client, ref, signal)
}

/** What has the name in a folder, be it a virtual machine or not: names are there once. */
export async function findByName(
  client: Client,
  folder: ManagedRef,
  name: string,
  signal?: AbortSignal,
): Promise<VirtualMachine | { readonly other: string } | undefined> {
  const ref = await childNamed(client, folder, name, signal)
  if (ref === undefined) return undefined
  return ref.ref.type === 'VirtualMachine' ? readVirtualMachine(client, ref, signal) : { other: ref.ref.type }
}

/** Undefined where it is gone. */
export async function readVirtualMachine(
  client: Client,
  ref: ManagedRef,
  signal?: AbortSignal,
): Promise<VirtualMachine | undefined> {
  try {
    const [object] = await readProperties(client, [ref], paths, signal)
    return object && toVirtualMachine(object)
  } catch (error) {
    if (isVimFault(error, 'ManagedObjectNotFound')) return undefined
    throw error
  }
}

function toVirtualMachine(object: CollectedObject): VirtualMachine {
  const items = (path: string): readonly XMLElement[] => object.properties.get(path)?.children ?? []
  const devices = items('config.hardware.device')
  return {
    ref: object.ref,
    name: scalarOf(object, 'name') ?? '',
    instanceUuid: (scalarOf(object, 'config.instanceUuid') ?? '').toLowerCase(),
    uuid: (scalarOf(object, 'config.uuid') ?? '').toLowerCase(),
    powerState: scalarOf(object, 'runtime.powerState') ?? '',
    isConnected: (scalarOf(object, 'runtime.connectionState') ?? 'connected') === 'connected',
    extraConfig: new Map(
      items('config.extraConfig').map(option => [textOf(option, 'key') ?? '', textOf(option, 'value') ?? '']),
    ),
    cards: devices.filter(isCard).map(card => ({
      key: textOf(card, 'key') ?? '',
      type: typeOf(card) ?? '',
      mac: (textOf(card, 'macAddress') ?? '').toLowerCase(),
    })),
    disks: devices.flatMap(device => (typeOf(device) === 'VirtualDisk' ? [toDisk(device)] : [])),
    guestIPs: [...new Set(items('guest.net').flatMap(addressesOf))],
  }
}

const toDisk = (element: XMLElement): Disk => ({
  key: textOf(element, 'key') ?? '',
  capacityKiB: Number(textOf(element, 'capacityInKB')),
  element,
})

/** The list with prefixes where there is one; older tools have the flat one alone. */
function addressesOf(nic: XMLElement): string[] {
  const config = childOf(nic, 'ipConfig')
  const listed = config === undefined ? [] : childrenOf(config, 'ipAddress').map(one => textOf(one, 'ipAddress') ?? '')
  const flat = childrenOf(nic, 'ipAddress').map(({ text }) => text.trim())
  return (listed.length > 0 ? listed : flat).filter(text => text !== '')
}

/** Runs it, and answers the id of the task. */
export async function orderTask(
  client: Client,
  method: string,
  of: ManagedRef,
  args: VimFields = {},
  signal?: AbortSignal,
): Promise<string> {
  const [answer] = await client.call(method, of, args, signal)
  const task = readRef(answer)
  if (task === undefined) throw new VSphereConnectionError(`${method} at ${client.host} answers no task`)
  return task.ref.value
}

export const powerOn = (client: Client, vm: ManagedRef, signal?: AbortSignal): Promise<string> =>
  orderTask(client, 'PowerOnVM_Task', vm, {}, signal)

export const powerOff = (client: Client, vm: ManagedRef, signal?: AbortSignal): Promise<string> =>
  orderTask(client, 'PowerOffVM_Task', vm, {}, signal)

/** With its disks. */
export const destroy = (client: Client, vm: ManagedRef, signal?: AbortSignal): Promise<string> =>
  orderTask(client, 'Destroy_Task', vm, {}, signal)

export const setExtraConfig = (
  client: Client,
  vm: ManagedRef,
  options: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<string> =>
  orderTask(client, 'ReconfigVM_Task', vm, { spec: { fields: { extraConfig: optionsOf(options) } } }, signal)

export function optionsOf(options: Readonly<Record<string, string>>): { type: string; of: VimFields }[] {
  return Object.entries(options).map(([key, value]) => ({
    type: 'OptionValue',
    of: { key, value: { type: 'xsd:string', of: value } },
  }))
}

// The order for a clone: a virtual machine made of a template, powered off, with the instance UUID, the hardware and the network
// cards that were asked for. The cards of the template are taken out: which network they are on is the template's affair, and one
// that stays would be a card that no Machine asks for.

import { childOf, childrenOf, textOf, type XMLElement } from '../xml.ts'
import type { VSphereClient } from './client.ts'
import { shown } from './fault.ts'
import { type NetworkBacking, NotInInventory, type Place } from './inventory.ts'
import { readProperties } from './properties.ts'
import { type ManagedRef, readRef, typeOf, type VimFields, type VimValue } from './value.ts'
import { type Disk, optionsOf, orderTask, readVirtualMachine } from './virtual-machine.ts'

type Client = Pick<VSphereClient, 'call' | 'content' | 'host' | 'sessions'>

export interface CloneOrder {
  readonly name: string
  readonly template: ManagedRef
  readonly place: Place
  readonly instanceUuid: string
  /** 0 leaves each of these as it is in the template. */
  readonly numCPUs: number
  readonly numCoresPerSocket: number
  readonly memoryMiB: number
  readonly diskGiB: number
  readonly networks: readonly NetworkBacking[]
  readonly extraConfig: Readonly<Record<string, string>>
  /** Named, or the current one where the text is empty: the clone shares the disks of it. Undefined copies them. */
  readonly linkedTo: string | undefined
}

/** The id of the task. */
export async function orderClone(client: Client, order: CloneOrder, signal?: AbortSignal): Promise<string> {
  const { name, template, place, linkedTo } = order
  const source = await readVirtualMachine(client, template, signal)
  if (source === undefined) throw new NotInInventory('template is gone')
  const snapshot = linkedTo === undefined ? undefined : await findSnapshot(client, template, linkedTo, signal)
  const deviceChange = [
    ...source.cards.map(({ key, type }) => changeOf('remove', { type, of: { key: Number(key) } })),
    ...order.networks.map((network, i) => changeOf('add', cardOn(network, i))),
    ...growthOf(source.disks[0], order.diskGiB),
  ]
  const config = {
    instanceUuid: order.instanceUuid,
    numCPUs: orUnset(order.numCPUs),
    numCoresPerSocket: orUnset(order.numCoresPerSocket),
    memoryMB: orUnset(order.memoryMiB),
    deviceChange,
    extraConfig: optionsOf(order.extraConfig),
  }
  const location = {
    datastore: place.datastore,
    diskMoveType: snapshot === undefined ? 'moveAllDiskBackingsAndConsolidate' : 'createNewChildDiskBacking',
    pool: place.resourcePool,
  }
  const spec = { location: { fields: location }, template: false, config: { fields: config }, powerOn: false, snapshot }
  return orderTask(client, 'CloneVM_Task', template, { folder: place.folder, name, spec: { fields: spec } }, signal)
}

const orUnset = (number: number): number | undefined => (number === 0 ? undefined : number)

const changeOf = (operation: string, device: VimValue): { type: string; of: VimFields } => ({
  type: 'VirtualDeviceConfigSpec',
  of: { operation, device },
})

/** The server gives it a MAC. Keys of what is new are negative. */
function cardOn(network: NetworkBacking, index: number): VimValue {
  return {
    type: 'VirtualVmxnet3',
    of: {
      key: -100 - index,
      backing: backingOf(network),
      connectable: { fields: { startConnected: true, allowGuestControl: true, connected: true } },
      addressType: 'generated',
      wakeOnLanEnabled: true,
    },
  }
}

function backingOf(network: NetworkBacking): VimValue {
  if (network.kind === 'standard') {
    const of = { deviceName: network.name, network: network.ref }
    return { type: 'VirtualEthernetCardNetworkBackingInfo', of }
  }
  if (network.kind === 'opaque') {
    const of = { opaqueNetworkId: network.id, opaqueNetworkType: network.type }
    return { type: 'VirtualEthernetCardOpaqueNetworkBackingInfo', of }
  }
  const port = { switchUuid: network.switchUuid, portgroupKey: network.portgroupKey }
  return { type: 'VirtualEthernetCardDistributedVirtualPortBackingInfo', of: { port: { fields: port } } }
}

const kibPerGib = 1024 * 1024

/** The first disk is that of the system. A disk can grow and never shrink: its file system would be cut off. */
function growthOf(disk: Disk | undefined, diskGiB: number): { type: string; of: VimFields }[] {
  const wantedKiB = diskGiB * kibPerGib
  if (wantedKiB === 0 || disk === undefined || wantedKiB === disk.capacityKiB) return []
  if (wantedKiB < disk.capacityKiB) {
    throw new NotInInventory(
      `diskGiB is ${diskGiB}, and the disk of the template has ${Math.ceil(disk.capacityKiB / kibPerGib)} GiB: ` +
        'a disk can grow and not shrink',
    )
  }
  const { element } = disk
  const backing = childOf(element, 'backing')
  const of = {
    key: Number(disk.key),
    backing: backing && {
      type: typeOf(backing) ?? 'VirtualDiskFlatVer2BackingInfo',
      of: { fileName: textOf(backing, 'fileName') ?? '', diskMode: textOf(backing, 'diskMode') ?? 'persistent' },
    },
    controllerKey: numberOf(element, 'controllerKey'),
    unitNumber: numberOf(element, 'unitNumber'),
    capacityInKB: wantedKiB,
    capacityInBytes: wantedKiB * 1024,
  }
  return [changeOf('edit', { type: 'VirtualDisk', of })]
}

function numberOf(element: XMLElement, name: string): number | undefined {
  const text = textOf(element, name)
  return text === undefined ? undefined : Number(text)
}

async function findSnapshot(
  client: Client,
  template: ManagedRef,
  name: string,
  signal?: AbortSignal,
): Promise<ManagedRef> {
  const [found] = await readProperties(client, [template], ['snapshot'], signal)
  const all = found?.properties.get('snapshot')
  const ref = name === '' ? readRef(childOf(all, 'currentSnapshot')) : snapshotNamed(all, 'rootSnapshotList', name)
  if (ref !== undefined) return ref
  throw new NotInInventory(
    name === ''
      ? 'cloneMode is linkedClone, and the template has no snapshot'
      : `snapshot names ${shown(JSON.stringify(name))}, and the template has none of that name`,
  )
}

function snapshotNamed(tree: XMLElement | undefined, list: string, name: string): ManagedRef | undefined {
  for (const item of tree === undefined ? [] : childrenOf(tree, list)) {
    const ref =
      textOf(item, 'name') === name
        ? readRef(childOf(item, 'snapshot'))
        : snapshotNamed(item, 'childSnapshotList', name)
    if (ref !== undefined) return ref
  }
  return undefined
}

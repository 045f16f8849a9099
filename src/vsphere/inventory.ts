// Where things are in the inventory of a vCenter: by the paths and names that a Machine gives. What is not there, and a name that
// two things have, are told by the field that names them; nothing is guessed.

import type { VSphereClient } from './client.ts'
import { collect } from './collect.ts'
import { shown } from './fault.ts'
import { readProperties, scalarOf } from './properties.ts'
import { keyOfRef, type ManagedRef, readRef } from './value.ts'

/** What a Machine names is not in the inventory, or not only once. A person has to change one or the other. */
export class NotInInventory extends Error {
  override readonly name = 'NotInInventory'
}

export interface Workspace {
  readonly datacenter: string
  readonly folder: string
  readonly resourcePool: string
  readonly datastore: string
}

export interface Place {
  readonly datacenter: ManagedRef
  readonly folder: ManagedRef
  readonly resourcePool: ManagedRef
  readonly datastore: ManagedRef
}

type Client = Pick<VSphereClient, 'call' | 'content' | 'host' | 'sessions'>

export async function findPlace(client: Client, workspace: Workspace, signal?: AbortSignal): Promise<Place> {
  const datacenter = await datacenterOf(client, workspace, signal)
  const folder = await folderOf(client, datacenter, workspace, signal)
  const resourcePool = await findPath(client, 'workspace.resourcePool', workspace.resourcePool, signal)
  const datastore = await oneNamed(
    client,
    datacenter,
    { path: 'datastore', field: 'workspace.datastore' },
    workspace.datastore,
    signal,
  )
  return { datacenter, folder, resourcePool, datastore }
}

/** Undefined where it is not there any more: so nothing is in it either. */
export async function findFolder(
  client: Client,
  workspace: Workspace,
  signal?: AbortSignal,
): Promise<ManagedRef | undefined> {
  try {
    return await folderOf(client, await datacenterOf(client, workspace, signal), workspace, signal)
  } catch (error) {
    if (error instanceof NotInInventory) return undefined
    throw error
  }
}

const datacenterOf = (client: Client, { datacenter }: Workspace, signal?: AbortSignal): Promise<ManagedRef> =>
  findPath(client, 'workspace.datacenter', datacenter, signal)

async function folderOf(
  client: Client,
  datacenter: ManagedRef,
  { folder }: Workspace,
  signal?: AbortSignal,
): Promise<ManagedRef> {
  if (folder.startsWith('/')) return findPath(client, 'workspace.folder', folder, signal)
  const root = await refAt(client, datacenter, 'vmFolder', signal)
  return folder === '' ? root : follow(client, root, { field: 'workspace.folder', path: folder }, signal)
}

/** Slashes may be doubled, as installers write them. */
const segmentsOf = (path: string): string[] => path.split('/').filter(segment => segment !== '')

async function findPath(client: Client, field: string, path: string, signal?: AbortSignal): Promise<ManagedRef> {
  if (segmentsOf(path).length === 0) throw new NotInInventory(`${field} is empty: write a path such as /dc1/...`)
  return follow(client, client.content.rootFolder, { field, path }, signal)
}

async function follow(
  client: Client,
  from: ManagedRef,
  { field, path }: { readonly field: string; readonly path: string },
  signal?: AbortSignal,
): Promise<ManagedRef> {
  let at = from
  for (const name of segmentsOf(path)) {
    const child = await childNamed(client, at, name, signal)
    if (child === undefined) {
      throw new NotInInventory(
        `${field} names ${shown(path)}, and ${client.host} has no ${shown(name)} there that this user may see`,
      )
    }
    at = child
  }
  return at
}

export async function childNamed(
  client: Client,
  entity: ManagedRef,
  name: string,
  signal?: AbortSignal,
): Promise<ManagedRef | undefined> {
  const [found] = await client.call('FindChild', client.content.searchIndex, { entity, name }, signal)
  return readRef(found)
}

async function refAt(client: Client, of: ManagedRef, path: string, signal?: AbortSignal): Promise<ManagedRef> {
  const [object] = await readProperties(client, [of], [path], signal)
  const ref = readRef(object?.properties.get(path))
  if (ref !== undefined) return ref
  throw new NotInInventory(`${client.host} tells no ${path} of ${keyOfRef(of)}: the user may not see it`)
}

/** Datastores and networks are named within their datacenter, in whichever folders they are; of a path the last part counts. */
async function oneNamed(
  client: Client,
  datacenter: ManagedRef,
  { path, field }: { readonly path: string; readonly field: string },
  text: string,
  signal?: AbortSignal,
): Promise<ManagedRef> {
  const name = segmentsOf(text).at(-1) ?? ''
  const [object] = await readProperties(client, [datacenter], [path], signal)
  const refs = (object?.properties.get(path)?.children ?? []).flatMap(item => readRef(item) ?? [])
  const named = await readProperties(client, refs, ['name'], signal)
  const found = named.filter(one => scalarOf(one, 'name') === name)
  const [first] = found
  if (first === undefined || name === '') {
    throw new NotInInventory(`${field} names ${shown(JSON.stringify(text))}, and its datacenter has none of that name`)
  }
  if (found.length > 1) {
    throw new NotInInventory(`${field} names ${shown(text)}, and its datacenter has ${found.length} of that name`)
  }
  return first.ref
}

/** What a network card is attached to. */
export type NetworkBacking =
  | { readonly kind: 'standard'; readonly name: string; readonly ref: ManagedRef }
  | { readonly kind: 'distributed'; readonly switchUuid: string; readonly portgroupKey: string }
  | { readonly kind: 'opaque'; readonly id: string; readonly type: string }

export async function findNetwork(
  client: Client,
  datacenter: ManagedRef,
  { name, field }: { readonly name: string; readonly field: string },
  signal?: AbortSignal,
): Promise<NetworkBacking> {
  const ref = await oneNamed(client, datacenter, { path: 'network', field }, name, signal)
  if (ref.ref.type === 'DistributedVirtualPortgroup') {
    const [group] = await readProperties(client, [ref], ['key', 'config.distributedVirtualSwitch'], signal)
    const owner = readRef(group?.properties.get('config.distributedVirtualSwitch'))
    const [uuid] = owner === undefined ? [] : await readProperties(client, [owner], ['uuid'], signal)
    const switchUuid = uuid && scalarOf(uuid, 'uuid')
    const portgroupKey = group && scalarOf(group, 'key')
    if (switchUuid && portgroupKey) return { kind: 'distributed', switchUuid, portgroupKey }
    throw new NotInInventory(`${field} names ${shown(name)}, whose distributed switch this user may not see`)
  }
  if (ref.ref.type === 'OpaqueNetwork') {
    const [network] = await readProperties(
      client,
      [ref],
      ['summary.opaqueNetworkId', 'summary.opaqueNetworkType'],
      signal,
    )
    const id = network && scalarOf(network, 'summary.opaqueNetworkId')
    return { kind: 'opaque', id: id ?? '', type: (network && scalarOf(network, 'summary.opaqueNetworkType')) ?? '' }
  }
  return { kind: 'standard', name: segmentsOf(name).at(-1) ?? name, ref }
}

/** By its path, or by its name: in the folder of the Machine, then anywhere in its datacenter. */
export async function findTemplate(
  client: Client,
  { datacenter, folder }: Place,
  template: string,
  signal?: AbortSignal,
): Promise<ManagedRef> {
  if (template.startsWith('/')) return isMachine(await findPath(client, 'template', template, signal), template)
  const root = await refAt(client, datacenter, 'vmFolder', signal)
  for (const at of [folder, root]) {
    const child = await childNamed(client, at, template, signal)
    if (child !== undefined) return isMachine(child, template)
  }
  const all = await collect(client, [{ type: 'VirtualMachine', paths: ['name'] }], {
    container: root,
    ...(signal && { signal }),
  })
  const found = all.filter(one => scalarOf(one, 'name') === template)
  const [first] = found
  if (first !== undefined && found.length === 1) return first.ref
  const many = `has ${found.length} virtual machines of that name: give the path of the one that is meant`
  throw new NotInInventory(
    `template names ${shown(JSON.stringify(template))}, and the datacenter ${first ? many : 'has no virtual machine of that name'}`,
  )
}

function isMachine(ref: ManagedRef, template: string): ManagedRef {
  if (ref.ref.type === 'VirtualMachine') return ref
  throw new NotInInventory(`template names ${shown(template)}, which is a ${ref.ref.type} and no virtual machine`)
}

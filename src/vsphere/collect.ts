// All objects of some types in the inventory, page by page. An object is answered once, also where it moves while pages are read.
// Views and pages belong to a session: if that is renewed in between, the listing begins again, once.

import { vsphereObjectsMax } from '../limits.ts'
import { textOf, type XMLElement } from '../xml.ts'
import type { VSphereClient } from './client.ts'
import { VimFault, VSphereConnectionError } from './fault.ts'
import { type CollectedObject, readObjects } from './objects.ts'
import { keyOfRef, type ManagedRef, readRef, type VimFields } from './value.ts'

type Client = Pick<VSphereClient, 'call' | 'content' | 'host' | 'sessions'>

export interface Wanted {
  readonly type: string
  readonly paths: readonly string[]
}

export interface CollectOptions {
  /** Only what is in this folder and below; without it, everything. */
  readonly container?: ManagedRef
  readonly pageObjects?: number
  readonly signal?: AbortSignal
}

/** Some megabytes a page, with the hardware of each machine. */
const pageObjectsDefault = 100

export async function collect(
  client: Client,
  wanted: readonly Wanted[],
  options: CollectOptions = {},
): Promise<CollectedObject[]> {
  const seen = client.sessions
  try {
    return await collectOnce(client, wanted, options)
  } catch (error) {
    if (!(error instanceof VimFault) || client.sessions === seen) throw error
    return collectOnce(client, wanted, options)
  }
}

async function collectOnce(
  client: Client,
  wanted: readonly Wanted[],
  { container, pageObjects = pageObjectsDefault, signal }: CollectOptions,
): Promise<CollectedObject[]> {
  const { propertyCollector, rootFolder, viewManager } = client.content
  const types = wanted.map(({ type }) => type)
  const [made] = await client.call(
    'CreateContainerView',
    viewManager,
    { container: container ?? rootFolder, type: types, recursive: true },
    signal,
  )
  const view = readRef(made)
  if (view === undefined) throw new VSphereConnectionError(`${client.host} made no view of its inventory`)
  const found = new Map<string, CollectedObject>()
  try {
    const spec = { specSet: { fields: specOf(view, wanted) }, options: { fields: { maxObjects: pageObjects } } }
    let [page] = await client.call('RetrievePropertiesEx', propertyCollector, spec, signal)
    for (let pages = 1; page !== undefined; pages++) {
      addTo(found, page, client.host)
      const token = textOf(page, 'token')
      if (!token) break
      // Pages may be smaller than was asked for, but a page of none again and again is no end.
      if (pages > vsphereObjectsMax) throw new VSphereConnectionError(`${client.host} does not end its list of objects`)
      ;[page] = await client.call('ContinueRetrievePropertiesEx', propertyCollector, { token }, signal)
    }
  } finally {
    // The server ends it with the session, at the latest.
    await client.call('DestroyView', view).catch(() => {})
  }
  return [...found.values()]
}

function addTo(found: Map<string, CollectedObject>, page: XMLElement, host: string): void {
  for (const object of readObjects(page)) found.set(keyOfRef(object.ref), object)
  if (found.size > vsphereObjectsMax) {
    throw new VSphereConnectionError(`${host} has more than ${vsphereObjectsMax} objects of the wanted types`)
  }
}

function specOf(view: ManagedRef, wanted: readonly Wanted[]): VimFields {
  return {
    propSet: wanted.map(({ type, paths }) => ({ fields: { type, pathSet: [...paths] } })),
    objectSet: {
      fields: {
        obj: view,
        skip: true,
        selectSet: { type: 'TraversalSpec', of: { name: 'inView', type: 'ContainerView', path: 'view', skip: false } },
      },
    },
  }
}

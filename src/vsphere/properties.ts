// Some properties of objects that are known by reference, in one call.

import type { VSphereClient } from './client.ts'
import { type CollectedObject, readObjects } from './objects.ts'
import type { ManagedRef } from './value.ts'

/** In the order in which the server answers. It faults if one of the objects is gone. */
export async function readProperties(
  client: Pick<VSphereClient, 'call' | 'content'>,
  refs: readonly ManagedRef[],
  paths: readonly string[],
  signal?: AbortSignal,
): Promise<CollectedObject[]> {
  if (refs.length === 0) return []
  const types = [...new Set(refs.map(({ ref }) => ref.type))]
  const spec = {
    propSet: types.map(type => ({ fields: { type, pathSet: [...paths] } })),
    objectSet: refs.map(obj => ({ fields: { obj } })),
  }
  const [answer] = await client.call(
    'RetrievePropertiesEx',
    client.content.propertyCollector,
    { specSet: { fields: spec }, options: { fields: {} } },
    signal,
  )
  return answer === undefined ? [] : readObjects(answer)
}

export const scalarOf = ({ properties }: CollectedObject, path: string): string | undefined =>
  properties.get(path)?.text.trim()

// Deletecollection: every object of a list, deleted one by one; one that is gone already counts as deleted.

import type { Answer, Call, World } from '../call.ts'
import { decodeEntry } from '../objects.ts'
import { isStatus } from '../status.ts'
import { readOptions, removeObject } from './delete.ts'
import { list } from './list.ts'

export async function removeCollection(call: Call, world: World): Promise<Answer> {
  const options = readOptions(call)
  const found = await list(call, world)
  if (found.type !== 'list') return found
  for (const entry of found.entries) {
    const { name = '', namespace = '' } = decodeEntry(entry).metadata
    const one: Call = { ...call, request: { ...call.request, verb: 'delete', name, namespace } }
    try {
      await removeObject(one, world, options)
    } catch (error) {
      if (!isStatus(error, 'NotFound')) throw error
    }
  }
  return found
}

// Tags of a virtual machine: which there are, which it has, and attaching those that it lacks. A tag that it has already may be attached
// again: that changes nothing, so an answer that was lost needs no care.

import { isRecord } from '../api/shape.ts'
import type { VSphereClient } from './client.ts'
import { isVimFault, VimFault, VSphereConnectionError } from './fault.ts'
import { NotInInventory } from './inventory.ts'
import { messagesOf } from './rest.ts'
import type { ManagedRef } from './value.ts'

type Client = Pick<VSphereClient, 'rest' | 'host'>

/** Before anything is ordered: a tag that is not there is told by its field. */
export async function findTags(client: Client, ids: readonly string[], signal?: AbortSignal): Promise<void> {
  for (const [i, id] of ids.entries()) {
    try {
      await client.rest({ method: 'GET', path: `/tagging/tag/id:${pathOf(id)}` }, signal)
    } catch (error) {
      if (!isVimFault(error, 'not_found')) throw error
      throw new NotInInventory(`tagIDs[${i}] names ${JSON.stringify(id)}, and there is no such tag at ${client.host}`)
    }
  }
}

/** Colons as a vCenter writes them. */
const pathOf = (id: string): string => encodeURIComponent(id).replaceAll('%3A', ':')

export async function attachedTags(client: Client, vm: ManagedRef, signal?: AbortSignal): Promise<readonly string[]> {
  const path = '/tagging/tag-association?~action=list-attached-tags'
  // One that has none may be answered without a list.
  const ids = (await client.rest({ method: 'POST', path, body: { object_id: objectOf(vm) } }, signal)) ?? []
  if (Array.isArray(ids) && ids.every(id => typeof id === 'string')) return ids
  throw new VSphereConnectionError(`${client.host} does not answer which tags ${vm.ref.value} has`)
}

/** All in one call; if one of them cannot be attached, others may have been. */
export async function attachTags(
  client: Client,
  vm: ManagedRef,
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const path = '/tagging/tag-association?~action=attach-multiple-tags-to-object'
  const answer = await client.rest({ method: 'POST', path, body: { object_id: objectOf(vm), tag_ids: ids } }, signal)
  if (isRecord(answer) && answer.success === true) return
  const why = isRecord(answer) ? messagesOf(answer.error_messages) : []
  const said = why.length > 0 ? why.join('; ') : 'it does not say why'
  throw new VimFault(`${client.host} does not attach the tags ${ids.join(', ')}: ${said}`, 'TagsRefused')
}

const objectOf = ({ ref: { type, value } }: ManagedRef) => ({ type, id: value })

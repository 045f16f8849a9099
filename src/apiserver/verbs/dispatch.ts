// Which function answers a call: by subresource first, then by verb. What a kind does not serve is refused by name.

import type { Answer, Call, World } from '../call.ts'
import type { RequestVerb } from '../request.ts'
import { methodNotAllowed, noSuchPath, notFound, StatusError } from '../status.ts'
import { create } from './create.ts'
import { remove } from './delete.ts'
import { removeCollection } from './delete-collection.ts'
import { get } from './get.ts'
import { list } from './list.ts'
import { patch } from './patch.ts'
import { answerReview, isReview } from './reviews.ts'
import { KindChanged } from './settled-kind.ts'
import { bindPod } from './subresources/binding.ts'
import { evictPod } from './subresources/eviction.ts'
import { finalizeNamespace } from './subresources/finalize.ts'
import { readLog } from './subresources/log.ts'
import { getScale, patchScale, updateScale } from './subresources/scale.ts'
import { requestToken } from './subresources/token.ts'
import { update } from './update.ts'
import { watch } from './watch.ts'

type VerbFunction = (call: Call, world: World) => Promise<Answer>

const verbs: Record<RequestVerb, VerbFunction> = {
  get,
  list,
  watch,
  create,
  update,
  patch,
  delete: remove,
  deletecollection: removeCollection,
}

/** Subresources with a meaning of their own. `status` and the like are plain writes that change one part. */
const subresources: Record<string, Partial<Record<RequestVerb, VerbFunction>>> = {
  status: { get, update, patch },
  approval: { get, update, patch },
  ephemeralcontainers: { get, update, patch },
  resize: { get, update, patch },
  scale: { get: getScale, update: updateScale, patch: patchScale },
  binding: { create: bindPod },
  eviction: { create: evictPod },
  finalize: { update: finalizeNamespace },
  token: { create: requestToken },
  log: { get: readLog },
}

export async function dispatch(call: Call, world: World): Promise<Answer> {
  try {
    return await dispatchOnce(call, world)
  } catch (error) {
    if (!(error instanceof KindChanged)) throw error
    return dispatch(atPresentKind(call, world), world)
  }
}

function atPresentKind(call: Call, { registry }: World): Call {
  const resource = registry.find(call.resource.group, call.resource.plural)
  const served = resource?.versions.get(call.served.kind.version)
  if (resource === undefined || served === undefined) throw noSuchPath()
  return { ...call, resource, served }
}

async function dispatchOnce(call: Call, world: World): Promise<Answer> {
  const { subresource, verb } = call.request
  const { kind } = call.served
  if (subresource !== '') return dispatchSubresource(call, world)
  const isServed = kind.verbs.some(served => served === verb) || (verb === 'get' && kind.verbs.includes('list'))
  if (!isServed) throw methodNotAllowed()
  if (isReview(kind)) return answerReview(call, world)
  if (!kind.isCustom && kind.group === '' && kind.kind === 'Binding') return bindPod(call, world)
  return verbs[verb](call, world)
}

async function dispatchSubresource(call: Call, world: World): Promise<Answer> {
  const { subresource, verb } = call.request
  const served = call.served.kind.subresources.find(({ name }) => name === subresource)
  if (served === undefined)
    throw call.resource.storage.isCustom ? notFound(call.resource, call.request.name) : noSuchPath()
  if (!served.verbs.some(name => name === verb)) throw methodNotAllowed()
  const answer = subresources[subresource]?.[verb]
  if (answer !== undefined) return answer(call, world)
  const what = `${call.resource.plural}/${subresource}`
  throw new StatusError(501, 'NotImplemented', `${what} needs a node, and this API server has none`)
}

import type { Answer, Call, World } from '../call.ts'
import { keyOf } from '../objects.ts'
import { refuseFutureRevision } from '../revisions.ts'
import { notFound } from '../status.ts'

export async function get(call: Call, world: World): Promise<Answer> {
  const { request, resource } = call
  refuseFutureRevision(request.query.get('resourceVersion'), world.store.revision)
  const entry = world.store.get(keyOf(resource, request.namespace, request.name))
  if (entry === undefined) throw notFound(resource, request.name)
  return { type: 'entry', code: 200, entry }
}

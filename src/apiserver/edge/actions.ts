// Commands to Mooring beside the Kubernetes API: a POST to a path of its own, authorised like any other path.

import { parseJSON } from '../../json.ts'
import { isObject } from '../object.ts'
import { badRequest } from '../status.ts'
import type { ServePath } from './documents.ts'
import { toResponse } from './present.ts'

export type Actions = Readonly<Record<string, (body: Record<string, unknown>) => Promise<object>>>

export function withActions(actions: Actions, documents: ServePath): ServePath {
  return async (request, wire) => {
    const action = request.verb === 'post' && Object.hasOwn(actions, request.path) ? actions[request.path] : undefined
    if (action === undefined) return documents(request, wire)
    const body = parseJSON(wire.body.toString('utf8')).value
    if (!isObject(body)) throw badRequest('the body must be a JSON object')
    return toResponse(200, await action(body), { encoding: 'json', view: undefined, pretty: false })
  }
}

// The server's own controllers write through the same verbs as every client: same checks, same admission, same
// optimistic locking. Only the socket and the authentication are left out.

import { stringify } from '../json.ts'
import type { UserInfo } from './authn/user.ts'
import { mastersGroup } from './authn/user.ts'
import type { Answer, Call, World } from './call.ts'
import type { Resource } from './kinds/registry.ts'
import type { KubeObject } from './object.ts'
import { decodeEntry } from './objects.ts'
import type { RequestVerb } from './request.ts'
import { noSuchPath } from './status.ts'
import { dispatch } from './verbs/dispatch.ts'

export interface Target {
  readonly resource: Resource
  readonly namespace?: string
  readonly name?: string
  readonly subresource?: string
}

export interface LocalClient {
  create(target: Target, object: KubeObject): Promise<KubeObject>
  update(target: Target, object: KubeObject): Promise<KubeObject>
  mergePatch(target: Target, patch: unknown): Promise<KubeObject>
  remove(target: Target, options: Record<string, unknown>): Promise<void>
  removeAll(target: Target): Promise<void>
}

/** `program` is what owns the fields it writes, as clients see it in `managedFields`. */
export function createLocalClient(world: World, username: string, program: string): LocalClient {
  const user: UserInfo = { username, groups: [mastersGroup, 'system:authenticated'] }

  async function call(verb: RequestVerb, target: Target, contentType: string, body: unknown): Promise<Answer> {
    const { resource, namespace = '', name = '', subresource = '' } = target
    const served = resource.versions.get(resource.storage.version) ?? [...resource.versions.values()][0]
    if (served === undefined) throw noSuchPath()
    const request: Call = {
      request: {
        isResource: true,
        verb,
        group: resource.group,
        version: served.kind.version,
        plural: resource.plural,
        subresource,
        namespace,
        name,
        isInNamespace: namespace !== '',
        path: '',
        query: new URLSearchParams(),
      },
      resource,
      served,
      user,
      headers: { contentType, userAgent: program },
      body: body === undefined ? Buffer.alloc(0) : Buffer.from(stringify(body)),
      warn: () => {},
      signal: new AbortController().signal,
    }
    return dispatch(request, world)
  }

  const json = 'application/json'
  return {
    create: async (target, object) => objectOf(await call('create', target, json, object)),
    update: async (target, object) => objectOf(await call('update', target, json, object)),
    mergePatch: async (target, patch) => objectOf(await call('patch', target, 'application/merge-patch+json', patch)),
    remove: async (target, options) => {
      await call('delete', target, json, options)
    },
    removeAll: async target => {
      await call('deletecollection', target, json, { propagationPolicy: 'Background' })
    },
  }
}

function objectOf(answer: Answer): KubeObject {
  if (answer.type === 'entry') return decodeEntry(answer.entry)
  if (answer.type === 'object') return answer.object
  throw new Error(`the verb answered with a ${answer.type}, not with an object`)
}

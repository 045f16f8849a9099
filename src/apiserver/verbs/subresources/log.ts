// `pods/NAME/log`: what a container printed is kept by the node it ran on. A pod without a node has printed nothing, so
// its log is empty; for a pod on a node there is no kubelet to ask.

import type { Answer, Call, World } from '../../call.ts'
import { getOwn, type KubeObject } from '../../object.ts'
import { getObject } from '../../objects.ts'
import { badRequest, notFound, StatusError } from '../../status.ts'

export async function readLog(call: Call, world: World): Promise<Answer> {
  const { namespace, name, query } = call.request
  const pod = getObject(world.store, call.resource, namespace, name)
  if (pod === undefined) throw notFound(call.resource, name)
  refuseUnclearContainer(pod, query.get('container') ?? '')
  if (!getOwn(pod.spec, 'nodeName')) return { type: 'nothing' }
  throw new StatusError(501, 'NotImplemented', 'pods/log needs a node, and this API server has none')
}

function refuseUnclearContainer({ metadata, spec }: KubeObject, asked: string): void {
  const names = ['initContainers', 'containers', 'ephemeralContainers'].flatMap(list => namesOf(getOwn(spec, list)))
  if (asked !== '') {
    if (names.includes(asked)) return
    throw badRequest(`container ${asked} is not valid for pod ${metadata.name}`)
  }
  if (namesOf(getOwn(spec, 'containers')).length === 1) return
  throw badRequest(`a container name must be specified for pod ${metadata.name}, choose one of: [${names.join(' ')}]`)
}

function namesOf(containers: unknown): string[] {
  return Array.isArray(containers) ? containers.map(container => String(getOwn(container, 'name') ?? '')) : []
}

// Binding: a scheduler says where a pod runs. It sets `spec.nodeName`, which no other request may change.

import { readObject } from '../../body.ts'
import type { Answer, Call, World } from '../../call.ts'
import { describeFault, type Fault, notSupported, required } from '../../faults.ts'
import { toTimestamp } from '../../metadata.ts'
import { isObject, type KubeObject } from '../../object.ts'
import { readWriteOptions } from '../../options.ts'
import { badRequest, bareError, conflict, internalError, type Status } from '../../status.ts'
import { changeObject } from '../change.ts'
import { admitBody } from './admit-body.ts'
import { bodyKind } from './body-kind.ts'

export async function bindPod(call: Call, world: World): Promise<Answer> {
  const options = readWriteOptions(call.request.query, 'CreateOptions')
  const source = { bytes: call.body, contentType: call.headers.contentType }
  const isOwnKind = call.served.kind.kind === 'Binding'
  const bindings = isOwnKind ? call.served : bodyKind(call)
  const given = readObject(bindings, source, options.fieldValidation, call.warn)
  const { body: binding, validate } = await admitBody(call, world, options, { served: bindings, given })
  if (!isOwnKind && binding.metadata.name !== call.request.name) {
    throw badRequest('name in URL does not match name in Binding object')
  }
  const node = targetNode(binding)
  await validate(binding)

  const pods = world.registry.find('', 'pods')
  const served = pods?.versions.get('v1')
  if (pods === undefined || served === undefined) throw internalError('pods are not served')
  const name = isOwnKind ? (binding.metadata.name ?? '') : call.request.name
  const podCall: Call = {
    ...call,
    resource: pods,
    served,
    request: { ...call.request, verb: 'update', plural: 'pods', name, subresource: 'binding' },
  }
  await changeObject(podCall, world, {
    options,
    isAdmitted: true,
    transform: pod => assign(podCall, world, pod, binding, node),
    // No manager owns `spec.nodeName`.
    record: () => {},
  })
  const status: Status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 }
  return { type: 'status', status }
}

function targetNode({ target }: KubeObject): string {
  const { kind = '', name = '' } = isObject(target) ? target : {}
  const faults: Fault[] = []
  if (kind !== '' && kind !== 'Node') faults.push(notSupported('target.kind', kind, ['Node', '<empty>']))
  if (name === '') faults.push(required('target.name'))
  const told = faults.map(describeFault)
  if (told.length > 0) throw bareError(told.length === 1 ? String(told[0]) : `[${told.join(', ')}]`)
  return String(name)
}

function assign(call: Call, world: World, pod: KubeObject, binding: KubeObject, node: string): KubeObject {
  const spec = (pod.spec ?? {}) as { nodeName?: string }
  const name = pod.metadata.name ?? ''
  if (binding.metadata.uid && binding.metadata.uid !== pod.metadata.uid) {
    throw conflict(
      call.resource,
      name,
      `Precondition failed: UID in precondition: ${binding.metadata.uid}, UID in object meta: ${pod.metadata.uid}`,
    )
  }
  if (pod.metadata.deletionTimestamp)
    throw conflict(
      { group: '', plural: 'pods/binding' },
      name,
      `pod ${name} is being deleted, cannot be assigned to a host`,
    )
  if (spec.nodeName)
    throw conflict(
      { group: '', plural: 'pods/binding' },
      name,
      `pod ${name} is already assigned to node ${JSON.stringify(spec.nodeName)}`,
    )
  const annotations = { ...pod.metadata.annotations, ...binding.metadata.annotations }
  if (Object.keys(annotations).length > 0) pod.metadata.annotations = annotations
  const labels = { ...pod.metadata.labels, ...binding.metadata.labels }
  if (Object.keys(labels).length > 0) pod.metadata.labels = labels
  pod.spec = { ...spec, nodeName: node }
  const status = isObject(pod.status) ? pod.status : {}
  const others = Array.isArray(status.conditions)
    ? status.conditions.filter(c => !isObject(c) || c.type !== 'PodScheduled')
    : []
  const scheduled = {
    type: 'PodScheduled',
    status: 'True',
    lastProbeTime: null,
    lastTransitionTime: toTimestamp(world.now()),
  }
  pod.status = { ...status, conditions: [...others, scheduled] }
  return pod
}

// Before the virtual machine of a Machine is powered off, its Node takes no more pods, and those that it has are asked to go: by
// eviction, which asks their disruption budgets. A budget that says no is asked again later, and the Machine says for which pods it
// waits; nothing is deleted over its head.
//
// Which Node it is, is decided by what the kubelet and the vCenter say, never by what the author of the Machine wrote: a Node is
// that of the virtual machine only if it has its UUID. Pods of DaemonSets would come back at once, static pods cannot be evicted, and
// what has ended is in no pod's way: these are left.

import type { Machine } from '../../../api/machine.ts'
import { excludeNodeDrainingAnnotation } from '../../../api/names.ts'
import { isApiError } from '../../../kube/api-error.ts'
import type { Client } from '../../../kube/client.ts'
import type { Kind, KubeObject } from '../../../kube/object.ts'
import type { VirtualMachine } from '../../../vsphere/virtual-machine.ts'
import { nodes as nodeKind, pods as podKind } from '../kinds.ts'
import type { Why } from './turn.ts'

export interface Node extends KubeObject {
  readonly spec?: { readonly providerID?: string; readonly unschedulable?: boolean }
  readonly status?: {
    readonly nodeInfo?: { readonly systemUUID?: string }
    readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  }
}

export interface Pod extends KubeObject {
  readonly status?: { readonly phase?: string }
}

/** With what is read of them here. */
const nodes: Kind<Node> = nodeKind
const pods: Kind<Pod> = podKind

type DrainClient = Pick<Client, 'get' | 'list' | 'mergePatch' | 'evict'>

/** Why the virtual machine stays for now; undefined where no pod is in its way. */
export async function drain(client: DrainClient, machine: Machine, vm: VirtualMachine): Promise<Why | undefined> {
  if (vm.powerState !== 'poweredOn' || Object.hasOwn(machine.metadata.annotations, excludeNodeDrainingAnnotation))
    return undefined
  try {
    const node = await nodeOf(client, machine, vm)
    return node === undefined ? undefined : await empty(client, node)
  } catch (error) {
    if (!isApiError(error, 'Forbidden')) throw error
    return {
      reason: 'DrainForbidden',
      message: `Mooring may not drain the Node: give it the role of config/rbac/machines.yaml, or set the annotation ${excludeNodeDrainingAnnotation} (${error.message})`,
    }
  }
}

/** By the name that the status has, or by the host name, which is that of the Machine. */
async function nodeOf(
  client: Pick<Client, 'get'>,
  { nodeName, metadata }: Machine,
  vm: VirtualMachine,
): Promise<Node | undefined> {
  for (const name of new Set([nodeName, metadata.name].filter(one => one !== ''))) {
    const node = await client.get(nodes, { name })
    if (node !== undefined && isOf(node, vm)) return node
  }
  return undefined
}

const isOf = ({ spec, status }: Node, { uuid }: VirtualMachine): boolean =>
  uuid !== '' &&
  (spec?.providerID?.toLowerCase() === `vsphere://${uuid}` || status?.nodeInfo?.systemUUID?.toLowerCase() === uuid)

async function empty(client: DrainClient, node: Node): Promise<Why | undefined> {
  const { name = '', uid = '', resourceVersion = '' } = node.metadata
  if (node.spec?.unschedulable !== true)
    await client.mergePatch(nodes, { name }, { spec: { unschedulable: true } }, { uid, resourceVersion })
  const { items } = await client.list(pods, { fieldSelector: `spec.nodeName=${name}` })
  const left = items.filter(pod => isInTheWay(pod, node))
  if (left.length === 0) return undefined
  const waits: string[] = []
  for (const pod of left.slice(0, evictedMax)) waits.push(await ask(client, pod))
  const named = waits.filter(text => text !== '').slice(0, namedMax)
  const more = left.length > named.length ? ` and ${left.length - named.length} more` : ''
  return { reason: 'Draining', message: `waiting for pods of the Node ${name} to end: ${named.join(', ')}${more}` }
}

/** In one pass: each is a request. */
const evictedMax = 50

const namedMax = 5

export function isInTheWay({ metadata, status }: Pod, node: Node): boolean {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return false
  if (Object.hasOwn(metadata.annotations ?? {}, 'kubernetes.io/config.mirror')) return false
  if (metadata.ownerReferences?.some(({ controller, kind }) => controller === true && kind === 'DaemonSet'))
    return false
  // A kubelet that does not answer ends no pod.
  return metadata.deletionTimestamp === undefined || !isUnreachable(node)
}

const isUnreachable = ({ status }: Node): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'Unknown') === true

/** How it is named in the message. */
async function ask(client: DrainClient, { metadata }: Pod): Promise<string> {
  const { namespace = '', name = '', uid = '' } = metadata
  const text = `${namespace}/${name}`
  if (metadata.deletionTimestamp !== undefined) return text
  try {
    await client.evict(pods, { namespace, name }, { uid })
    return text
  } catch (error) {
    if (isApiError(error, 'NotFound', 'Conflict')) return ''
    if (isApiError(error, 'TooManyRequests')) return `${text} (${error.message})`
    throw error
  }
}

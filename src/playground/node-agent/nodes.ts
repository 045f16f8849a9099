// node.registration - the nodes of the playground are there, and ready. What a user changes about one, to cordon it say, stays.

import { timestamp } from '../../kube/timestamp.ts'
import { done, type PassResult } from '../../runtime/reconciler.ts'
import { nodes } from '../kinds.ts'
import { schedulableLabel } from '../names.ts'
import type { Node } from '../shapes.ts'
import type { AgentWorld } from './world.ts'

export async function keepNode(name: string, { client, clock, caches }: AgentWorld): Promise<PassResult> {
  const found = caches.nodes.get(name)
  const node = found ?? (await client.create(nodes, toNode(name)))
  caches.nodes.learn(node)
  if (node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')) return done()
  const patched = await client.mergePatch(
    nodes,
    { name },
    { status: toStatus(name, timestamp(clock)) },
    { subresource: 'status' },
  )
  caches.nodes.learn(patched)
  return done()
}

function toNode(name: string): Node {
  const labels = {
    [schedulableLabel]: 'true',
    'kubernetes.io/hostname': name,
    'kubernetes.io/arch': 'amd64',
    'kubernetes.io/os': 'linux',
    'playground.mooring.dev/stand-in': 'true',
  }
  return { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } }
}

function toStatus(name: string, now: string): object {
  const resources = { cpu: '64', memory: '256Gi', pods: '1000', 'devices.kubevirt.io/kvm': '1000' }
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'PlaygroundReady',
    message: "a stand-in of Mooring's playground: nothing runs here",
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  }
  const addresses = [{ type: 'Hostname', address: name }]
  return { capacity: resources, allocatable: resources, conditions: [ready], addresses }
}

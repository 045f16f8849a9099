// Where a launcher pod runs: on the node of the agent that has the fewest, and never on one where another pod of the same
// virtual machine lives, so that a live migration goes somewhere.

import { schedulableLabel } from '../names.ts'
import type { Node, Pod } from '../shapes.ts'
import { type AgentWorld, isLiving, machineKeyOf } from './world.ts'

/** The name of a node, or why there is none. */
export function chooseNode(
  pod: Pod,
  { caches, nodes }: AgentWorld,
): { readonly node: string } | { readonly waits: string } {
  const hostname = pod.spec?.nodeSelector?.['kubernetes.io/hostname']
  const siblings = caches.pods.byIndex('machine', machineKeyOf(pod) ?? '')
  const taken = new Set(
    siblings.filter(one => one.metadata.uid !== pod.metadata.uid && isLiving(one)).map(({ spec }) => spec?.nodeName),
  )
  const open = nodes.filter(name => isOpen(caches.nodes.get(name)) && (hostname === undefined || hostname === name))
  const free = open.filter(name => !taken.has(name))
  const [first, ...others] = free
  if (first === undefined) {
    const why =
      open.length === 0 ? 'none may be used' : 'the others run this virtual machine already or may not be used'
    return { waits: `0/${nodes.length} nodes of the playground are available: ${why}` }
  }
  const count = (name: string) => caches.pods.countByIndex('node', name)
  return { node: others.reduce((least, name) => (count(name) < count(least) ? name : least), first) }
}

function isOpen(node: Node | undefined): boolean {
  return node?.metadata.labels?.[schedulableLabel] === 'true' && node.spec?.unschedulable !== true
}

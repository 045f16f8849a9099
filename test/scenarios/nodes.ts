// Pods on networks of other CNIs: runtimes on two nodes call the plugin, whatever becomes of the agents that answer it.

import type { MachineWish, Scenario } from './scenario.ts'

/** A bridge with two addresses. */
const bridge = {
  type: 'bridge',
  topology: undefined,
  allowPersistentIPs: undefined,
  ipam: { type: 'mooring', ranges: [{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.10', rangeEnd: '10.9.0.11' }] },
}
const on = (node: string): MachineWish => ({ interfaces: { net1: 'lan' }, node })
const nodes = ['node-1', 'node-2']

export const nodeScenarios: readonly Scenario[] = [
  {
    name: 'S60: a machine stops and starts on another node with one claim, and pods take turns with one address',
    nodes,
    async play(people) {
      for (const node of nodes) await people.makeNode(node)
      await people.makeAttachment('lan', bridge)
      await people.makeMachine('a', on('node-1'))
      await people.untilAddressed('a.net1')
      await people.startInstance('a', on('node-1'))
      await people.makePod('a-1', 'a', on('node-1'))
      await people.attach('a-1')
      await people.makePlainPod('p-1', 'node-1', 'lan')
      await people.attach('p-1')
      await people.detach('a-1')
      await people.endPod('a-1')
      await people.endInstance('a')
      await people.startInstance('a', on('node-2'))
      await people.makePod('a-2', 'a', on('node-2'))
      await people.attach('a-2')
      await people.forcePodAway('p-1')
      await people.makePlainPod('p-2', 'node-2', 'lan')
      await people.detach('p-1')
      await people.attach('p-2')
      await people.detach('p-2')
      await people.forcePodAway('p-2')
      await people.detach('a-2')
      await people.endPod('a-2')
      await people.endInstance('a')
      await people.deleteMachine('a')
      await people.letMachineGo('a')
      await people.untilNoClaim('a.net1')
      await people.untilNoPodClaims()
    },
  },
]

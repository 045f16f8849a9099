// The playground: virtual machines that do not run, so that everything around them can be tried on one computer.
//
//   all    the vm-controller, the KubeVirt operator and the node agent: VirtualMachines come to life without KubeVirt; and Harvester's
//          objects about the network of migrations
//   node   the node agent alone, beside KubeVirt's own control plane

import { startHarvester } from './harvester/harvester.ts'
import { startKubeVirtOperator } from './kubevirt-operator/operator.ts'
import { type NodeAgentOptions, type StandIn, startNodeAgent } from './node-agent/agent.ts'
import { startVMController } from './vm-controller/controller.ts'

export async function startPlayground(parts: NodeAgentOptions, extent: 'all' | 'node'): Promise<StandIn> {
  const agent = await startNodeAgent({ ...parts, saysReady: extent === 'all' })
  const others =
    extent === 'all'
      ? [await startVMController(parts), await startKubeVirtOperator(parts), await startHarvester(parts)]
      : []
  const all = [...others, agent]
  return {
    backlog: () => all.reduce((sum, one) => sum + one.backlog(), 0),
    async stop() {
      for (const one of all) await one.stop()
    },
  }
}

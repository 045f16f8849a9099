// The playground: virtual machines that do not run, so that everything around them can be tried on one computer.
//
//   all    the vm-controller and the node agent: VirtualMachines come to life without KubeVirt
//   node   the node agent alone, beside KubeVirt's own control plane

import { type NodeAgentOptions, type StandIn, startNodeAgent } from './node-agent/agent.ts'
import { startVMController } from './vm-controller/controller.ts'

export async function startPlayground(parts: NodeAgentOptions, extent: 'all' | 'node'): Promise<StandIn> {
  const agent = await startNodeAgent({ ...parts, saysReady: extent === 'all' })
  const controller = extent === 'all' ? await startVMController(parts) : undefined
  return {
    backlog: () => agent.backlog() + (controller?.backlog() ?? 0),
    async stop() {
      await controller?.stop()
      await agent.stop()
    },
  }
}

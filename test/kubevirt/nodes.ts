// The nodes: a stand-in plays scheduler, kubelet, multus and virt-handler, as far as KubeVirt can see.

import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { connect } from '../../scripts/real/connect.ts'
import { failMigrationAnnotation } from '../../src/playground/names.ts'
import { startNodeAgent } from '../../src/playground/node-agent/agent.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { must } from '../capi/answers.ts'
import type { Processes } from '../capi/processes.ts'
import type { Client } from '../conformance/client.ts'
import type { Place } from './control-plane.ts'
import { kubeconfigOf } from './identity.ts'
import { kubevirtNamespace } from './install.ts'

export { failMigrationAnnotation }

/** Beside a server that does not play them itself. */
export async function startNodes(place: Place, processes: Processes): Promise<void> {
  const out = createWriteStream(join(place.dir, 'nodes.log'))
  const own = connect(place.kubeconfig, 'node-agent')
  // What others write into an instance, KubeVirt's webhooks drop.
  const account = { namespace: kubevirtNamespace, name: 'kubevirt-handler' }
  const handler = connect(await kubeconfigOf(place, account), 'virt-handler')
  const { client, clock, discovery } = own
  const log = createLog({ write: line => out.write(line), now: () => clock.now(), level: 'debug' })
  const agent = await startNodeAgent({ client, discovery, handler: handler.client, clock, random: Math.random, log })
  processes.keep(async () => {
    await agent.stop()
    await Promise.all([own.close(), handler.close()])
    out.end()
  })
}

/** All of them, or all but one. */
export async function setSchedulable(client: Client, isSchedulable: boolean, except = ''): Promise<void> {
  for (const { metadata } of must(await client.get('/api/v1/nodes')).items) {
    if (metadata.name === except) continue
    must(await client.merge(`/api/v1/nodes/${metadata.name}`, { spec: { unschedulable: !isSchedulable } }))
  }
}

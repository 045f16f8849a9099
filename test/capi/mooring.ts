// Mooring in a management cluster: its controller, as a process beside the API server, reviewing and converting.

import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../scripts/real/free-port.ts'
import type { Management } from './management.ts'
import { answers, type Processes, type Running } from './processes.ts'
import { createServing, pointToProcess } from './webhooks.ts'

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..')

export async function startMooring(management: Management, processes: Processes): Promise<Running> {
  const { name, dir, kubeconfig, client } = management
  const [healthPort, webhookPort] = [await freePort(), await freePort()]
  const serving = createServing(join(dir, 'mooring-webhooks'))
  const running = await processes.start({
    name: `mooring-${name}`,
    path: process.execPath,
    args: [
      process.env.MOORING_MAIN ?? join(root, 'dist', 'main.js'),
      'controller',
      `--kubeconfig=${kubeconfig}`,
      `--health-probe-bind-address=127.0.0.1:${healthPort}`,
      '--webhook-host=127.0.0.1',
      `--webhook-port=${webhookPort}`,
      `--webhook-cert-dir=${serving.dir}`,
      '--diagnostics-address=0',
      '--log-level=debug',
    ],
    isReady: () => answers(`http://127.0.0.1:${healthPort}/readyz`),
  })
  await pointToProcess(client, 'ipam-mooring', webhookPort, serving.authority)
  return running
}

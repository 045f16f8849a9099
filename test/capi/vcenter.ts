// The provider for vSphere and the vCenter it talks to, beside a management cluster.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { binary } from '../../scripts/real/binaries.ts'
import { freePort } from '../../scripts/real/free-port.ts'
import type { Clusterctl } from './clusterctl.ts'
import { init, type Management } from './management.ts'
import { answers, lastLines, type Processes } from './processes.ts'
import type { Repository } from './repository.ts'
import { createServing, pointToProcess } from './webhooks.ts'

/** Answers with the host and port of the vCenter. */
export async function startVSphere(
  management: Management,
  processes: Processes,
  clusterctl: Clusterctl,
  { vsphereVersion }: Repository,
): Promise<string> {
  const { dir, kubeconfig, client } = management
  await init(management, clusterctl, [`--infrastructure=vsphere:${vsphereVersion}`])

  const addressOf = (log: string): string => lastLines(log, 1)
  const { log } = await processes.start({
    name: 'vcenter',
    path: await binary('vcenter'),
    args: [],
    isReady: async log => URL.canParse(addressOf(log)),
  })
  const vcenter = new URL(addressOf(log))

  const credentials = join(dir, 'credentials.yaml')
  writeFileSync(credentials, `username: ${vcenter.username}\npassword: ${vcenter.password}\n`, { mode: 0o600 })
  const serving = createServing(join(dir, 'vsphere-webhooks'))
  const [webhookPort, healthPort] = [await freePort(), await freePort()]
  await processes.start({
    name: 'vsphere-manager',
    path: await binary('vsphere-manager'),
    args: [
      '--leader-elect=false',
      `--credentials-file=${credentials}`,
      `--webhook-port=${webhookPort}`,
      `--webhook-cert-dir=${serving.dir}`,
      `--health-addr=127.0.0.1:${healthPort}`,
      '--diagnostics-address=127.0.0.1:0',
      '--insecure-diagnostics',
    ],
    env: { KUBECONFIG: kubeconfig },
    isReady: () => answers(`http://127.0.0.1:${healthPort}/healthz`),
  })
  await pointToProcess(client, 'infrastructure-vsphere', webhookPort, serving.authority)
  return vcenter.host
}

// The provider for vSphere and the vCenter it talks to, beside a management cluster.

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { binary } from '../../scripts/real/binaries.ts'
import type { Clusterctl } from './clusterctl.ts'
import { init, type Management, startManager } from './management.ts'
import { lastLines, type Processes } from './processes.ts'
import type { Repository } from './repository.ts'

/** Answers with the host and port of the vCenter. */
export async function startVSphere(
  management: Management,
  processes: Processes,
  clusterctl: Clusterctl,
  { vsphereVersion }: Repository,
): Promise<string> {
  const { dir } = management
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
  await startManager(management, processes, {
    name: 'vsphere-manager',
    program: 'vsphere-manager',
    provider: 'infrastructure-vsphere',
    args: ['--leader-elect=false', `--credentials-file=${credentials}`],
  })
  return vcenter.host
}

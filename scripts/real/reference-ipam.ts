// The reference Cluster API IPAM provider, unchanged, as a child process pointed at a server by its kubeconfig.

import { join } from 'node:path'
import { binary } from './binaries.ts'
import { type Provider, startProvider } from './controller.ts'
import { freePort } from './free-port.ts'

export interface ReferenceOptions {
  readonly kubeconfig: string
  /** Holds its log. */
  readonly dir: string
  readonly say?: (line: string) => void
  readonly onSpawn?: ((pid: number) => void) | undefined
}

export async function startReferenceIpam({ kubeconfig, dir, say, onSpawn }: ReferenceOptions): Promise<Provider> {
  const program = await binary('manager', say)
  const port = await freePort()
  return startProvider({
    program,
    args: ['--webhook-port=0', '--metrics-bind-address=0', `--health-probe-bind-address=127.0.0.1:${port}`],
    env: { ...process.env, KUBECONFIG: kubeconfig },
    log: join(dir, 'manager.log'),
    readyURL: `http://127.0.0.1:${port}/readyz`,
    onSpawn,
  })
}

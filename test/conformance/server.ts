// Starts the server under test once for the whole suite, unless the environment names one that runs already.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startCluster } from '../../scripts/real/cluster.ts'
import { startEmbedded } from '../../scripts/real/embedded.ts'

export type ServerName = 'embedded' | 'cluster'

declare module 'vitest' {
  interface ProvidedContext {
    server: { name: ServerName; kubeconfig: string; isScratch: boolean }
  }
}

// History is forgotten quickly, so that a test can see what a client gets that comes back too late.
const forgetHistory = ['--etcd-compaction-interval=10s']

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const name: ServerName = process.env.MOORING_CONFORMANCE_SERVER === 'cluster' ? 'cluster' : 'embedded'
  const given = process.env.MOORING_CONFORMANCE_KUBECONFIG
  if (given) {
    project.provide('server', { name, kubeconfig: given, isScratch: false })
    return async () => {}
  }
  const dir = mkdtempSync(join(tmpdir(), 'mooring-conformance-'))
  const server =
    name === 'cluster'
      ? await startCluster({ dir, apiserverArgs: forgetHistory, say: line => console.error(line) })
      : await startEmbedded({ dir, args: ['--desks=none', '--history=8'] })
  const isScratch = !process.env.MOORING_TEST_KUBECONFIG || name === 'embedded'
  project.provide('server', { name, kubeconfig: server.kubeconfig, isScratch })
  return async () => {
    await server.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

// `npm run cluster:up`: a real kube-apiserver for this working copy, in the background.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { skippedExitCode, Unavailable } from './binaries.ts'
import { startCluster, stopDetached } from './cluster.ts'

const { values } = parseArgs({
  options: {
    dir: { type: 'string', default: '.mooring/cluster' },
    kubeconfig: { type: 'string' },
  },
})
const dir = resolve(values.dir)
const kubeconfig = resolve(values.kubeconfig ?? join(dir, 'kubeconfig'))
const record = join(dir, 'processes.json')

try {
  if (existsSync(record)) await stopDetached(JSON.parse(readFileSync(record, 'utf8')) as Record<string, number>)
  // A scratch cluster starts empty each time, so that yesterday's objects explain nothing today.
  rmSync(dir, { recursive: true, force: true })
  mkdirSync(dir, { recursive: true })
  const cluster = await startCluster({ dir, kubeconfig, detached: true, say: line => console.error(line) })
  writeFileSync(record, JSON.stringify(cluster.pids))
  console.log(`the cluster is ready: export KUBECONFIG=${cluster.kubeconfig}`)
} catch (error) {
  if (!(error instanceof Unavailable)) throw error
  console.log(`skipped, because ${error.message}`)
  process.exitCode = skippedExitCode
}

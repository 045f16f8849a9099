// A real API server that knows the kinds of others, a release rendered for it, and helm.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { binary } from '../../scripts/real/binaries.ts'
import { type Cluster, startCluster } from '../../scripts/real/cluster.ts'
import { writeRelease } from '../../scripts/release/write.ts'
import { mustRun } from './run.ts'
import { stubs } from './stubs.ts'

export interface World {
  /** Arguments that lead kubectl to the server. */
  readonly kubectl: readonly string[]
  readonly helm: string
  /** The environment in which helm finds the server, and keeps its things away from those of the user. */
  readonly helmEnv: NodeJS.ProcessEnv
  readonly release: string
  readonly chart: string
  readonly dir: string
  /** The text of a file of the release. */
  readonly file: (path: string) => string
  readonly stop: () => Promise<void>
}

export const namespace = 'mooring-system'

export async function startWorld(dir: string, say: (line: string) => void): Promise<World> {
  const release = join(dir, 'release')
  writeRelease({ out: release })
  const helm = await binary('helm', say)
  const cluster = await startCluster({ dir: join(dir, 'server'), withControllers: false, say })
  const kubectl = ['--kubeconfig', cluster.kubeconfig, '--cache-dir', join(dir, 'kubectl')]
  try {
    await prepare(dir, kubectl)
  } catch (error) {
    await cluster.stop()
    throw error
  }
  return {
    kubectl,
    helm,
    helmEnv: helmEnv(dir, cluster),
    release,
    chart: join(release, 'charts', 'mooring'),
    dir,
    file: path => readFileSync(join(release, path), 'utf8'),
    stop: () => cluster.stop(),
  }
}

/** The namespace is there already, and warns of every pod that the strictest rules would not let in. */
async function prepare(dir: string, kubectl: readonly string[]): Promise<void> {
  const labels = { 'pod-security.kubernetes.io/warn': 'restricted' }
  const spaces = [namespace, 'team'].map(name => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels },
  }))
  const path = join(dir, 'stubs.json')
  mkdirSync(dir, { recursive: true })
  writeFileSync(path, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [...spaces, ...stubs] }))
  await mustRun('kubectl', [...kubectl, 'create', '-f', path])
  const names = stubs.map(({ metadata }) => `crd/${metadata.name}`)
  await mustRun('kubectl', [...kubectl, 'wait', '--for=condition=Established', '--timeout=30s', ...names])
}

function helmEnv(dir: string, { kubeconfig }: Cluster): NodeJS.ProcessEnv {
  const home = (name: string) => join(dir, 'helm', name)
  return {
    KUBECONFIG: kubeconfig,
    HELM_CACHE_HOME: home('cache'),
    HELM_CONFIG_HOME: home('config'),
    HELM_DATA_HOME: home('data'),
  }
}

// Starts the servers that behaviours are tried on, with the kinds in place and without a desk of their own: one for each of the
// workers, which would else serve each other's claims, and further ones for those that change the server itself.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startCluster } from '../../scripts/real/cluster.ts'
import { connect } from '../../scripts/real/connect.ts'
import { startEmbedded } from '../../scripts/real/embedded.ts'
import { installKinds } from '../../scripts/real/kinds.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { definitions } from './definitions.ts'

declare module 'vitest' {
  interface ProvidedContext {
    behaviours: { kubeconfigs: readonly string[] }
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { maxWorkers } = project.vitest.config
  const starts = await Promise.allSettled(Array.from({ length: maxWorkers }, () => startServer(definitions)))
  const servers = starts.flatMap(start => (start.status === 'fulfilled' ? [start.value] : []))
  const stop = async () => {
    await Promise.all(servers.map(server => server.stop()))
  }
  const failure = starts.find(start => start.status === 'rejected')
  if (failure !== undefined) {
    await stop()
    throw failure.reason
  }
  project.provide('behaviours', { kubeconfigs: servers.map(({ kubeconfig }) => kubeconfig) })
  return stop
}

export interface Server {
  readonly kubeconfig: string
  stop(): Promise<void>
}

/** Stories put pods on nodes that are not there: added to what is switched off already. */
const controllerManagerArgs = ['--controllers=-pod-garbage-collector-controller']

/** Without controllers it starts sooner, and nothing that is deleted takes others with it. */
export async function startServer(
  kinds: readonly KubeObject[],
  { withControllers = true }: { readonly withControllers?: boolean } = {},
): Promise<Server> {
  const dir = mkdtempSync(join(tmpdir(), 'mooring-behaviours-'))
  const server =
    process.env.MOORING_BEHAVIOURS_SERVER === 'cluster'
      ? await startCluster({ dir, withControllers, controllerManagerArgs, say: line => console.error(line) })
      : await startEmbedded({ dir, args: ['--desks=none'] })
  const { client, close } = connect(server.kubeconfig)
  await installKinds(client, kinds)
  await close()
  return {
    kubeconfig: server.kubeconfig,
    async stop() {
      await server.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

// Starts the server that behaviours are tried on, once for all of them, with the kinds in place and without a desk of its own.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startCluster } from '../../scripts/real/cluster.ts'
import { startEmbedded } from '../../scripts/real/embedded.ts'
import { createClient } from '../../src/kube/client.ts'
import { firstVersion } from '../../src/kube/discovery.ts'
import { findConnection } from '../../src/kube/kubeconfig.ts'
import { createUndiciWire } from '../../src/kube/wire-undici.ts'
import { pause, realClock } from '../../src/runtime/clock.ts'
import { definitions } from './definitions.ts'
import { definitionKind } from './kinds.ts'

declare module 'vitest' {
  interface ProvidedContext {
    behaviours: { kubeconfig: string }
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = mkdtempSync(join(tmpdir(), 'mooring-behaviours-'))
  const server =
    process.env.MOORING_BEHAVIOURS_SERVER === 'cluster'
      ? await startCluster({ dir, say: line => console.error(line) })
      : await startEmbedded({ dir, args: ['--desks=none'] })
  await installKinds(server.kubeconfig)
  project.provide('behaviours', { kubeconfig: server.kubeconfig })
  return async () => {
    await server.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

async function installKinds(kubeconfig: string): Promise<void> {
  const clock = realClock
  const readFile = (path: string) => readFileSync(path, 'utf8')
  const connection = findConnection({ env: {}, home: homedir(), readFile }, { kubeconfig })
  const { wire, close } = createUndiciWire({ connection, clock, readFile })
  const client = createClient({ wire, clock, name: 'tester', versionOf: firstVersion })
  for (const definition of definitions) await client.create(definitionKind, definition)
  for (const { metadata } of definitions) {
    while (!isEstablished(await client.get(definitionKind, { name: metadata.name ?? '' }))) await pause(clock, 50)
  }
  await close()
}

function isEstablished(definition: unknown): boolean {
  const { status } = definition as { status?: { conditions?: { type: string; status: string }[] } }
  return status?.conditions?.some(({ type, status }) => type === 'Established' && status === 'True') ?? false
}

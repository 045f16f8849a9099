// Starts the real API server that the controller is tried on, once for all tests, with the checks on that strict clusters have.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startCluster } from '../../scripts/real/cluster.ts'
import './ground.ts'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = mkdtempSync(join(tmpdir(), 'mooring-rbac-'))
  const cluster = await startCluster({
    dir,
    // Who sets blockOwnerDeletion must be allowed to change the owner's finalizers.
    apiserverArgs: ['--enable-admission-plugins=OwnerReferencesPermissionEnforcement'],
    say: line => console.error(line),
  })
  project.provide('controller', { kubeconfig: cluster.kubeconfig })
  return async () => {
    await cluster.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

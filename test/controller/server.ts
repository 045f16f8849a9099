// Starts the real API server that the controller is tried on, once for all tests, with the checks on that strict clusters have.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startCluster } from '../../scripts/real/cluster.ts'
import './ground.ts'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = mkdtempSync(join(tmpdir(), 'mooring-rbac-'))
  const policy = join(dir, 'audit-policy.json')
  const audit = join(dir, 'audit.log')
  const rules = [{ level: 'Metadata', userGroups: ['system:serviceaccounts'] }, { level: 'None' }]
  writeFileSync(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules }))
  const cluster = await startCluster({
    dir,
    apiserverArgs: [
      // An account that sets blockOwnerDeletion must be allowed to change the owner's finalizers.
      '--enable-admission-plugins=OwnerReferencesPermissionEnforcement',
      `--audit-policy-file=${policy}`,
      `--audit-log-path=${audit}`,
    ],
    say: line => console.error(line),
  })
  project.provide('controller', { kubeconfig: cluster.kubeconfig, audit })
  return async () => {
    await cluster.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

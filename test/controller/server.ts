// Starts the real API server that the controller is tried on, once for all tests, with the checks on that strict clusters have.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startCluster } from '../../scripts/real/cluster.ts'
import { issueCA, issueClientCertificate } from '../../src/apiserver/certificates/issue.ts'
import './ground.ts'

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = mkdtempSync(join(tmpdir(), 'mooring-rbac-'))
  const policy = join(dir, 'audit-policy.json')
  const audit = join(dir, 'audit.log')
  const rules = [{ level: 'Metadata', userGroups: ['system:serviceaccounts'] }, { level: 'None' }]
  writeFileSync(policy, JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', rules }))
  const webhookClientCA = join(dir, 'webhook-clients.crt')
  const cluster = await startCluster({
    dir,
    apiserverArgs: [
      // An account that sets blockOwnerDeletion must be allowed to change the owner's finalizers.
      '--enable-admission-plugins=OwnerReferencesPermissionEnforcement',
      `--audit-policy-file=${policy}`,
      `--audit-log-path=${audit}`,
      `--admission-control-config-file=${showCertificate(dir, webhookClientCA)}`,
    ],
    say: line => console.error(line),
  })
  project.provide('controller', { kubeconfig: cluster.kubeconfig, audit, webhookClientCA })
  return async () => {
    await cluster.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** Has the server show a client certificate to every webhook, as docs/how-to/secure-the-webhooks.md says. */
function showCertificate(dir: string, authority: string): string {
  const life = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 24 * 3_600_000) }
  const ca = issueCA('webhook-clients', life)
  const { certificate, key } = issueClientCertificate(ca, 'kube-apiserver', [], life)
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const user = { 'client-certificate-data': base64(certificate), 'client-key-data': base64(key) }
  const kubeConfigFile = join(dir, 'webhook-clients.json')
  const config = join(dir, 'admission.json')
  writeFileSync(authority, ca.certificate)
  writeFileSync(kubeConfigFile, JSON.stringify({ apiVersion: 'v1', kind: 'Config', users: [{ name: '*', user }] }))
  const apiVersion = 'apiserver.config.k8s.io/v1'
  const plugins = ['ValidatingAdmissionWebhook', 'MutatingAdmissionWebhook'].map(name => ({
    name,
    configuration: { apiVersion, kind: 'WebhookAdmissionConfiguration', kubeConfigFile },
  }))
  writeFileSync(config, JSON.stringify({ apiVersion, kind: 'AdmissionConfiguration', plugins }))
  return config
}

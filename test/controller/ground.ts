// A server with Mooring's definitions and roles on it, and an account that has exactly those roles: the embedded server in
// this process, or the one whose kubeconfig the lane provides.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import { type InstallOptions, type Manifest, plainInstall, toRBAC } from '../../scripts/config/manifests.ts'
import { readKubeconfig } from '../../scripts/real/kubeconfig.ts'
import { type Connected, connect } from '../../src/cli/connect.ts'
import { type Definition, definitionsOf } from '../../src/cli/definitions.ts'
import { deskNames } from '../../src/cli/desks.ts'
import { up } from '../../src/cli/up.ts'
import { webhookClientName } from '../../src/cli/webhook-client.ts'
import { componentsOf } from '../../src/controllers/assemble.ts'
import { desks } from '../../src/controllers/desks.ts'
import { pools } from '../../src/controllers/office/kinds.ts'
import type { Client } from '../../src/kube/client.ts'
import { defineKind, type Kind, type KubeObject, refOf } from '../../src/kube/object.ts'
import { tokenKubeconfig } from '../harness/token-kubeconfig.ts'

declare module 'vitest' {
  interface ProvidedContext {
    controller: { kubeconfig: string; audit: string; webhookClientCA: string } | undefined
  }
}

export interface Ground {
  readonly admin: Client
  readonly directory: string
  readonly isReal: boolean
  /** By what the server proves itself to webhooks: the file of the authority, and the common name. */
  readonly webhookClient: { readonly ca: string; readonly name: string }
  /** Makes or replaces objects as they are written in manifests. */
  apply(...objects: readonly object[]): Promise<void>
  remove(...objects: readonly object[]): Promise<void>
  /** What lies at a path: kinds are asked for in one version each, a path in any. */
  read(path: string): Promise<Readonly<Record<string, unknown>>>
  /** A token of a service account. */
  tokenOf(namespace: string, name: string): Promise<string>
  /** A kubeconfig for a service account. */
  kubeconfigOf(namespace: string, name: string): Promise<string>
  stop(): Promise<void>
}

let definitions: readonly Definition[] | undefined

export async function aGround(): Promise<Ground> {
  const directory = mkdtempSync(join(tmpdir(), 'mooring-controller-'))
  const found = await findServer(directory)
  const { kubeconfig } = found
  const connected = connect({ kubeconfig }, 'tester')
  const { client: admin } = connected
  const { server, ca = '' } = readKubeconfig(kubeconfig)
  const apply = async (...objects: readonly object[]) => {
    for (const object of objects as readonly KubeObject[]) {
      await admin.apply(kindOf(object), refOf(object), object, { isForced: true })
    }
  }
  const tokenOf = (namespace: string, name: string) => requestToken(connected, namespace, name)
  const ground: Ground = {
    admin,
    directory,
    isReal: inject('controller') !== undefined,
    webhookClient: webhookClientOf(directory),
    apply,
    async remove(...objects) {
      for (const object of objects as readonly KubeObject[]) await admin.delete(kindOf(object), refOf(object))
    },
    async read(path) {
      const headers = { accept: 'application/json' }
      const { body } = await connected.wire({ method: 'GET', path, headers, signal: AbortSignal.timeout(30_000) })
      return JSON.parse(textOf(body)) as Readonly<Record<string, unknown>>
    },
    tokenOf,
    async kubeconfigOf(namespace, name) {
      const path = join(directory, `${namespace}-${name}.kubeconfig`)
      writeFileSync(path, tokenKubeconfig({ server, ca }, name, await tokenOf(namespace, name), namespace))
      return path
    },
    async stop() {
      await connected.close()
      await found.stop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
  definitions ??= definitionsOf(componentsOf(desks, deskNames))
  await apply(...definitions)
  await until('the kinds are served', async () => {
    const served = await Promise.all(['Hold', 'Cluster'].map(kind => connected.discovery.look()(kindNamed(kind))))
    return served.every(versions => versions.length > 0)
  })
  return ground
}

/** The roles of an installation, in a namespace of its own. Answers with the account that has them. */
export async function installRoles(ground: Ground, options: InstallOptions = plainInstall): Promise<Manifest[]> {
  const roles = toRBAC(options)
  await ground.apply(aNamespace(options.namespace), ...roles)
  return roles
}

async function findServer(directory: string): Promise<{ kubeconfig: string; stop(): Promise<void> }> {
  const given = inject('controller')
  if (given !== undefined) return { kubeconfig: given.kubeconfig, stop: async () => {} }
  const anywhere = '127.0.0.1:0'
  const data = join(directory, 'data')
  return up({ data, listen: anywhere, dashboard: anywhere, desks: 'none', history: '300', logLevel: 'error' }, () => {})
}

function webhookClientOf(directory: string): Ground['webhookClient'] {
  const given = inject('controller')
  if (given !== undefined) return { ca: given.webhookClientCA, name: 'kube-apiserver' }
  return { ca: join(directory, 'data', 'pki', 'ca.pem'), name: webhookClientName }
}

async function requestToken({ wire }: Connected, namespace: string, name: string): Promise<string> {
  const { status, body } = await wire({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} }),
    signal: AbortSignal.timeout(30_000),
  })
  if (status !== 201) throw new Error(`no token: ${textOf(body)}`)
  return (JSON.parse(textOf(body)) as { status: { token: string } }).status.token
}

/** Only streams are answered otherwise. */
const textOf = (body: unknown): string => (typeof body === 'string' ? body : '')

const builtIn: readonly (readonly [kind: string, group: string, plural: string, namespaced: boolean])[] = [
  ['Namespace', '', 'namespaces', false],
  ['ServiceAccount', '', 'serviceaccounts', true],
  ['ClusterRole', 'rbac.authorization.k8s.io', 'clusterroles', false],
  ['ClusterRoleBinding', 'rbac.authorization.k8s.io', 'clusterrolebindings', false],
  ['Role', 'rbac.authorization.k8s.io', 'roles', true],
  ['RoleBinding', 'rbac.authorization.k8s.io', 'rolebindings', true],
  ['CustomResourceDefinition', 'apiextensions.k8s.io', 'customresourcedefinitions', false],
  ['ValidatingWebhookConfiguration', 'admissionregistration.k8s.io', 'validatingwebhookconfigurations', false],
  ['MutatingWebhookConfiguration', 'admissionregistration.k8s.io', 'mutatingwebhookconfigurations', false],
  ['Lease', 'coordination.k8s.io', 'leases', true],
  ['Hold', 'mooring.dev', 'holds', false],
  ['IPAddressClaim', 'ipam.cluster.x-k8s.io', 'ipaddressclaims', true],
  ['IPAddress', 'ipam.cluster.x-k8s.io', 'ipaddresses', true],
  ['Cluster', 'cluster.x-k8s.io', 'clusters', true],
  ['Berth', 'toy.example.org', 'berths', true],
  ['ToyNetwork', 'toy.example.org', 'toynetworks', false],
  ['Pod', '', 'pods', true],
  ['NetworkAttachmentDefinition', 'k8s.cni.cncf.io', 'network-attachment-definitions', true],
  ['IPAMClaim', 'k8s.cni.cncf.io', 'ipamclaims', true],
  ['VirtualMachine', 'kubevirt.io', 'virtualmachines', true],
  ['VirtualMachineInstance', 'kubevirt.io', 'virtualmachineinstances', true],
  ['UserDefinedNetwork', 'k8s.ovn.org', 'userdefinednetworks', true],
  ['ClusterUserDefinedNetwork', 'k8s.ovn.org', 'clusteruserdefinednetworks', false],
  ['IPPool', 'ippool.k8s.cni.cncf.io', 'ippools', false],
  ['Machine', 'machine.openshift.io', 'machines', true],
  ['KubeVirt', 'kubevirt.io', 'kubevirts', true],
  ['Setting', 'harvesterhci.io', 'settings', false],
  ['VlanStatus', 'network.harvesterhci.io', 'vlanstatuses', false],
  ['MigrationNetwork', 'mooring.dev', 'migrationnetworks', false],
]

const versions: Readonly<Record<string, string>> = {
  'mooring.dev': 'v1alpha1',
  Cluster: 'v1beta2',
  IPAddressClaim: 'v1beta2',
  IPAddress: 'v1beta2',
  IPAMClaim: 'v1alpha1',
  IPPool: 'v1alpha',
  Machine: 'v1beta1',
  'harvesterhci.io': 'v1beta1',
  'network.harvesterhci.io': 'v1beta1',
}

/** Several groups have a kind IPPool: the one of networks is meant where none is said. */
export function kindNamed(name: string, inGroup = ''): Kind {
  const pool = pools.find(({ kind, group }) => kind === name && (group === inGroup || kind !== 'IPPool'))
  if (pool !== undefined) return pool
  const found = builtIn.find(([kind]) => kind === name)
  if (found === undefined) throw new Error(`no test speaks of ${name}`)
  const [kind, group, plural, namespaced] = found
  return defineKind<KubeObject>({
    kind,
    group,
    plural,
    namespaced,
    versions: [versions[kind] ?? versions[group] ?? 'v1'],
  })
}

function kindOf({ kind = '', apiVersion = '' }: KubeObject): Kind {
  return kindNamed(kind, apiVersion.split('/')[0])
}

export const aNamespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })

const ipam = 'ipam.cluster.x-k8s.io'

export const aPool = (namespace: string, name: string, addresses = '10.0.0.0/24') => ({
  apiVersion: `${ipam}/v1alpha2`,
  kind: 'InClusterIPPool',
  metadata: { namespace, name },
  spec: { addresses: [addresses], prefix: 24 },
})

export const aGlobalPool = (name: string, addresses: string) => ({
  apiVersion: `${ipam}/v1alpha2`,
  kind: 'GlobalInClusterIPPool',
  metadata: { name },
  spec: { addresses: [addresses], prefix: 24 },
})

export const aClaim = (namespace: string, name: string, pool: object, labels: Record<string, string> = {}) => {
  const { kind, metadata } = pool as { kind: string; metadata: { name: string } }
  return {
    apiVersion: `${ipam}/v1beta2`,
    kind: 'IPAddressClaim',
    metadata: { namespace, name, labels },
    spec: { poolRef: { apiGroup: ipam, kind, name: metadata.name } },
  }
}

/** Asks until it holds: what a controller does, it does a little later. */
export async function until(what: string, holds: () => Promise<boolean> | boolean, patienceMs = 45_000): Promise<void> {
  const deadline = performance.now() + patienceMs
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`waited until ${what}, in vain`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** The address that the claim was given. */
export async function addressOf(admin: Client, claim: object): Promise<string> {
  const ref = refOf(claim as KubeObject)
  let address = ''
  await until(`${ref.namespace}/${ref.name} is bound`, async () => {
    const found = (await admin.get(kindNamed('IPAddressClaim'), ref)) as { status?: { addressRef?: { name: string } } }
    if (found?.status?.addressRef === undefined) return false
    const report = await admin.get(kindNamed('IPAddress'), ref)
    address = (report as unknown as { spec: { address: string } } | undefined)?.spec.address ?? ''
    return true
  })
  return address
}

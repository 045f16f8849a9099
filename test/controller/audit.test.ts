// No permission is shipped that the controller does not use: the audit log of the API server, kept while every kind of pool, a
// virtual machine with two interfaces, a Machine of OpenShift, an IPPool, networks that users define and migration networks were used and left again, is
// compared with the roles. Only where there is such a log, which is on a real server.

import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { plainInstall, toRBAC } from '../../scripts/config/manifests.ts'
import { standInsOf } from '../../src/cli/definitions.ts'
import { permissionSets, singlePermissions } from '../../src/cli/permissions.ts'
import { pools } from '../../src/controllers/office/kinds.ts'
import { type KubeObject, refOf } from '../../src/kube/object.ts'
import { aClaim, addressOf, aGround, aNamespace, type Ground, kindNamed, until } from './ground.ts'
import { aReplica } from './replica.ts'

const options = { ...plainInstall, namespace: 'audit-system', namePrefix: 'audit-' }
const home = 'audit-home'
const audit = inject('controller')?.audit

/** Used when something goes wrong or twice, or asked about by the server itself. */
const seldom: Readonly<Record<string, string>> = {
  'get holds.mooring.dev': 'when a hold is there already',
  'get ipaddressclaims.ipam.cluster.x-k8s.io': 'when a claim has changed meanwhile, or seems to be gone',
  'get namespaces': 'when a pool is offered to namespaces by their labels',
  'patch events.events.k8s.io': 'when the same event happens again',
  'get ipamclaims.k8s.cni.cncf.io': 'when a claim has changed meanwhile, or its pod comes before it',
  'get pods': 'when a pod has changed meanwhile',
  'get macholds.mooring.dev': 'when a MAC is held already',
  'get network-attachment-definitions.k8s.cni.cncf.io': 'when one has changed meanwhile, or is made at this moment',
  'get ippools.ippool.k8s.cni.cncf.io': 'when a pool has changed meanwhile',
  'get userdefinednetworks.k8s.ovn.org': 'when a network has changed meanwhile, or a pool names one of its namespace',
  'get clusteruserdefinednetworks.k8s.ovn.org': 'when a network has changed meanwhile',
  'get nodes': 'when something is held for a node that seems to be gone',
  'create subjectaccessreviews.authorization.k8s.io': 'when metrics are read',
  'create tokenreviews.authentication.k8s.io': 'when metrics are read',
}
/** The kinds of KubeVirt and of networks, as `mooring up` brings them. */
const ofMachines = standInsOf([{ standIns: ['crd/kubevirt/', 'crd/networks/', 'crd/machine/', 'crd/harvester/'] }])
const isAskedByServer = (permission: string) => permission.endsWith('/finalizers')

const definable = ['UserDefinedNetwork', 'ClusterUserDefinedNetwork'] as const

let ground: Ground
beforeAll(async () => {
  if (audit === undefined) return
  ground = await aGround()
  await ground.apply(aNamespace(options.namespace), aNamespace(home), ...toRBAC(options), ...ofMachines)
  const isServed = (kind: string) =>
    ground.admin.list(kindNamed(kind)).then(
      () => true,
      () => false,
    )
  const kinds = [
    'NetworkAttachmentDefinition',
    'IPAMClaim',
    'VirtualMachine',
    'VirtualMachineInstance',
    'Machine',
    'KubeVirt',
    'Setting',
    'VlanStatus',
    ...definable,
  ]
  await until('the kinds of machines are served', async () => (await Promise.all(kinds.map(isServed))).every(is => is))
})
afterAll(async () => {
  if (audit === undefined) return
  await ground.remove(...toRBAC(options).filter(({ kind }) => String(kind).startsWith('Cluster')), ...ofMachines)
  await ground.stop()
})

const ownedBy = async (kind: string, name: string) => {
  const { metadata } = (await ground.admin.get(kindNamed(kind), { namespace: home, name })) as KubeObject
  const owner = { apiVersion: 'kubevirt.io/v1', kind, name, uid: metadata.uid }
  return { ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }] }
}

const specOn = (networks: readonly string[]) => ({
  domain: {
    devices: { interfaces: networks.map((name, at) => ({ name, bridge: {}, macAddress: `02:00:5e:00:53:0${at}` })) },
  },
  networks: networks.map(name => ({ name, multus: { networkName: name } })),
})

const aMachine = (networks: readonly string[]) => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachine',
  metadata: { namespace: home, name: 'audited' },
  spec: { runStrategy: 'Always', template: { spec: specOn(networks) } },
})

const aNetwork = (name: string, at: number) => ({
  apiVersion: 'k8s.cni.cncf.io/v1',
  kind: 'NetworkAttachmentDefinition',
  metadata: { namespace: home, name },
  spec: {
    config: JSON.stringify({
      cniVersion: '1.0.0',
      name: `audited-${name}`,
      type: 'ovn-k8s-cni-overlay',
      topology: 'layer2',
      subnets: `10.${120 + at}.0.0/24`,
      allowPersistentIPs: true,
    }),
  },
})

/** A machine with two interfaces is made, runs, loses one of them, and is deleted. */
async function liveAndEnd(): Promise<void> {
  const claims = ['audited.red', 'audited.green']
  const found = (kind: string, name: string) => ground.admin.get(kindNamed(kind), { namespace: home, name })
  const isGone = (name: string) => until(`${name} is gone`, async () => (await found('IPAMClaim', name)) === undefined)
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace: home, name: 'default' } }
  await ground.apply(account, aNetwork('red', 1), aNetwork('green', 2), aMachine(['red', 'green']))
  for (const name of claims) await until(`${name} is there`, async () => (await found('IPAMClaim', name)) !== undefined)
  const vmi = {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: { namespace: home, name: 'audited', ...(await ownedBy('VirtualMachine', 'audited')) },
    spec: specOn(['red', 'green']),
  }
  await ground.apply(vmi)
  const elements = ['red', 'green'].map(name => ({ name, 'ipam-claim-reference': `audited.${name}` }))
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace: home,
      name: 'virt-launcher-audited',
      labels: { 'kubevirt.io': 'virt-launcher' },
      annotations: { 'kubevirt.io/domain': 'audited', 'k8s.v1.cni.cncf.io/networks': JSON.stringify(elements) },
      ...(await ownedBy('VirtualMachineInstance', 'audited')),
    },
    spec: {
      nodeName: 'audited',
      automountServiceAccountToken: false,
      containers: [{ name: 'compute', image: 'launcher' }],
    },
  }
  await ground.apply(pod)
  await until('the pod is told its addresses', async () => {
    const annotations = (await found('Pod', 'virt-launcher-audited'))?.metadata.annotations ?? {}
    return Object.keys(JSON.parse(annotations['k8s.ovn.org/pod-networks'] ?? '{}')).length === 2
  })
  await ground.admin.delete(kindNamed('Pod'), { namespace: home, name: pod.metadata.name }, { graceSeconds: 0 })
  await ground.remove(vmi)
  await ground.apply(aMachine(['red']))
  await isGone('audited.green')
  await ground.remove(aMachine(['red']), {
    ...account,
    kind: 'IPAMClaim',
    metadata: { namespace: home, name: 'audited.red' },
  })
  await isGone('audited.red')
}

/** A network of each kind is defined, spoiled by a user, restored, and deleted; an IPPool is judged. */
async function defineAndEnd(): Promise<void> {
  const network = { topology: 'Layer2', layer2: { role: 'Secondary', subnets: ['10.130.0.0/24'] } }
  const selector = { matchLabels: { 'kubernetes.io/metadata.name': home } }
  const defined = definable.map(kind => ({
    apiVersion: 'k8s.ovn.org/v1',
    kind,
    metadata: { name: kind.toLowerCase(), ...(kind === 'UserDefinedNetwork' && { namespace: home }) },
    spec: kind === 'UserDefinedNetwork' ? network : { namespaceSelector: selector, network },
  }))
  const attachments = kindNamed('NetworkAttachmentDefinition')
  await ground.apply(...defined)
  for (const { metadata } of defined) {
    const ref = { namespace: home, name: metadata.name }
    const config = async () => {
      const found = (await ground.admin.get(attachments, ref)) as { spec?: { config?: string } } | undefined
      return found?.spec?.config
    }
    await until('it is rendered', async () => (await config()) !== undefined)
    const rendered = await config()
    const spoiled = { apiVersion: 'k8s.cni.cncf.io/v1', kind: attachments.kind, metadata: ref, spec: { config: '{}' } }
    await ground.apply(spoiled)
    await until('it is restored', async () => (await config()) === rendered)
  }
  const pool = {
    apiVersion: 'ippool.k8s.cni.cncf.io/v1alpha',
    kind: 'IPPool',
    metadata: { name: 'audited' },
    spec: { 'network-name': 'audited-red', entries: { '02:00:5e:00:53:09': ['10.121.0.9/24'] } },
  }
  await ground.apply(pool)
  await until('the IPPool is judged', async () => {
    const found = await ground.admin.get(kindNamed('IPPool'), { name: 'audited' })
    return found !== undefined && Object.hasOwn(found, 'status')
  })
  await ground.remove(pool, ...defined)
  for (const { metadata } of defined)
    await until('what was rendered is gone', async () => {
      return (await ground.admin.get(attachments, { namespace: home, name: metadata.name })) === undefined
    })
}

/** A Machine of OpenShift gets its address, and is deleted. */
async function orderAndEnd(): Promise<void> {
  const pool = {
    apiVersion: 'machine.openshift.io/v1beta1',
    kind: 'IPPool',
    metadata: { namespace: home, name: 'ordered' },
    spec: { addresses: ['10.140.0.0/24'], prefix: 24 },
  }
  const addressesFromPools = [{ group: 'machine.openshift.io', resource: 'IPPool', name: 'ordered' }]
  const value = {
    kind: 'VSphereMachineProviderSpec',
    network: { devices: [{ networkName: 'lab', addressesFromPools }] },
  }
  const machine = { ...pool, kind: 'Machine', spec: { providerSpec: { value } } }
  const found = async (kind: string, name: string) => ground.admin.get(kindNamed(kind), { namespace: home, name })
  await ground.apply(pool, machine)
  await until('the Machine has its address', async () => {
    const text = (await found('Machine', 'ordered'))?.metadata.annotations?.['mooring.dev/claimed-addresses']
    return text !== undefined
  })
  await ground.remove(machine)
  const isGone = async () => (await found('IPAddressClaim', 'ordered-claim-0-0')) === undefined
  await until('its claim is gone', isGone)
  await ground.remove(pool)
}

/** Live migration gets a network by the setting of Harvester, then by a MigrationNetwork, and loses it again. */
async function migrateAndEnd(): Promise<void> {
  const namespace = 'harvester-system'
  const kubeVirt = {
    apiVersion: 'kubevirt.io/v1',
    kind: 'KubeVirt',
    metadata: { namespace, name: 'kubevirt' },
    spec: {},
  }
  const value = JSON.stringify({ clusterNetwork: 'mgmt', vlan: 100, range: '10.150.0.0/24' })
  const metadata = { name: 'vm-migration-network' }
  const setting = { apiVersion: 'harvesterhci.io/v1beta1', kind: 'Setting', metadata, value }
  const range = { bridge: 'br-migration', range: '10.151.0.0/24', kubevirt: kubeVirt.metadata }
  const network = { apiVersion: 'mooring.dev/v1alpha1', kind: 'MigrationNetwork', metadata, spec: range }
  const kind = kindNamed('KubeVirt')
  const networkOf = async () => {
    const found = (await ground.admin.get(kind, kubeVirt.metadata)) as KubeObject & {
      readonly spec: { readonly configuration?: { readonly migrations?: { readonly network?: string } } }
    }
    // As its operator, which has nothing to roll where there is no node.
    const conditions = [{ type: 'Available', status: 'True', reason: 'AllComponentsReady' }]
    const status = { conditions, observedGeneration: found.metadata.generation }
    await ground.admin.mergePatch(kind, kubeVirt.metadata, { status }, { subresource: 'status' })
    return found.spec.configuration?.migrations?.network ?? ''
  }
  await ground.apply(aNamespace(namespace), kubeVirt, setting)
  await until('KubeVirt has the network of the setting', async () => (await networkOf()) !== '')
  const first = await networkOf()
  await ground.apply({ ...setting, value: '' })
  await until('it is taken back', async () => (await networkOf()) === '')
  await ground.apply(network)
  await until('KubeVirt has that of the MigrationNetwork', async () => !['', first].includes(await networkOf()))
  await ground.remove(network)
  await until('the MigrationNetwork is gone, and KubeVirt without', async () => {
    const isWithout = (await networkOf()) === ''
    return isWithout && (await ground.admin.get(kindNamed('MigrationNetwork'), metadata)) === undefined
  })
  await ground.remove(setting, kubeVirt)
}

describe.skipIf(audit === undefined)('the permissions that are shipped', () => {
  test('are used, every one of them', async () => {
    const replica = await aReplica(await ground.kubeconfigOf(options.namespace, 'audit-controller'))
    await replica.untilReady()
    const drafts = pools.map(({ kind, group, versions: [version], namespaced }, at) => ({
      apiVersion: `${group}/${version}`,
      kind,
      metadata: { name: `audit-${at}`, ...(namespaced && { namespace: home }) },
      spec: kind.includes('Prefix')
        ? { prefixes: [`fd00:${at}::/48`], allocationPrefixLength: 64 }
        : { addresses: [`10.${100 + at}.0.0/24`], prefix: 24 },
    }))
    const claims = drafts.map((pool, at) => {
      const claim = aClaim(home, `audit-${at}`, pool)
      const { poolRef } = claim.spec
      return { ...claim, spec: { poolRef: { ...poolRef, apiGroup: pool.apiVersion.split('/')[0] } } }
    })
    await ground.apply(...drafts, ...claims)
    for (const claim of claims) expect(await addressOf(ground.admin, claim)).not.toBe('')
    await ground.remove(...claims)
    await until('all claims are gone', async () => {
      const left = await Promise.all(claims.map(claim => ground.admin.get(kindNamed('IPAddressClaim'), refOf(claim))))
      return left.every(claim => claim === undefined)
    })
    await ground.remove(...drafts)
    await until('all pools are gone', async () => {
      const left = await Promise.all(
        drafts.map(pool => {
          const kind = kindNamed(pool.kind, pool.apiVersion.split('/')[0])
          return ground.admin.get(kind, refOf(pool))
        }),
      )
      return left.every(pool => pool === undefined)
    })
    await liveAndEnd()
    await defineAndEnd()
    await orderAndEnd()
    await migrateAndEnd()
    await replica.stop()
    expect(replica.lines.filter(({ level }) => level === 'error')).toEqual([])

    const shipped = singlePermissions({
      sets: permissionSets(options.desks, options.on),
      watchedNamespace: '',
      ownNamespace: options.namespace,
      isElecting: true,
      isDiagnosing: true,
      isAnswering: false,
    }).map(({ verb, group, resource, subresource }) => toText(verb, group, resource, subresource))
    const expected = shipped.filter(permission => !isAskedByServer(permission) && !Object.hasOwn(seldom, permission))
    const used = usedBy(`system:serviceaccount:${options.namespace}:audit-controller`)
    expect(expected.filter(permission => !used.has(permission))).toEqual([])
  })
})

function toText(verb: string, group: string, resource: string, subresource?: string): string {
  return `${verb} ${[group === '' ? resource : `${resource}.${group}`, subresource].filter(Boolean).join('/')}`
}

interface Entry {
  readonly verb: string
  readonly user: { readonly username: string }
  readonly objectRef?: { readonly apiGroup?: string; readonly resource?: string; readonly subresource?: string }
}

function usedBy(user: string): Set<string> {
  const entries = readFileSync(audit ?? '', 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Entry)
  return new Set(
    entries
      .filter(entry => entry.user.username === user && entry.objectRef !== undefined)
      .map(({ verb, objectRef }) =>
        toText(verb, objectRef?.apiGroup ?? '', objectRef?.resource ?? '', objectRef?.subresource),
      ),
  )
}

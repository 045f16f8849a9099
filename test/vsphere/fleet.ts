// Machines whose virtual machines Mooring makes at a vCenter: `mooring up` with the machine desk in its place as the controller of
// Machines, govmomi's simulator behind a way on which answers can be lost.

import { deepStrictEqual, match, ok, strictEqual } from 'node:assert'
import { join } from 'node:path'
import { type Embedded, startEmbedded } from '../../scripts/real/embedded.ts'
import { connectVSphere, type VSphereClient } from '../../src/vsphere/client.ts'
import { collect } from '../../src/vsphere/collect.ts'
import { attachedTags } from '../../src/vsphere/tags.ts'
import { findByInstanceUuid, readVirtualMachine, type VirtualMachine } from '../../src/vsphere/virtual-machine.ts'
import { must } from '../capi/answers.ts'
import type { Processes } from '../capi/processes.ts'
import type { Sentences } from '../capi/sentences.ts'
import { until } from '../capi/until.ts'
import { type Body, type Client, connect, mergePatch } from '../conformance/client.ts'
import { apply } from '../kubevirt/apply.ts'
import { makeTag, workspace } from './clones.ts'
import { type LossyProxy, startLossyProxy } from './lossy-proxy.ts'
import type { VCenter } from './vcenter.ts'

const kargsKey = 'guestinfo.afterburn.initrd.network-kargs'
const server = 'vcenter.example'
const namespace = 'openshift-machine-api'
const base = `/apis/machine.openshift.io/v1beta1/namespaces/${namespace}`
const claimsPath = `/apis/ipam.cluster.x-k8s.io/v1beta2/namespaces/${namespace}/ipaddressclaims`
const patienceMs = 240_000

interface Fleet {
  readonly client: Client
  readonly vcenter: VSphereClient
  readonly proxy: LossyProxy
  mooring: Embedded
}

export async function checkFleet(
  sentences: Sentences,
  processes: Processes,
  { options, thumbprint }: VCenter,
  dir: string,
): Promise<void> {
  const proxy = await startLossyProxy(options.url)
  processes.keep(() => proxy.close())
  const start = (listen?: string) =>
    startEmbedded({
      dir: join(dir, 'fleet'),
      args: ['--desks=capi,machine', '--playground=none', '--machine-mode=full', `--vcenters=${server}=${proxy.host}`],
      ...(listen !== undefined && { listen }),
    })
  const mooring = await start()
  const fleet: Fleet = {
    client: connect(mooring.kubeconfig),
    vcenter: await connectVSphere({ ...options, thumbprint }),
    proxy,
    mooring,
  }
  processes.keep(() => fleet.mooring.stop())
  const { client } = fleet
  const tag = await makeTag(fleet.vcenter, 'workers')
  await prepare(fleet, tag)

  await sentences.it(
    'a MachineSet from 0 to 20: each virtual machine carries the kernel arguments of its own claim',
    async () => {
      await scale(fleet, 'workers', 20)
      await untilReady(fleet, 'workers', 20)
      const vms = await virtualMachines(fleet)
      strictEqual(vms.length, 20)
      const machines = await list(fleet, `${base}/machines`)
      const told = new Set<string>()
      for (const vm of vms) {
        const machine = machines.find(({ metadata }) => metadata.name === vm.name)
        strictEqual(vm.instanceUuid, machine?.metadata.uid)
        const address = must(
          await client.get(`${claimsPath.replace('ipaddressclaims', 'ipaddresses')}/${vm.name}-claim-0-0`),
        ).spec.address as string
        strictEqual(vm.extraConfig.get(kargsKey), `ip=${address}::192.0.2.1:255.255.255.0:::none nameserver=192.0.2.2`)
        told.add(address)
      }
      strictEqual(told.size, 20)
      await until(
        'every Machine reports the address of its claim',
        async () => {
          const wrong = (await list(fleet, `${base}/machines`)).filter(
            one => conditionOf(one, 'AddressesReported')?.status !== 'True',
          )
          return wrong.length === 0 ? undefined : wrong.map(({ metadata }) => metadata.name).join(', ')
        },
        patienceMs,
      )
    },
  )

  await sentences.it(
    'each of them has the tag of the set, and a Machine with a tag that is not there says so',
    async () => {
      for (const vm of await virtualMachines(fleet))
        deepStrictEqual(await attachedTags(fleet.vcenter, vm.ref), [tag], vm.name)
      const none = tag.replace(/[0-9a-f]{12}:/, '000000000000:')
      await apply(client, machineOf('untagged', { tagIDs: [none] }))
      await until('it is said', async () => {
        const said = conditionOf(must(await client.get(`${base}/machines/untagged`)), 'MachineCreation')?.message ?? ''
        return said.startsWith(`tagIDs[0] names "${none}"`) ? undefined : said
      })
      must(await client.delete(`${base}/machines/untagged`))
      await until('it goes', async () =>
        (await client.get(`${base}/machines/untagged`)).code === 404 ? undefined : 'it is there',
      )
    },
  )

  await sentences.it('addresses come back only after their virtual machine was destroyed: 20 to 5', async () => {
    const before = new Map((await virtualMachines(fleet)).map(vm => [vm.name, vm]))
    await scale(fleet, 'workers', 5)
    const early: string[] = []
    await until(
      'five are left',
      async () => {
        // The claims first: what is gone by then must be gone at the vCenter too.
        const claims = new Set((await list(fleet, claimsPath)).map(({ metadata }) => metadata.name))
        const there = new Set((await virtualMachines(fleet)).map(({ name }) => name))
        for (const name of before.keys()) if (!claims.has(`${name}-claim-0-0`) && there.has(name)) early.push(name)
        return there.size === 5 && claims.size === 5
          ? undefined
          : `${there.size} virtual machines, ${claims.size} claims`
      },
      patienceMs,
    )
    deepStrictEqual(early, [])
    await untilReady(fleet, 'workers', 5)
    strictEqual((await list(fleet, `${base}/machines`)).length, 5)
  })

  await sentences.it('an exhausted pool shows on the Machine, and more addresses heal it', async () => {
    await scale(fleet, 'small', 3)
    await untilReady(fleet, 'small', 2)
    await until('one Machine says why it waits', async () => {
      const waiting = (await list(fleet, `${base}/machines`)).filter(
        ({ status }) => (status as { phase?: string })?.phase === 'Provisioning',
      )
      const said = conditionOf(waiting[0], 'IPAddressClaimed')?.message ?? ''
      return /^Waiting on 1 IP address claims to be bound: .*PoolExhausted/.test(said) ? undefined : said
    })
    await patch(fleet, `/apis/mooring.dev/v1alpha1/namespaces/${namespace}/addresspools/small`, {
      spec: { addresses: ['198.51.100.10-198.51.100.12'] },
    })
    await untilReady(fleet, 'small', 3)
    await scale(fleet, 'small', 0)
    // What comes next looks at every virtual machine.
    const leave = async () => {
      const { length } = await virtualMachines(fleet)
      return length === 5 ? undefined : `${length} virtual machines`
    }
    await until('those of the small set are gone', leave, patienceMs)
  })

  await sentences.it(
    'lost answers of every order, and Mooring killed in between: no virtual machine twice, nothing left behind',
    async () => {
      const tagging = ['list-attached-tags', 'attach-multiple-tags-to-object']
      const tasks = ['CloneVM_Task', 'ReconfigVM_Task', 'PowerOnVM_Task', 'PowerOffVM_Task', 'Destroy_Task']
      const orders = [...tasks, ...tagging]
      const lost = new Set<string>()
      proxy.loses = method => orders.includes(method) && !lost.has(method) && lost.add(method).size > 0
      await scale(fleet, 'workers', 9)
      const { host } = new URL(fleet.mooring.url)
      await until(
        'some are cloned',
        async () => ((await virtualMachines(fleet)).length > 6 ? undefined : 'few'),
        patienceMs,
      )
      await fleet.mooring.kill()
      fleet.mooring = await start(host)
      await untilReady(fleet, 'workers', 9)
      for (const vm of await virtualMachines(fleet))
        deepStrictEqual(await attachedTags(fleet.vcenter, vm.ref), [tag], vm.name)
      await scale(fleet, 'workers', 2)
      await until(
        'some are on their way out',
        async () => ((await virtualMachines(fleet)).length < 8 ? undefined : 'many'),
        patienceMs,
      )
      await fleet.mooring.kill()
      fleet.mooring = await start(host)
      await until(
        'two are left',
        async () => {
          const [vms, claims, machines] = [
            await virtualMachines(fleet),
            await list(fleet, claimsPath),
            await list(fleet, `${base}/machines`),
          ].map(({ length }) => length)
          return vms === 2 && claims === 2 && machines === 2
            ? undefined
            : `${vms} virtual machines, ${claims} claims, ${machines} Machines`
        },
        patienceMs,
      )
      for (const order of ['CloneVM_Task', 'Destroy_Task', ...tagging])
        ok(proxy.lost.includes(order), proxy.lost.join())
      const holds = await list(fleet, '/apis/mooring.dev/v1alpha1/holds')
      strictEqual(holds.filter(({ spec }) => (spec as { state?: string }).state !== 'quarantined').length, 2)
      proxy.loses = () => false
    },
  )

  await sentences.it(
    'a control plane is replaced one Machine at a time, the new one first, in the networks of its failure domain',
    async () => {
      await apply(client, ...controlPlane('cp-1'))
      const path = `/apis/machine.openshift.io/v1/namespaces/${namespace}/controlplanemachinesets/cluster`
      const becomes = (what: object) =>
        until(
          `the control plane is ${JSON.stringify(what)}`,
          async () => {
            const { status } = must(await client.get(path)) as { status?: object }
            const seen = JSON.stringify(
              Object.fromEntries(Object.keys(what).map(key => [key, (status as Record<string, unknown>)?.[key]])),
            )
            return seen === JSON.stringify(what) ? undefined : (JSON.stringify(status) ?? 'it has no status yet')
          },
          patienceMs,
        )
      await becomes({ replicas: 3, readyReplicas: 3, updatedReplicas: 3 })
      const first = new Set((await masters(fleet)).map(({ metadata }) => metadata.uid))
      await apply(client, ...controlPlane('cp-2'))
      await becomes({ replicas: 3, readyReplicas: 3, updatedReplicas: 3, observedGeneration: 2 })
      const second = await masters(fleet)
      strictEqual(second.length, 3)
      strictEqual(second.filter(({ metadata }) => first.has(metadata.uid)).length, 0)
      for (const { metadata } of second) {
        const vm = await findByInstanceUuid(fleet.vcenter, metadata.uid)
        strictEqual(vm?.name, metadata.name)
        match(vm?.extraConfig.get(kargsKey) ?? '', /^ip=203\.0\.113\.1[3-6]::203\.0\.113\.1:/)
      }
      for (const uid of first) strictEqual(await findByInstanceUuid(fleet.vcenter, uid), undefined)
    },
  )

  await sentences.it('a Machine with a wrong password says so, and not what the password is', async () => {
    const secret = { [`${server}.username`]: 'user', [`${server}.password`]: 'not-the-one', [`${server}.ca`]: proxy.ca }
    await apply(client, secretOf('wrong', secret), machineOf('wrong', { credentialsSecret: { name: 'wrong' } }))
    await until('it is said', async () => {
      const said = conditionOf(must(await client.get(`${base}/machines/wrong`)), 'MachineCreation')?.message ?? ''
      if (said.includes('not-the-one')) throw new Error('the password is in the status')
      return /refuses the user "user": check user name and password/.test(said) ? undefined : said
    })
    must(await client.delete(`${base}/machines/wrong`))
    await until('it goes', async () =>
      (await client.get(`${base}/machines/wrong`)).code === 404 ? undefined : 'it is there',
    )
  })

  await fleet.vcenter.close()
}

async function prepare({ client, proxy }: Fleet, tag: string): Promise<void> {
  const pool = (name: string, addresses: string, gateway: string) => ({
    apiVersion: 'mooring.dev/v1alpha1',
    kind: 'AddressPool',
    metadata: { name, namespace },
    spec: { addresses: [addresses], prefix: 24, gateway, quarantineSeconds: 0 },
  })
  const credentials = { [`${server}.username`]: 'user', [`${server}.password`]: 'pass', [`${server}.ca`]: proxy.ca }
  await apply(client, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  await apply(
    client,
    secretOf('vsphere-cloud-credentials', credentials),
    secretOf('worker-user-data', { userData: '{"ignition":{"version":"3.2.0"}}' }),
    pool('workers', '192.0.2.10-192.0.2.40', '192.0.2.1'),
    pool('small', '198.51.100.10-198.51.100.11', '198.51.100.1'),
    pool('cp-1', '203.0.113.10-203.0.113.12', '203.0.113.1'),
    pool('cp-2', '203.0.113.13-203.0.113.16', '203.0.113.1'),
    machineSet('workers', { tagIDs: [tag] }),
    machineSet('small'),
  )
}

const secretOf = (name: string, stringData: Readonly<Record<string, string>>) => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace },
  data: Object.fromEntries(
    Object.entries(stringData).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  ),
})

const deviceOf = (pool: string) => ({
  nameservers: ['192.0.2.2'],
  addressesFromPools: [{ group: 'mooring.dev', resource: 'AddressPool', name: pool }],
})

const specOf = (more: object) => ({
  apiVersion: 'machine.openshift.io/v1beta1',
  kind: 'VSphereMachineProviderSpec',
  credentialsSecret: { name: 'vsphere-cloud-credentials' },
  userDataSecret: { name: 'worker-user-data' },
  numCPUs: 2,
  memoryMiB: 2048,
  // The disk is as large as the template's: where one is to grow, the simulator mixes up the devices of a clone once it has destroyed one.
  template: 'DC0_C0_RP0_VM0',
  workspace: { ...workspace, server },
  ...more,
})

const machineOf = (name: string, more: object) => ({
  apiVersion: 'machine.openshift.io/v1beta1',
  kind: 'Machine',
  metadata: { name, namespace },
  spec: { providerSpec: { value: specOf({ network: { devices: [{ networkName: 'DC0_DVPG0' }] }, ...more }) } },
})

function machineSet(name: string, more: object = {}) {
  const labels = { 'machine.openshift.io/cluster-api-cluster': 'c1', set: name }
  const value = specOf({ network: { devices: [{ networkName: 'DC0_DVPG0', ...deviceOf(name) }] }, ...more })
  return {
    apiVersion: 'machine.openshift.io/v1beta1',
    kind: 'MachineSet',
    metadata: { name, namespace },
    spec: {
      replicas: 0,
      selector: { matchLabels: { set: name } },
      template: { metadata: { labels }, spec: { providerSpec: { value } } },
    },
  }
}

const masterLabels = {
  'machine.openshift.io/cluster-api-cluster': 'c1',
  'machine.openshift.io/cluster-api-machine-role': 'master',
  'machine.openshift.io/cluster-api-machine-type': 'master',
}

/** As an installer writes it: pools and no networks, which the failure domain has. */
function controlPlane(pool: string) {
  const topology = {
    ...workspace,
    computeCluster: '/DC0/host/DC0_C0',
    resourcePool: '',
    template: '/DC0/vm/DC0_C0_RP0_VM0',
    networks: ['DC0_DVPG0'],
  }
  const domain = { name: 'fd-1', region: 'r', zone: 'z', server, topology }
  const value = specOf({ network: { devices: [deviceOf(pool)] }, workspace: {}, template: '' })
  return [
    {
      apiVersion: 'config.openshift.io/v1',
      kind: 'Infrastructure',
      metadata: { name: 'cluster' },
      spec: { platformSpec: { type: 'VSphere', vsphere: { failureDomains: [domain] } } },
    },
    {
      apiVersion: 'machine.openshift.io/v1',
      kind: 'ControlPlaneMachineSet',
      metadata: { name: 'cluster', namespace },
      spec: {
        replicas: 3,
        state: 'Active',
        strategy: { type: 'RollingUpdate' },
        selector: { matchLabels: masterLabels },
        template: {
          machineType: 'machines_v1beta1_machine_openshift_io',
          machines_v1beta1_machine_openshift_io: {
            failureDomains: { platform: 'VSphere', vsphere: [{ name: 'fd-1' }] },
            metadata: { labels: masterLabels },
            spec: { providerSpec: { value } },
          },
        },
      },
    },
  ]
}

const list = async ({ client }: Fleet, path: string): Promise<Body[]> => must(await client.get(path)).items

const patch = async ({ client }: Fleet, path: string, body: object): Promise<Body> =>
  must(await client.patch(path, mergePatch, body))

const scale = (fleet: Fleet, set: string, replicas: number) =>
  patch(fleet, `${base}/machinesets/${set}`, { spec: { replicas } })

async function untilReady(fleet: Fleet, set: string, count: number): Promise<void> {
  await until(
    `${set} has ${count} ready Machines`,
    async () => {
      const { status } = must(await fleet.client.get(`${base}/machinesets/${set}`)) as {
        status?: { readyReplicas?: number }
      }
      return status?.readyReplicas === count ? undefined : (JSON.stringify(status) ?? 'it has no status yet')
    },
    patienceMs,
  )
}

async function masters(fleet: Fleet): Promise<Body[]> {
  const all = await list(fleet, `${base}/machines`)
  return all.filter(({ metadata }) => metadata.labels?.['machine.openshift.io/cluster-api-machine-role'] === 'master')
}

/** Those that Mooring made: the simulator brings some of its own. */
async function virtualMachines({ vcenter }: Fleet): Promise<VirtualMachine[]> {
  const found = await collect(vcenter, [{ type: 'VirtualMachine', paths: ['name'] }])
  const all = await Promise.all(found.map(({ ref }) => readVirtualMachine(vcenter, ref)))
  return all.filter(vm => vm !== undefined).filter(({ name }) => !name.startsWith('DC0_'))
}

interface Said {
  readonly type: string
  readonly status: string
  readonly message: string
}

function conditionOf(machine: Body | undefined, type: string): Said | undefined {
  const { providerStatus } = (machine?.status ?? {}) as { providerStatus?: { conditions?: Said[] } }
  return providerStatus?.conditions?.find(one => one.type === type)
}

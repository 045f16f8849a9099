// Sets of Machines, where Mooring is the controller of Machines: how many there are, which go first, and how a control plane is replaced.

import { describe, expect, test } from 'vitest'
import { machines } from './kinds.ts'
import { nextName } from './machines.ts'
import { aDevice, aMachinePool, saidBy, waitsWith } from './openshift-machines.ts'
import { holdsBecome } from './promises.ts'
import { aSite, aVM, kargsKey, runs, type Site, specOf, workspace } from './vsphere-site.ts'
import { isInProcess, type Stored } from './world.ts'

const clusterLabel = 'machine.openshift.io/cluster-api-cluster'

function aSet(devices: Parameters<typeof specOf>[0], spec: object = {}): Stored {
  const name = nextName('workers')
  const labels = { [clusterLabel]: 'c1', set: name }
  return {
    apiVersion: 'machine.openshift.io/v1beta1',
    kind: 'MachineSet',
    metadata: { name },
    spec: {
      replicas: 0,
      selector: { matchLabels: { set: name } },
      template: { metadata: { labels }, spec: { providerSpec: { value: specOf(devices) } } },
      ...spec,
    },
  }
}

async function machinesOf({ world }: Site, set: Stored): Promise<Stored[]> {
  const all = await world.list(machines)
  return all.filter(({ metadata }) => metadata.labels?.set === set.metadata.name)
}

const becomes = (site: Site, set: Stored, counts: object) =>
  site.world.eventually(async () => expect((await site.world.get(set))?.status).toMatchObject(counts), 200_000)

describe('A MachineSet', () => {
  test('has as many Machines as it asks for, each with its own address; what is too many gives its address back', async () => {
    const site = await aSite()
    const { world, vcenter } = site
    const pool = await world.create(aMachinePool({ addresses: ['192.168.101.10-192.168.101.14'] }))
    const set = await world.create(aSet([aDevice(pool)]))
    await becomes(site, set, { replicas: 0, observedGeneration: 1 })
    await world.patch(set, { spec: { replicas: 7 } })
    await becomes(site, set, { replicas: 7, readyReplicas: 5, availableReplicas: 5, fullyLabeledReplicas: 7 })
    const waiting = (await machinesOf(site, set)).filter(({ status }) => status.phase === 'Provisioning')
    expect(waiting).toHaveLength(2)
    for (const machine of waiting) await waitsWith(world, machine, /PoolExhausted/)
    await world.patch(pool, { spec: { addresses: ['192.168.101.10-192.168.101.16'] } })
    // They are told at once; on a server a second may be short for other reasons.
    for (const machine of waiting) {
      const isTrue = async () => expect(saidBy(await world.get(machine))?.status).toBe('True')
      await world.eventually(isTrue, isInProcess ? 1_000 : undefined)
    }
    await becomes(site, set, { readyReplicas: 7 })
    const kargs = vcenter.vms.map(({ extraConfig }) => extraConfig.get(kargsKey)?.split(':')[0])
    expect(new Set(kargs)).toEqual(new Set(Array.from({ length: 7 }, (_, i) => `ip=192.168.101.${10 + i}`)))
    // The one that a user marked goes first.
    const marked = (await machinesOf(site, set))[3] as Stored
    await world.patch(marked, { metadata: { annotations: { 'machine.openshift.io/delete-machine': 'true' } } })
    await world.patch(set, { spec: { replicas: 6 } })
    await world.eventually(async () => expect(await world.get(marked)).toBeUndefined(), 60_000)
    await becomes(site, set, { replicas: 6, readyReplicas: 6 })
    await world.patch(set, { spec: { replicas: 1 } })
    await becomes(site, set, { replicas: 1 })
    await world.eventually(() => expect(vcenter.vms).toHaveLength(1), 60_000)
    await holdsBecome(world, pool, 1)
    // A Machine that is deleted is made anew, under another name.
    const [last] = await machinesOf(site, set)
    await world.delete(last as Stored)
    await world.eventually(async () => expect(await world.get(last as Stored)).toBeUndefined(), 60_000)
    await becomes(site, set, { replicas: 1, readyReplicas: 1 })
    expect(vcenter.cloned).toHaveLength(8)
  })

  test('takes in Machines that its selector matches and that have no owner, and refuses a selector that matches everything', async () => {
    const site = await aSite()
    const { world } = site
    const pool = await world.create(aMachinePool())
    const draft = aSet([aDevice(pool)], { replicas: 1 })
    const [own, other] = [aVM([aDevice(pool)]), aVM([aDevice(pool)])]
    const labels = { set: draft.metadata.name ?? '' }
    const stranger = await world.create(aVM([aDevice(pool)]))
    const elsewhere = await world.create(aSet([aDevice(pool)], { replicas: 1 }))
    const { name = '', uid = '' } = elsewhere.metadata
    const owner = { apiVersion: 'machine.openshift.io/v1beta1', kind: 'MachineSet', name, uid, controller: true }
    const single = await world.create({ ...own, metadata: { ...own.metadata, labels } })
    const foreign = await world.create({ ...other, metadata: { ...other.metadata, labels, ownerReferences: [owner] } })
    const set = await world.create(draft)
    await becomes(site, set, { replicas: 1 })
    await world.eventually(async () =>
      expect((await world.get(single))?.metadata.ownerReferences?.[0]?.uid).toBe(set.metadata.uid),
    )
    await world.idle(5_000)
    expect((await world.get(foreign))?.metadata.ownerReferences).toEqual([owner])
    const greedy = await world.create(aSet([aDevice(pool)], { selector: {}, replicas: 0 }))
    await becomes(site, greedy, { errorMessage: expect.stringContaining('selects every Machine'), replicas: 0 })
    expect(await world.get(stranger)).toMatchObject({ metadata: { uid: stranger.metadata.uid } })
  })
})

describe('A ControlPlaneMachineSet', () => {
  const labels = { [clusterLabel]: 'c1', 'machine.openshift.io/cluster-api-machine-role': 'master' }

  test('replaces its Machines one at a time when the template changes, each in its failure domain, the new one first', async () => {
    const site = await aSite()
    const { world, vcenter } = site
    const [one, two] = [
      await world.create(aMachinePool()),
      await world.create(aMachinePool({ addresses: ['192.168.102.10-192.168.102.15'] })),
    ]
    const domain = (name: string, networks: readonly string[]) => ({
      name,
      server: workspace.server,
      topology: {
        ...workspace,
        computeCluster: '/dc/host/cluster',
        template: '/dc/vm/rhcos',
        networks,
        datastore: 'ds',
      },
    })
    await world.client.create(infrastructures, {
      apiVersion: 'config.openshift.io/v1',
      kind: 'Infrastructure',
      metadata: { name: 'cluster' },
      spec: { platformSpec: { vsphere: { failureDomains: [domain('fd-1', ['lab'])] } } },
    } as Stored)
    const template = (pool: Stored) => {
      const device = { ...aDevice(pool), networkName: undefined }
      return {
        machineType: 'machines_v1beta1_machine_openshift_io',
        machines_v1beta1_machine_openshift_io: {
          failureDomains: { platform: 'VSphere', vsphere: [{ name: 'fd-1' }] },
          metadata: { labels },
          spec: { providerSpec: { value: specOf([device], { workspace: {}, template: '' }) } },
        },
      }
    }
    const draft: Stored = {
      apiVersion: 'machine.openshift.io/v1',
      kind: 'ControlPlaneMachineSet',
      metadata: { name: 'cluster' },
      spec: { replicas: 3, state: 'Active', strategy: {}, selector: { matchLabels: labels }, template: template(one) },
    }
    const set = await world.create(draft)
    await becomes(site, set, { replicas: 3, readyReplicas: 3, updatedReplicas: 3, unavailableReplicas: 0 })
    const first = await world.list(machines)
    expect(first.map(({ metadata }) => metadata.name?.replace(/-[a-z0-9]{5}-/, '-x-')).sort()).toEqual([
      'c1-master-x-0',
      'c1-master-x-1',
      'c1-master-x-2',
    ])
    expect(first[0]?.spec.providerSpec.value.network.devices[0]).toMatchObject({
      networkName: 'lab',
      nameservers: ['192.168.101.2'],
    })
    const before = new Set(first.map(({ metadata }) => metadata.uid))
    let fewest = 3
    let most = 0
    await world.patch(set, { spec: { template: template(two) } })
    await world.eventually(async () => {
      const running = vcenter.vms.filter(({ powerState }) => powerState === 'poweredOn').length
      fewest = Math.min(fewest, running)
      most = Math.max(most, (await world.list(machines)).length)
      for (const { metadata } of await world.list(machines)) expect(before.has(metadata.uid)).toBe(false)
      expect((await world.get(set))?.status).toMatchObject({ replicas: 3, updatedReplicas: 3 })
      expect(vcenter.vms).toHaveLength(3)
    }, 400_000)
    expect([fewest, most]).toEqual([3, 4])
    for (const { extraConfig } of vcenter.vms) expect(extraConfig.get(kargsKey)).toMatch(/^ip=192\.168\.102\./)
    await holdsBecome(world, one, 0)
    // One that a user deletes is replaced.
    const [gone] = await world.list(machines)
    await world.delete(gone as Stored)
    await world.eventually(async () => expect(await world.get(gone as Stored)).toBeUndefined(), 60_000)
    await becomes(site, set, { replicas: 3, readyReplicas: 3 })
    await world.patch(set, {
      spec: {
        template: { machines_v1beta1_machine_openshift_io: { failureDomains: { vsphere: [{ name: 'fd-9' }] } } },
      },
    })
    await world.eventually(async () =>
      expect((await world.get(set))?.status.conditions).toContainEqual(
        expect.objectContaining({ type: 'Degraded', status: 'True', message: expect.stringContaining('fd-9') }),
      ),
    )
    expect(await world.list(machines)).toHaveLength(3)
    await runs(site, (await world.list(machines))[0] as Stored)
  })
})

const infrastructures = {
  group: 'config.openshift.io',
  versions: ['v1'],
  plural: 'infrastructures',
  kind: 'Infrastructure',
  namespaced: false,
} as const

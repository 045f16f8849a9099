// The network over which virtual machines migrate, as Harvester's setting asks for it: made, rolled out, repaired, replaced and taken
// back, without a moment in which what works is gone before what follows it works.

import { describe, expect, test } from 'vitest'
import { attachments, kubeVirts, nodes, pods, settings } from './kinds.ts'
import {
  addressOf,
  aFleet,
  aMigration,
  announced,
  aValue,
  type Fleet,
  kubeVirtHome,
  networkOf,
  nothingHash,
  patienceMs,
  prefix,
  settingName,
} from './migration-fleet.ts'
import { isInProcess, type Stored } from './world.ts'

const uidsOf = (objects: readonly Stored[]) => objects.map(({ metadata }) => metadata.uid)

/** Looks at every moment until the work is done: what a pod of virt-handler is on is there. */
async function neverWithout(fleet: Fleet, until: () => Promise<void>): Promise<void> {
  await fleet.world.eventually(async () => {
    const there = (await fleet.attachments()).map(({ metadata }) => metadata.name)
    for (const pod of await fleet.handlers()) {
      const network = networkOf(pod)
      if (network !== undefined && !there.includes(network))
        throw new Gone(`${network} is gone, and ${pod.metadata.name} is on it`)
    }
    await until()
  }, 300_000)
}

class Gone extends Error {}

const ofAttachments = ({ path }: { readonly path: string }) => path.includes('/network-attachment-definitions')
const ofKubeVirt = ({ path }: { readonly path: string }) => path.includes('/kubevirts/')
const annotate = (fleet: Fleet, node: string, text: string | null) =>
  fleet.world.client.mergePatch(
    nodes,
    { name: node },
    {
      metadata: { annotations: { 'playground.mooring.dev/fail-virt-handler': text } },
    },
  )

describe('The setting vm-migration-network', () => {
  test('that was never set writes nothing', async () => {
    const fleet = await aFleet()
    const before = (await fleet.setting()).metadata.resourceVersion
    await fleet.world.idle(60_000)
    expect((await fleet.setting()).metadata.resourceVersion).toBe(before)
    expect(await fleet.attachments()).toEqual([])
    expect(await fleet.network()).toBeUndefined()
  })

  test('with a value makes one NetworkAttachmentDefinition, switches KubeVirt, and is configured when every node has an address', async () => {
    const fleet = await aFleet({ migrations: { parallelMigrationsPerCluster: 7 } })
    await fleet.set(aValue())
    const network = await fleet.works()
    const [made, ...others] = await fleet.attachments()
    expect(others).toEqual([])
    expect(made?.metadata.name).toBe(network)
    expect(made?.metadata.annotations).toMatchObject({ [prefix]: 'true' })
    const setting = await fleet.setting()
    const hash = setting.metadata.annotations?.[`${prefix}/hash`]
    expect(made?.metadata.labels).toMatchObject({ [`${prefix}/hash`]: hash })
    expect(setting.metadata.annotations?.[`${prefix}/net-attach-def`]).toBe(`harvester-system/${network}`)
    expect(JSON.parse(made?.spec.config)).toEqual({
      cniVersion: '0.3.1',
      type: 'bridge',
      bridge: 'migration-br',
      promiscMode: true,
      vlan: 100,
      ipam: { type: 'whereabouts', range: '10.1.2.0/24' },
    })
    const handlers = await fleet.handlers()
    expect(handlers.map(networkOf)).toEqual([network, network, network])
    expect(new Set(handlers.map(addressOf))).toEqual(new Set(['10.1.2.1', '10.1.2.2', '10.1.2.3']))
    expect((await fleet.kubeVirt()).spec.configuration.migrations).toEqual({ parallelMigrationsPerCluster: 7, network })
    expect((await fleet.condition())?.message).toBe(`3 of 3 nodes migrate over ${network}`)
  })

  test('that is emptied brings KubeVirt back to the management network, and leaves nothing', async () => {
    const fleet = await aFleet({ migrations: { parallelMigrationsPerCluster: 7 } })
    await fleet.set(aValue())
    await fleet.works()
    await fleet.set('')
    await fleet.world.eventually(async () => expect(await fleet.attachments()).toEqual([]), 120_000)
    await fleet.says({ status: 'True', message: '3 of 3 nodes migrate over the management network' })
    expect((await fleet.kubeVirt()).spec.configuration.migrations).toEqual({ parallelMigrationsPerCluster: 7 })
    expect((await fleet.handlers()).map(networkOf)).toEqual([undefined, undefined, undefined])
    expect((await fleet.setting()).metadata.annotations).toMatchObject({
      [`${prefix}/hash`]: nothingHash,
      [`${prefix}/net-attach-def`]: '',
    })
  })

  test('that is written again with the same meaning restarts nothing', async () => {
    const fleet = await aFleet()
    await fleet.set(aValue({ exclude: ['10.1.2.0/28'] }))
    await fleet.works()
    const [before, made] = [await fleet.handlers(), await fleet.attachments()]
    const kubeVirt = await fleet.kubeVirt()
    await fleet.set(
      '{ "range": "10.1.2.0/24", "exclude": ["10.1.2.3/28"], "vlan": 100, "clusterNetwork": "migration" }',
    )
    await fleet.world.idle(30_000)
    expect(uidsOf(await fleet.handlers())).toEqual(uidsOf(before))
    expect(await fleet.attachments()).toEqual(made)
    expect((await fleet.kubeVirt()).metadata.generation).toBe(kubeVirt.metadata.generation)
    await fleet.says({ status: 'True' })
  })

  test('that changes keeps the old network until every node is on the new one', async () => {
    const fleet = await aFleet()
    await fleet.set(aValue())
    const old = await fleet.works()
    await fleet.set(aValue({ vlan: 200 }))
    await neverWithout(fleet, async () => {
      expect(await fleet.condition()).toMatchObject({ status: 'True' })
      expect(await fleet.network()).not.toBe(old)
    })
    const [made, ...others] = await fleet.attachments()
    expect(others).toEqual([])
    expect(JSON.parse(made?.spec.config).vlan).toBe(200)
    expect((await fleet.setting()).metadata.annotations?.[`${prefix}/net-attach-def`]).toBe(
      `harvester-system/${made?.metadata.name}`,
    )
  })

  test('says how many nodes are ready, and which are not and why, while it is rolled out', async () => {
    const fleet = await aFleet()
    await annotate(fleet, 'node-2', 'no IP found on migration0')
    await fleet.set(aValue())
    await fleet.says({
      status: 'False',
      reason: 'InProgress',
      message: expect.stringMatching(/^1 of 3 nodes are ready; node-2: pod virt-handler-\S+ is not ready; node-3: /),
    })
    await annotate(fleet, 'node-2', null)
    await fleet.works()
    // The random of a test is the same each time, and so are names of events about one object: there may be one of an earlier test.
    if (!isInProcess) return
    await fleet.world.eventually(async () => {
      const told = await announced(fleet)
      expect(told.some(one => one.startsWith('Normal InProgress: 1 of 3 nodes are ready'))).toBe(true)
      expect(told.some(one => one.startsWith('Normal Completed: 3 of 3 nodes migrate over'))).toBe(true)
    })
  })

  test('with a wider selection of the same subnet restarts nothing, and gives the new addresses to nodes that join', async () => {
    const fleet = await aFleet({ nodes: ['node-1', 'node-2'] })
    await fleet.set(aValue({ range: '10.1.2.0/29', exclude: ['10.1.2.4/30'] }))
    const network = await fleet.works()
    const before = await fleet.handlers()
    await fleet.addNode('node-3')
    await fleet.addNode('node-4')
    await fleet.says({ status: 'False', reason: 'NodesNotReady', message: expect.stringMatching(/^3 of 4 .*node-4: /) })
    await fleet.set(aValue({ range: '10.1.2.0/29' }))
    await fleet.says({ status: 'True', message: `4 of 4 nodes migrate over ${network}` })
    const after = await fleet.handlers()
    expect(uidsOf(after).slice(0, 2)).toEqual(uidsOf(before))
    expect(after.map(addressOf)).toEqual(['10.1.2.1', '10.1.2.2', '10.1.2.3', '10.1.2.4'])
    expect(JSON.parse((await fleet.attachments())[0]?.spec.config).ipam).toEqual({
      type: 'whereabouts',
      range: '10.1.2.0/29',
    })
  })

  test('takes over what Harvester made, under its name, and restarts nothing', async () => {
    const made = {
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: {
        namespace: kubeVirtHome,
        name: 'vm-migration-network-abcde',
        annotations: { [prefix]: 'true' },
        labels: { [`${prefix}/hash`]: 'ec8322fb6b741f94739cbb904fc73c3fda864d6d' },
      },
      spec: {
        config: JSON.stringify({
          cniVersion: '0.3.1',
          type: 'bridge',
          bridge: 'migration-br',
          promiscMode: true,
          vlan: 100,
          ipam: { type: 'whereabouts', range: '10.1.2.0/24' },
          mtu: 9000,
        }),
      },
    }
    const named = { namespace: kubeVirtHome, name: 'kubevirt' }
    const fleet = await aFleet({
      hasOperator: false,
      nodes: [],
      migrations: { network: made.metadata.name },
      setting: {
        metadata: {
          name: settingName,
          annotations: { [`${prefix}/hash`]: 'ec8322', [`${prefix}/net-attach-def`]: 'no such form' },
        },
        value: '{"clusterNetwork":"migration","vlan":100,"range":"10.1.2.0/24"}',
      },
      async before({ client }) {
        await client.create(attachments, made)
        // Another that says the same, as a change that was made too quickly left it.
        await client.create(attachments, {
          ...made,
          metadata: { ...made.metadata, name: 'vm-migration-network-aaaaa' },
        })
        const conditions = [{ type: 'Available', status: 'True', reason: 'AllComponentsReady' }]
        const status = { conditions, observedGeneration: 1 }
        await client.mergePatch(kubeVirts, named, { status }, { subresource: 'status' })
      },
    })
    await fleet.says({ status: 'True' })
    expect((await fleet.kubeVirt()).metadata.generation).toBe(1)
    const [left, ...others] = await fleet.attachments()
    expect(others).toEqual([])
    expect(left?.metadata.name).toBe('vm-migration-network-abcde')
    // Harvester's network controller added it.
    expect(JSON.parse(left?.spec.config).mtu).toBe(9000)
  })

  test('that goes from one value to another and back at once ends with one network, which KubeVirt names', async () => {
    const fleet = await aFleet()
    await fleet.set(aValue())
    const first = await fleet.works()
    await fleet.set(aValue({ vlan: 200 }))
    await fleet.world.eventually(async () => expect(await fleet.network()).not.toBe(first))
    await fleet.set(aValue())
    await neverWithout(fleet, async () => {
      expect(await fleet.network()).toBe(first)
      expect((await fleet.attachments()).map(({ metadata }) => metadata.name)).toEqual([first])
      expect(await fleet.condition()).toMatchObject({ status: 'True' })
    })
  })

  test('that cannot be read changes nothing, and says why', async () => {
    const fleet = await aFleet()
    await fleet.set(aValue())
    const network = await fleet.works()
    await fleet.set('{"clusterNetwork":"migration","vlan":100,"range":"10.1.2.5/24"}')
    const said = await fleet.says({ status: 'False', reason: 'InvalidValue' })
    expect(said.message).toMatch('range should be subnet CIDR 10.1.2.0/24')
    expect(await fleet.network()).toBe(network)
  })

  test('says that there is no KubeVirt, and goes on when it comes', async () => {
    const fleet = await aFleet({ hasOperator: false })
    const kubeVirt = await fleet.kubeVirt()
    await fleet.world.delete(kubeVirt)
    await fleet.set(aValue())
    const said = await fleet.says({ status: 'False', reason: 'GetKubeVirtError' })
    expect(said.message).toMatch(/^get kubevirt error .*harvester-system\/kubevirt/)
    const { apiVersion, kind, spec } = kubeVirt
    await fleet.world.create({
      apiVersion: apiVersion ?? '',
      kind: kind ?? '',
      spec,
      metadata: { name: 'kubevirt', namespace: kubeVirtHome },
    } as Stored)
    await fleet.world.eventually(async () => expect(await fleet.network()).toMatch(/^vm-migration-network-/))
  })
})

describe('A migration network that works', () => {
  test('is repaired: a NetworkAttachmentDefinition that was deleted, edited or stripped of its marks, a field that was edited', async () => {
    const fleet = await aFleet()
    const { client } = fleet.world
    await fleet.set(aValue())
    const network = await fleet.works()
    const [made] = await fleet.attachments()
    const ref = { namespace: kubeVirtHome, name: network }
    await client.delete(attachments, ref)
    await fleet.world.eventually(async () => expect((await fleet.attachments())[0]?.spec).toEqual(made?.spec))
    await client.mergePatch(attachments, ref, { spec: { config: '{"type":"bridge","bridge":"other-br"}' } })
    await fleet.world.eventually(async () => expect((await fleet.attachments())[0]?.spec).toEqual(made?.spec))
    const marks = { labels: { [`${prefix}/hash`]: null }, annotations: { [prefix]: null } }
    await client.mergePatch(attachments, ref, { metadata: marks })
    await fleet.world.eventually(async () => {
      expect((await fleet.attachments())[0]?.metadata.labels).toEqual(made?.metadata.labels)
    })
    const named = { namespace: kubeVirtHome, name: 'kubevirt' }
    await client.mergePatch(kubeVirts, named, { spec: { configuration: { migrations: { network: 'mine' } } } })
    await fleet.world.eventually(async () => expect(await fleet.network()).toBe(network))
    await fleet.works()
    expect(await fleet.attachments()).toHaveLength(1)
  })

  test('serves a node that joins, says so until it has its address, and forgets one that goes', async () => {
    const fleet = await aFleet({ nodes: ['node-1', 'node-2'] })
    await fleet.set(aValue({ range: '10.1.2.0/30' }))
    const network = await fleet.works()
    await fleet.addNode('node-3')
    const said = await fleet.says({ status: 'False', reason: 'NodesNotReady' })
    expect(said.message).toMatch(/^2 of 3 nodes are ready; node-3: /)
    // The range is used up: nothing is rolled back for it.
    await fleet.world.idle(1.1 * patienceMs)
    expect(await fleet.network()).toBe(network)
    await fleet.removeNode('node-1')
    await fleet.says({ status: 'True', message: `2 of 2 nodes migrate over ${network}` })
  })

  test('waits for a node that is down, and rolls nothing back because of it', async () => {
    const fleet = await aFleet()
    await fleet.set(aValue())
    await fleet.works()
    await fleet.world.client.mergePatch(
      nodes,
      { name: 'node-3' },
      { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } },
      { subresource: 'status' },
    )
    await annotate(fleet, 'node-3', 'down')
    await fleet.set(aValue({ vlan: 200 }))
    const said = await fleet.says({ message: expect.stringMatching(/^2 of 3 .*node-3: the node itself is not ready/) })
    expect(said.reason).toBe('InProgress')
    if (!isInProcess) return
    await fleet.world.idle(1.1 * patienceMs)
    await fleet.says({ reason: 'InProgress' })
    await annotate(fleet, 'node-3', null)
    await fleet.says({ message: expect.stringMatching(/^3 of 3/) })
  })
})

describe.runIf(isInProcess)('A roll-out that does not become healthy', () => {
  test('is rolled back to the network before, which is still there, and says so', async () => {
    const fleet = await aFleet()
    await fleet.set(aValue())
    const old = await fleet.works()
    const hash = (await fleet.setting()).metadata.annotations?.[`${prefix}/hash`]
    await annotate(fleet, 'node-1', 'no carrier')
    await fleet.set(aValue({ vlan: 200 }))
    await fleet.says({ reason: 'InProgress', message: expect.stringMatching(/node-1: pod \S+ is not ready/) })
    await fleet.world.pass(patienceMs)
    await annotate(fleet, 'node-1', null)
    await neverWithout(fleet, async () => {
      expect(await fleet.condition()).toMatchObject({ status: 'False', reason: 'RolledBack' })
    })
    expect(await fleet.network()).toBe(old)
    expect((await fleet.attachments()).map(({ metadata }) => metadata.name)).toEqual([old])
    expect((await fleet.handlers()).map(networkOf)).toEqual([old, old, old])
    expect((await fleet.setting()).metadata.annotations?.[`${prefix}/hash`]).toBe(hash)
    expect((await announced(fleet)).some(one => one.startsWith('Warning RollingBack: '))).toBe(true)
    // It is not tried again by itself.
    const { generation } = (await fleet.kubeVirt()).metadata
    await fleet.world.idle(1.1 * patienceMs)
    expect((await fleet.kubeVirt()).metadata.generation).toBe(generation)
    await fleet.set(aValue({ vlan: 300 }))
    const network = await fleet.works()
    expect(network).not.toBe(old)
    expect((await fleet.setting()).metadata.annotations).not.toHaveProperty('mooring.dev/migration-network-failed')
  })

  test('is not rolled back to itself where an editor replaced the VLAN in what is remembered too', async () => {
    const fleet = await aFleet()
    await fleet.set(aValue())
    await fleet.works()
    await annotate(fleet, 'node-1', 'no carrier')
    const { metadata } = await fleet.setting()
    const replaced = Object.entries(metadata.annotations ?? {}).map(([key, text]) => [
      key,
      String(text).replace('"vlan":100', '"vlan":200'),
    ])
    expect(Object.fromEntries(replaced)).not.toEqual(metadata.annotations)
    const value = JSON.stringify(aValue({ vlan: 200 }))
    const edited = { metadata: { annotations: Object.fromEntries(replaced) }, value }
    await fleet.world.client.mergePatch(settings, { name: settingName }, edited)
    await fleet.says({ reason: 'InProgress', message: expect.stringMatching(/node-1: pod \S+ is not ready/) })
    await fleet.world.pass(patienceMs)
    await fleet.says({ reason: 'RolledBack', message: expect.stringContaining('over the management network') })
    expect(await fleet.network()).toBeUndefined()
  })

  test('is tried again where an administrator takes the mark of the failure away', async () => {
    const fleet = await aFleet()
    await annotate(fleet, 'node-1', 'no carrier')
    await fleet.set(aValue())
    await fleet.says({ reason: 'InProgress', message: expect.stringMatching(/node-1: pod \S+ is not ready/) })
    await fleet.world.pass(patienceMs)
    await fleet.says({
      status: 'False',
      reason: 'RolledBack',
      message: expect.stringMatching('over the management network'),
    })
    expect(await fleet.network()).toBeUndefined()
    expect(await fleet.attachments()).toEqual([])
    await annotate(fleet, 'node-1', null)
    await fleet.world.client.mergePatch(
      settings,
      { name: settingName },
      {
        metadata: { annotations: { 'mooring.dev/migration-network-failed': null } },
      },
    )
    await fleet.works()
  })

  test('is not given up while one node after the other becomes ready, however long it takes', async () => {
    const fleet = await aFleet()
    for (const name of ['node-1', 'node-2', 'node-3']) await annotate(fleet, name, 'slow')
    await fleet.set(aValue())
    await fleet.says({ reason: 'InProgress', message: expect.stringMatching(/^0 of 3 .*is not ready/) })
    // The one that was replaced first is whichever.
    for (let ready = 1; ready <= 3; ready++) {
      await fleet.world.pass(0.8 * patienceMs)
      const stuck = (await fleet.handlers()).find(({ status }) => status.phase === 'Pending')
      await annotate(fleet, stuck?.spec.nodeName, null)
      if (ready < 3)
        await fleet.says({ reason: 'InProgress', message: expect.stringMatching(new RegExp(`^${ready} of 3`)) })
    }
    await fleet.works()
  })
})

describe('A migration network and what others do', () => {
  test('says what is refused, in the words of Harvester, and goes on when it no longer is', async () => {
    const fleet = await aFleet()
    const { desk } = fleet.world
    desk.forbid(request => request.method === 'POST' && ofAttachments(request))
    await fleet.set(aValue())
    expect((await fleet.says({ status: 'False', reason: 'CreateNadError' })).message).toMatch(/^create nad error /)
    desk.forbid(request => request.method === 'PATCH' && ofKubeVirt(request))
    expect((await fleet.says({ status: 'False', reason: 'UpdateKubeVirtError' })).message).toMatch(
      /^update kubevirt error /,
    )
    desk.forbid(() => false)
    const old = await fleet.works()
    desk.forbid(request => request.method === 'DELETE' && ofAttachments(request))
    await fleet.set(aValue({ vlan: 200 }))
    expect((await fleet.says({ status: 'False', reason: 'RemoveOldNadError' })).message).toMatch(
      /^remove old nad error /,
    )
    expect((await fleet.setting()).metadata.annotations?.[`${prefix}/net-attach-def`]).toBe(`harvester-system/${old}`)
    desk.forbid(() => false)
    await fleet.works()
    expect(await fleet.attachments()).toHaveLength(1)
  })

  test('is switched to though another client writes to the KubeVirt object all the time', async () => {
    const fleet = await aFleet()
    const { client } = fleet.world
    await fleet.set(aValue())
    for (let i = 1; i <= 20; i++) {
      await fleet.world.pass(50)
      const spec = { configuration: { migrations: { parallelMigrationsPerCluster: i } } }
      await client.mergePatch(kubeVirts, { namespace: kubeVirtHome, name: 'kubevirt' }, { spec })
    }
    const network = await fleet.works()
    expect((await fleet.kubeVirt()).spec.configuration.migrations).toEqual({
      parallelMigrationsPerCluster: 20,
      network,
    })
    expect((await announced(fleet)).some(one => one.includes('Error'))).toBe(false)
  })

  test('does not change while a virtual machine migrates, and does when that is over', async () => {
    const fleet = await aFleet()
    const { world } = fleet
    const migration = await world.create(aMigration('move'))
    await world.patch(migration, { status: { phase: 'Running' } }, 'status')
    await fleet.set(aValue())
    const said = await fleet.says({ status: 'False', reason: 'WaitingForMigrations' })
    expect(said.message).toMatch(`${world.home}/move`)
    await world.idle(60_000)
    expect(await fleet.network()).toBeUndefined()
    await world.patch(migration, { status: { phase: 'Succeeded' } }, 'status')
    await fleet.works()
  })

  test('does not wait for migrations of tenants that never begin', async () => {
    const fleet = await aFleet()
    const { world } = fleet
    await world.create(aMigration('new'))
    const pending = await world.create(aMigration('stuck'))
    await world.patch(pending, { status: { phase: 'Pending' } }, 'status')
    await fleet.set(aValue())
    await fleet.works()
  })

  test('does not count pods and NetworkAttachmentDefinitions of tenants, whatever they are labelled', async () => {
    const fleet = await aFleet()
    const { world } = fleet
    const namespace = await world.anotherNamespace()
    await world.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        namespace,
        name: 'virt-handler-evil',
        labels: { 'kubevirt.io': 'virt-handler' },
        annotations: { 'k8s.v1.cni.cncf.io/networks': 'other@migration0' },
      },
      spec: { nodeName: 'node-1', containers: [{ name: 'x', image: 'x' }] },
    } as Stored)
    const theirs = await world.create({
      apiVersion: 'k8s.cni.cncf.io/v1',
      kind: 'NetworkAttachmentDefinition',
      metadata: {
        namespace,
        name: 'vm-migration-network-theirs',
        labels: { [`${prefix}/hash`]: 'x' },
        annotations: { [prefix]: 'true' },
      },
      spec: { config: '{}' },
    } as Stored)
    await fleet.set(aValue())
    await fleet.works()
    expect(await world.get(theirs)).toBeDefined()
    if (!isInProcess) await world.client.delete(pods, { namespace, name: 'virt-handler-evil' }, { graceSeconds: 0 })
  })

  test('leaves a network alone that an administrator wrote into the KubeVirt object, where none was ever asked for', async () => {
    const fleet = await aFleet({ migrations: { network: 'handmade' }, hasOperator: false })
    await fleet.world.idle(30_000)
    expect(await fleet.network()).toBe('handmade')
    expect(await fleet.condition()).toBeUndefined()
  })

  test('ends the same when the process is killed before any of its writes', async () => {
    for (let at = 1; at <= (isInProcess ? 9 : 2); at++) {
      const fleet = await aFleet({ nodes: ['node-1', 'node-2'] })
      const { desk } = fleet.world
      await fleet.set(aValue())
      await fleet.works()
      let count = 0
      desk.killBefore(({ method, path }) => method !== 'GET' && !path.includes('/events') && ++count === at)
      await fleet.set(aValue({ vlan: 200 }))
      await fleet.world.idle(30_000)
      await desk.kill()
      await desk.start()
      await neverWithout(fleet, async () => {
        expect(await fleet.condition()).toMatchObject({ status: 'True' })
        expect(await fleet.attachments()).toHaveLength(1)
        expect(JSON.parse((await fleet.attachments())[0]?.spec.config).vlan).toBe(200)
      })
    }
  })
})

describe('A MigrationNetwork', () => {
  const aNetwork = (vlan: number): Stored => ({
    apiVersion: 'mooring.dev/v1alpha1',
    kind: 'MigrationNetwork',
    metadata: { name: settingName },
    spec: {
      bridge: 'br-migration',
      vlan,
      range: '10.1.3.0/24',
      ipam: 'whereabouts',
      kubevirt: { namespace: kubeVirtHome, name: 'kubevirt' },
    },
  })
  const says = (fleet: Fleet, said: object) =>
    fleet.world.eventually(async () => {
      const stored = await fleet.world.get(aNetwork(0))
      expect(stored?.status?.conditions).toContainEqual(expect.objectContaining({ type: 'configured', ...said }))
    }, 120_000)

  test('does the same without Harvester, and stays until KubeVirt is back on the management network', async () => {
    const fleet = await aFleet()
    const network = await fleet.world.create(aNetwork(100))
    await says(fleet, { status: 'True', reason: 'Completed' })
    const [made] = await fleet.attachments()
    expect(JSON.parse(made?.spec.config)).toMatchObject({ bridge: 'br-migration', vlan: 100 })
    expect(await fleet.network()).toBe(made?.metadata.name)
    await fleet.world.delete(network)
    await neverWithout(fleet, async () => expect(await fleet.world.get(network)).toBeUndefined())
    expect(await fleet.network()).toBeUndefined()
    expect(await fleet.attachments()).toEqual([])
  })

  test('does not count while the setting of Harvester asks for a network, and says so', async () => {
    const fleet = await aFleet()
    await fleet.set(aValue())
    const network = await fleet.works()
    const own = await fleet.world.create(aNetwork(200))
    await says(fleet, { status: 'False', reason: 'AnotherCounts' })
    expect(await fleet.network()).toBe(network)
    await fleet.set('')
    await says(fleet, { status: 'True', reason: 'Completed' })
    expect(await fleet.network()).not.toBe(network)
    expect(await fleet.attachments()).toHaveLength(1)
    await fleet.says({ status: 'True', message: 'MigrationNetwork vm-migration-network counts' })
    await fleet.world.delete(own)
    await neverWithout(fleet, async () => expect(await fleet.world.get(own)).toBeUndefined())
  })

  test('that names a KubeVirt which is not there can be deleted', async () => {
    const fleet = await aFleet()
    const elsewhere = { ...aNetwork(100).spec, kubevirt: { namespace: 'elsewhere', name: 'kubevirt' } }
    const network = await fleet.world.create({ ...aNetwork(100), spec: elsewhere } as Stored)
    await says(fleet, { status: 'False', reason: 'GetKubeVirtError' })
    await fleet.world.delete(network)
    await fleet.world.eventually(async () => expect(await fleet.world.get(network)).toBeUndefined())
  })
})

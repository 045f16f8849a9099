// Networks and live migrations in the playground: what waits for what, and what is told where.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { KubeObject } from '../../src/kube/object.ts'
import { attachments, claims, machines, migrations, nodes, pods } from '../../src/playground/kinds.ts'
import type { Pod } from '../../src/playground/shapes.ts'
import { aBridge, aGround, aMachine, aMigration, anAttachment, type Ground, home, type MachineDraft } from './ground.ts'

const bridge = { name: 'br', type: 'bridge' }
const ovn = { name: 'blue', type: 'ovn-k8s-cni-overlay', topology: 'layer2', allowPersistentIPs: true }
const mooring = {
  name: 'green',
  type: 'bridge',
  ipam: { type: 'mooring', pool: { kind: 'ClusterAddressPool', name: 'p' } },
}

async function running(ground: Ground, name: string): Promise<void> {
  await ground.eventually(async () => expect((await ground.machine(name))?.status?.printableStatus).toBe('Running'))
}

async function aRunningMachine(ground: Ground, draft: MachineDraft = {}): Promise<void> {
  await ground.client.create(machines, aMachine('web', draft))
  await running(ground, 'web')
}

const annotated = (pod: Pod | undefined, name: string): unknown => JSON.parse(pod?.metadata.annotations?.[name] ?? '[]')
const asked = (pod: Pod | undefined) => annotated(pod, 'k8s.v1.cni.cncf.io/networks')
const attached = (pod: Pod | undefined) => annotated(pod, 'k8s.v1.cni.cncf.io/network-status')

const annotate = (ground: Ground, pod: Pod | undefined, annotations: Readonly<Record<string, string>>) =>
  ground.client.mergePatch(pods, { namespace: home, name: pod?.metadata.name ?? '' }, { metadata: { annotations } })

/** What a container of the only pod waits for. */
async function waiting(ground: Ground): Promise<string | undefined> {
  const [pod] = await ground.podsOf('web')
  const [container] = (pod?.status?.containerStatuses ?? []) as { state?: { waiting?: { message?: string } } }[]
  return container?.state?.waiting?.message
}

describe('A launcher pod of the playground', () => {
  test('waits on a primary network for its entry in the annotation, and shows its MAC and addresses', async () => {
    const ground = await aGround()
    const onPodNetwork = { interfaces: [{ name: 'podnet', bridge: {} }], networks: [{ name: 'podnet', pod: {} }] }
    const annotations = { 'k8s.ovn.org/primary-udn-ipamclaim': 'web.podnet' }
    await ground.client.create(machines, aMachine('web', { ...onPodNetwork, annotations }))
    await ground.eventually(async () => expect(await waiting(ground)).toMatch(/^no primary network in the annotation /))
    const entry = { ip_addresses: ['10.9.0.5/24'], mac_address: '02:00:00:00:00:05', role: 'primary' }
    const others = { default: { ip_addresses: ['10.244.0.5/24'], role: 'infrastructure-locked' } }
    const [pod] = await ground.podsOf('web')
    await annotate(ground, pod, { 'k8s.ovn.org/pod-networks': JSON.stringify({ ...others, 'default/udn': entry }) })
    await running(ground, 'web')
    expect((await ground.instance('web'))?.status?.interfaces).toMatchObject([
      { name: 'podnet', podInterfaceName: 'ovn-udn1', mac: '02:00:00:00:00:05', ipAddress: '10.9.0.5' },
    ])
  })

  test('asks for its networks in the words of KubeVirt', async () => {
    const ground = await aGround()
    await ground.client.create(attachments, anAttachment('br1', bridge))
    await aRunningMachine(ground, aBridge('net1', 'br1', { macAddress: '02:00:00:00:00:01' }))
    const [pod] = await ground.podsOf('web')
    expect(asked(pod)).toEqual([
      { name: 'br1', namespace: home, mac: '02:00:00:00:00:01', interface: 'pod6c270ef2f25' },
    ])
    expect(attached(pod)).toMatchObject([
      { interface: 'eth0', default: true, ips: [pod?.status?.podIP] },
      { name: 'default/br1', interface: 'pod6c270ef2f25', ips: [], mac: '02:00:00:00:00:01' },
    ])
    expect((await ground.instance('web'))?.status?.interfaces).toMatchObject([
      {
        name: 'net1',
        podInterfaceName: 'pod6c270ef2f25',
        mac: '02:00:00:00:00:01',
        infoSource: 'domain, multus-status',
      },
    ])
  })

  test('waits for a NetworkAttachmentDefinition that is not there yet', async () => {
    const ground = await aGround()
    await ground.client.create(machines, aMachine('web', aBridge('net1', 'other/late')))
    await ground.eventually(async () =>
      expect(await waiting(ground)).toBe('the NetworkAttachmentDefinition other/late does not exist'),
    )
    const late = anAttachment('late', bridge)
    const client = ground.client
    await ground.server.admin.create('/api/v1/namespaces', { metadata: { name: 'other' } })
    await client.create(attachments, { ...late, metadata: { name: 'late', namespace: 'other' } })
    await running(ground, 'web')
  })

  test('waits on a network of OVN-Kubernetes for its addresses in the annotation, of both families', async () => {
    const ground = await aGround()
    await ground.client.create(attachments, anAttachment('blue', ovn))
    await ground.client.create(machines, aMachine('web', aBridge('net1', 'blue')))
    await ground.eventually(async () => expect(await waiting(ground)).toMatch(/^no addresses for default\/blue /))
    await ground.pass(10_000)
    expect((await ground.instance('web'))?.status?.phase).toBe('Scheduling')
    const entry = { ip_addresses: ['10.9.0.5/24', 'fd00:9::5/64'], mac_address: '0a:58:0a:09:00:05' }
    const [pod] = await ground.podsOf('web')
    await annotate(ground, pod, { 'k8s.ovn.org/pod-networks': JSON.stringify({ 'default/blue': entry }) })
    await running(ground, 'web')
    expect((await ground.instance('web'))?.status?.interfaces).toMatchObject([
      { name: 'net1', mac: '0a:58:0a:09:00:05', ipAddress: '10.9.0.5', ipAddresses: ['10.9.0.5', 'fd00:9::5'] },
    ])
  })

  test('waits for the address of what takes the place of the pod network, if it names a claim for it', async () => {
    const ground = await aGround()
    const annotations = { 'k8s.ovn.org/primary-udn-ipamclaim': 'web.main' }
    const draft = { interfaces: [{ name: 'main', bridge: {} }], networks: [{ name: 'main', pod: {} }], annotations }
    await ground.client.create(machines, aMachine('web', draft))
    await ground.eventually(async () => expect(await waiting(ground)).toMatch(/^no primary network in the annotation /))
    const ofPods = { ip_addresses: ['10.244.0.7/24'], role: 'infrastructure-locked' }
    const entry = { ip_addresses: ['10.9.0.5/24'], mac_address: '0a:58:0a:09:00:05', role: 'primary' }
    const [pod] = await ground.podsOf('web')
    const text = JSON.stringify({ default: ofPods, 'default/blue': entry })
    await annotate(ground, pod, { 'k8s.ovn.org/pod-networks': text })
    await running(ground, 'web')
    expect(attached((await ground.podsOf('web'))[0])).toMatchObject([
      { name: 'playground', interface: 'eth0' },
      { name: 'default/blue', interface: 'ovn-udn1', ips: ['10.9.0.5'], default: true },
    ])
    expect((await ground.instance('web'))?.status?.interfaces).toMatchObject([
      { name: 'main', mac: '0a:58:0a:09:00:05', ipAddress: '10.9.0.5' },
    ])
  })

  test('waits on a network of Mooring for the addresses of the claim that its element names', async () => {
    const ground = await aGround()
    await ground.client.create(attachments, anAttachment('green', { plugins: [mooring, { type: 'tuning' }] }))
    await ground.client.create(machines, aMachine('web', { ...aBridge('net1', 'green'), runStrategy: 'Halted' }))
    const element = { name: 'green', namespace: home, interface: 'pod6c270ef2f25', 'ipam-claim-reference': 'web.net1' }
    const metadata = {
      name: 'launcher',
      namespace: home,
      labels: { 'kubevirt.io': 'virt-launcher' },
      annotations: { 'kubevirt.io/domain': 'web', 'k8s.v1.cni.cncf.io/networks': JSON.stringify([element]) },
    }
    const spec = { containers: [{ name: 'compute', image: 'launcher' }] }
    await ground.client.create(pods, { apiVersion: 'v1', kind: 'Pod', metadata, spec })
    await ground.eventually(async () =>
      expect(await waiting(ground)).toBe('the IPAMClaim default/web.net1 has no addresses'),
    )
    const claim = {
      apiVersion: 'k8s.cni.cncf.io/v1alpha1',
      kind: 'IPAMClaim',
      metadata: { name: 'web.net1', namespace: home },
      spec: { network: 'green', interface: 'pod6c270ef2f25' },
    }
    await ground.client.create(claims, claim)
    const status = { ips: ['10.9.0.5/24'] }
    await ground.client.mergePatch(claims, { namespace: home, name: 'web.net1' }, { status }, { subresource: 'status' })
    await ground.eventually(async () => {
      const [pod] = await ground.podsOf('web')
      expect(pod?.status?.phase).toBe('Running')
      expect(attached(pod)).toMatchObject([{}, { ips: ['10.9.0.5'] }])
    })
  })

  test('has an interface that was plugged into the running machine, and lets go of one that is absent', async () => {
    const ground = await aGround()
    for (const name of ['br1', 'br2']) await ground.client.create(attachments, anAttachment(name, bridge))
    const [one, two] = [aBridge('net1', 'br1'), aBridge('net2', 'br2')]
    await aRunningMachine(ground, one)
    const before = (await ground.instance('web'))?.metadata.uid
    const edit = (interfaces: readonly object[], networks: readonly object[]) =>
      ground.client.mergePatch(
        machines,
        { namespace: home, name: 'web' },
        { spec: { template: { spec: { domain: { devices: { interfaces } }, networks } } } },
      )
    await edit([...one.interfaces, ...two.interfaces], [...one.networks, ...two.networks])
    await ground.eventually(async () => {
      const [pod] = await ground.podsOf('web')
      expect(asked(pod)).toMatchObject([{ name: 'br1' }, { name: 'br2', interface: 'pod2daa9a9645f' }])
      expect((await ground.instance('web'))?.status?.interfaces?.map(({ name }) => name)).toEqual(['net1', 'net2'])
    })
    const absent = { ...one.interfaces[0], state: 'absent' }
    await edit([absent, ...two.interfaces], [...one.networks, ...two.networks])
    await ground.eventually(async () => {
      const [pod] = await ground.podsOf('web')
      expect(asked(pod)).toMatchObject([{ name: 'br2' }])
      expect(attached(pod)).toHaveLength(2)
      const [machine, instance] = [await ground.machine('web'), await ground.instance('web')]
      expect(instance?.status?.interfaces?.map(({ name }) => name)).toEqual(['net2'])
      expect(instance?.spec?.networks).toEqual(two.networks)
      expect(machine?.spec?.template?.spec?.networks).toEqual(two.networks)
      expect(machine?.spec?.template?.spec?.domain?.devices?.interfaces).toEqual(two.interfaces)
    })
    expect((await ground.instance('web'))?.metadata.uid).toBe(before)
  })
})

describe('A live migration of the playground', () => {
  test('moves the machine to a pod on another node, and ends the pod that it left', async () => {
    const ground = await aGround()
    await ground.client.create(attachments, anAttachment('br1', bridge))
    await aRunningMachine(ground, aBridge('net1', 'br1'))
    const [source] = await ground.podsOf('web')
    const migration = await ground.client.create(migrations, aMigration('go', 'web'))
    await ground.eventually(async () => expect((await ground.migration('go'))?.status?.phase).toBe('Succeeded'))
    expect((await ground.migration('go'))?.status?.phaseTransitionTimestamps?.map(({ phase }) => phase)).toEqual([
      'Pending',
      'Scheduling',
      'Scheduled',
      'PreparingTarget',
      'TargetReady',
      'Running',
      'Succeeded',
    ])
    await ground.eventually(async () => {
      const [left, target] = await ground.podsOf('web')
      expect(left?.status?.phase).toBe('Succeeded')
      expect(target?.metadata.labels).toMatchObject({ 'kubevirt.io/migrationJobUID': migration.metadata.uid })
      expect(target?.metadata.annotations).toMatchObject({ 'kubevirt.io/migrationJobName': 'go' })
      expect(target?.metadata.annotations?.['kubevirt.io/migration-target-ready-timestamp']).toBeDefined()
      expect(target?.spec?.nodeName).not.toBe(source?.spec?.nodeName)
      expect(asked(target)).toEqual(asked(source))
      expect((await ground.instance('web'))?.status).toMatchObject({
        phase: 'Running',
        nodeName: target?.spec?.nodeName,
        migrationState: { completed: true, sourcePod: left?.metadata.name, targetPod: target?.metadata.name },
      })
    })
    await running(ground, 'web')
    // And back, and away: of the pods before, none is taken for a part of it.
    for (const name of ['back', 'away']) {
      await ground.client.create(migrations, aMigration(name, 'web'))
      await ground.eventually(async () => expect((await ground.migration(name))?.status?.phase).toBe('Succeeded'))
    }
    await ground.eventually(async () => {
      const phases = (await ground.podsOf('web')).map(({ status }) => status?.phase)
      expect(phases.toSorted((one = '', other = '') => one.localeCompare(other))).toEqual([
        'Running',
        'Succeeded',
        'Succeeded',
        'Succeeded',
      ])
    })
  })

  test('that is to fail leaves the machine where it is, and the next one succeeds', async () => {
    const ground = await aGround()
    await aRunningMachine(ground)
    const [source] = await ground.podsOf('web')
    await ground.client.create(
      migrations,
      aMigration('no', 'web', { 'playground.mooring.dev/fail-migration': 'the link is slow' }),
    )
    await ground.eventually(async () => {
      expect((await ground.migration('no'))?.status).toMatchObject({
        phase: 'Failed',
        migrationState: { failed: true, failureReason: 'the link is slow' },
      })
      expect((await ground.podsOf('web')).map(({ status }) => status?.phase)).toEqual(['Running', 'Failed'])
    })
    expect((await ground.instance('web'))?.status?.nodeName).toBe(source?.spec?.nodeName)
    await running(ground, 'web')
    await ground.client.create(migrations, aMigration('yes', 'web'))
    await ground.eventually(async () => expect((await ground.migration('yes'))?.status?.phase).toBe('Succeeded'))
  })

  test('waits while no other node is free, and is given up when it is deleted', async () => {
    const ground = await aGround()
    await aRunningMachine(ground)
    const [source] = await ground.podsOf('web')
    const cordon = (unschedulable: boolean) =>
      Promise.all(
        ['playground-1', 'playground-2', 'playground-3'].map(name =>
          ground.client.mergePatch(nodes, { name }, { spec: { unschedulable } }),
        ),
      )
    await cordon(true)
    await ground.client.create(migrations, aMigration('go', 'web'))
    await ground.pass(5_000)
    expect((await ground.migration('go'))?.status?.phase).toBe('Scheduling')
    const target = (await ground.podsOf('web'))[1]
    expect(target?.status?.conditions).toMatchObject([
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' },
    ])
    await ground.client.delete(migrations, { namespace: home, name: 'go' })
    await ground.eventually(async () => {
      expect(await ground.migration('go')).toBeUndefined()
      expect(await ground.podsOf('web')).toHaveLength(1)
    })
    await ground.client.create(migrations, aMigration('again', 'web'))
    await ground.pass(1_000)
    await cordon(false)
    await ground.eventually(async () => expect((await ground.migration('again'))?.status?.phase).toBe('Succeeded'))
    expect((await ground.instance('web'))?.status?.nodeName).not.toBe(source?.spec?.nodeName)
  })

  test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14])(
    'goes on where it was when the playground was cut off at write %i',
    async writes => {
      const ground = await aGround()
      await aRunningMachine(ground)
      ground.cutOffAfter(writes)
      await ground.client.create(migrations, aMigration('go', 'web'))
      await ground.pass(2_000)
      await ground.stop()
      await ground.start()
      await ground.eventually(async () => {
        expect((await ground.migration('go'))?.status?.phase).toBe('Succeeded')
        expect((await ground.podsOf('web')).map(({ status }) => status?.phase)).toEqual(['Succeeded', 'Running'])
      })
    },
  )

  test('has one target, and its machine one pod, also where answers are lost and events come late', async () => {
    const ground = await aGround({ podsHeardAfterMs: 400 })
    await aRunningMachine(ground)
    expect(await ground.podsOf('web')).toHaveLength(1)
    await ground.client.create(migrations, aMigration('go', 'web'))
    await ground.eventually(async () => expect((await ground.migration('go'))?.status?.phase).toBe('Succeeded'))
    expect(await ground.podsOf('web')).toHaveLength(2)
  })

  test('of a machine that has one under way, or of none, fails', async () => {
    const ground = await aGround()
    await aRunningMachine(ground)
    await Promise.all(['one', 'two'].map(name => ground.client.create(migrations, aMigration(name, 'web'))))
    await ground.client.create(migrations, aMigration('none', 'nothing'))
    await ground.eventually(async () => {
      const phases = await Promise.all(
        ['one', 'two', 'none'].map(async name => (await ground.migration(name))?.status?.phase),
      )
      expect(phases).toEqual(['Succeeded', 'Failed', 'Failed'])
    })
  })
})

test('the samples are accepted: one machine waits for the addresses of both of its networks, the other is off', async () => {
  const ground = await aGround()
  const read = (file: string): KubeObject[] =>
    parseAllDocuments(readFileSync(`config/samples/vm/${file}.yaml`, 'utf8')).map(document => document.toJS())
  for (const namespace of read('namespace')) await ground.server.admin.create('/api/v1/namespaces', namespace)
  for (const one of read('networks').filter(({ kind }) => kind === 'NetworkAttachmentDefinition')) {
    await ground.client.create(attachments, one)
  }
  for (const one of read('virtualmachines')) await ground.client.create(machines, one)
  await ground.eventually(async () => {
    const { items } = await ground.client.list(machines, { namespace: 'shop' })
    const shown = items.map(({ metadata, status }) => [metadata.name, status?.printableStatus])
    expect(shown).toEqual([
      ['db', 'Stopped'],
      ['web', 'Starting'],
    ])
    const [pod] = (await ground.client.list(pods, { namespace: 'shop' })).items
    expect(JSON.stringify(pod?.status?.containerStatuses)).toContain('no addresses for shop/tenant')
  })
})

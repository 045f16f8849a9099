// Virtual machines in the playground come to life and end as KubeVirt lets them.

import { describe, expect, test } from 'vitest'
import type { KubeObject } from '../../src/kube/object.ts'
import { instances, machines, migrations, pods } from '../../src/playground/kinds.ts'
import type { Machine } from '../../src/playground/shapes.ts'
import { aGround, aMachine, aMigration, type Ground, home } from './ground.ts'

async function isRunning(ground: Ground, name: string): Promise<void> {
  await ground.eventually(async () => {
    expect((await ground.machine(name))?.status).toMatchObject({
      printableStatus: 'Running',
      ready: true,
      created: true,
    })
  })
}

async function aRunningMachine(ground: Ground, machine: Machine): Promise<string> {
  const { name = '' } = (await ground.client.create(machines, machine)).metadata
  await isRunning(ground, name)
  return name
}

const patchMachine = (ground: Ground, name: string, spec: object) =>
  ground.client.mergePatch(machines, { namespace: home, name }, { spec })

const uidOf = (object: KubeObject | undefined): string => object?.metadata.uid ?? 'none'

/** The process in the pod ends, as a shut down or a crash of the guest would. */
async function endProcess(ground: Ground, name: string, phase: 'Succeeded' | 'Failed'): Promise<string> {
  const instance = await ground.instance(name)
  const [pod] = await ground.podsOf(name)
  const ref = { namespace: home, name: pod?.metadata.name ?? '' }
  await ground.client.mergePatch(pods, ref, { status: { phase } }, { subresource: 'status' })
  return uidOf(instance)
}

async function isStopped(ground: Ground, name: string): Promise<void> {
  await ground.eventually(async () => {
    expect((await ground.machine(name))?.status).toMatchObject({
      printableStatus: 'Stopped',
      ready: false,
      created: false,
    })
    expect(await ground.instance(name)).toBeUndefined()
    expect(await ground.podsOf(name)).toEqual([])
  })
}

describe('A virtual machine of the playground', () => {
  test('runs: an instance and a launcher pod with the names, owners, labels and finalizers of KubeVirt', async () => {
    const ground = await aGround()
    await aRunningMachine(ground, aMachine('web', { annotations: { 'v1.multus-cni.io/default-network': 'x' } }))
    const [machine, instance] = [await ground.machine('web'), await ground.instance('web')]
    const [pod, ...others] = await ground.podsOf('web')
    expect(others).toEqual([])
    expect(machine?.metadata.finalizers).toEqual(['kubevirt.io/virtualMachineControllerFinalize'])
    expect(instance?.metadata.finalizers).toEqual([
      'kubevirt.io/virtualMachineControllerFinalize',
      'kubevirt.io/foregroundDeleteVirtualMachine',
    ])
    expect(instance?.metadata.ownerReferences).toMatchObject([
      { kind: 'VirtualMachine', name: 'web', uid: uidOf(machine), controller: true, blockOwnerDeletion: true },
    ])
    expect(instance?.status).toMatchObject({ phase: 'Running', selinuxContext: 'none' })
    expect(instance?.status?.phaseTransitionTimestamps?.map(({ phase }) => phase)).toEqual([
      'Scheduling',
      'Scheduled',
      'Running',
    ])
    expect(instance?.status?.activePods).toEqual({ [uidOf(pod)]: pod?.spec?.nodeName })
    expect(pod?.metadata).toMatchObject({
      labels: {
        'kubevirt.io': 'virt-launcher',
        'kubevirt.io/created-by': uidOf(instance),
        'vm.kubevirt.io/name': 'web',
        app: 'web',
      },
      annotations: { 'kubevirt.io/domain': 'web', 'v1.multus-cni.io/default-network': 'x' },
      ownerReferences: [{ kind: 'VirtualMachineInstance', uid: uidOf(instance), controller: true }],
    })
    expect(pod?.metadata.name).toMatch(/^virt-launcher-web-[a-z0-9]{5}$/)
    expect(pod?.spec?.nodeName).toMatch(/^playground-[123]$/)
    expect(pod?.status).toMatchObject({ phase: 'Running', podIP: expect.stringMatching(/^10\.244\./) })
    const [container] = pod?.status?.containerStatuses ?? []
    expect(container).toMatchObject({ ready: true, imageID: expect.stringMatching(/@sha256:[0-9a-f]{64}$/) })
    expect(instance?.status?.interfaces).toMatchObject([{ name: 'default', ipAddress: pod?.status?.podIP }])
  })

  test('shows what it is in the columns that people know', async () => {
    const ground = await aGround()
    await aRunningMachine(ground, aMachine('web'))
    const row = async (plural: string) => {
      const headers = { accept: ['application/json;as=Table;v=v1;g=meta.k8s.io'] }
      const path = `/apis/kubevirt.io/v1/namespaces/${home}/${plural}`
      const { body } = await ground.server.admin.request('GET', path, undefined, undefined, headers)
      const table = body as unknown as { columnDefinitions: { name: string }[]; rows: { cells: unknown[] }[] }
      return Object.fromEntries(table.columnDefinitions.map(({ name }, i) => [name, table.rows[0]?.cells[i]]))
    }
    expect(await row('virtualmachines')).toMatchObject({ Name: 'web', Status: 'Running', Ready: 'True' })
    const instance = await ground.instance('web')
    expect(await row('virtualmachineinstances')).toMatchObject({
      Phase: 'Running',
      IP: instance?.status?.interfaces?.[0]?.ipAddress,
      NodeName: instance?.status?.nodeName,
      Ready: 'True',
    })
  })

  test('stops when it is halted and starts again with another instance, by either way to say so', async () => {
    const ground = await aGround()
    for (const [name, draft, off, on] of [
      ['new', {}, { runStrategy: 'Halted' }, { runStrategy: 'Always' }],
      ['old', { running: true }, { running: false }, { running: true }],
    ] as const) {
      await aRunningMachine(ground, aMachine(name, draft))
      const before = uidOf(await ground.instance(name))
      await patchMachine(ground, name, off)
      await isStopped(ground, name)
      await patchMachine(ground, name, on)
      await isRunning(ground, name)
      expect(uidOf(await ground.instance(name))).not.toBe(before)
    }
  })

  test('always: starts again when its process ended or failed, and when its pod or its instance is deleted', async () => {
    const ground = await aGround()
    const name = await aRunningMachine(ground, aMachine('web'))
    const isAnother = async (before: string) => {
      await ground.eventually(async () => expect(uidOf(await ground.instance(name))).not.toBe(before))
      await isRunning(ground, name)
    }
    await isAnother(await endProcess(ground, name, 'Succeeded'))
    await isAnother(await endProcess(ground, name, 'Failed'))
    const [pod] = await ground.podsOf(name)
    const ofPod = uidOf(await ground.instance(name))
    await ground.client.delete(pods, { namespace: home, name: pod?.metadata.name ?? '' })
    await isAnother(ofPod)
    const before = uidOf(await ground.instance(name))
    await ground.client.delete(instances, { namespace: home, name })
    await isAnother(before)
  })

  test('rerun on failure: starts again when its process failed, and stays when it ended', async () => {
    const ground = await aGround()
    const name = await aRunningMachine(ground, aMachine('job', { runStrategy: 'RerunOnFailure' }))
    const before = await endProcess(ground, name, 'Failed')
    await ground.eventually(async () => expect(uidOf(await ground.instance(name))).not.toBe(before))
    await isRunning(ground, name)
    expect((await ground.machine(name))?.status?.stateChangeRequests ?? null).toBeNull()
    await endProcess(ground, name, 'Succeeded')
    await ground.eventually(async () => {
      expect((await ground.machine(name))?.status?.printableStatus).toBe('Stopped')
    })
    await ground.pass(10_000)
    expect((await ground.instance(name))?.status?.phase).toBe('Succeeded')
  })

  test('manual: starts and stops when it is asked to, and not by itself', async () => {
    const ground = await aGround()
    await ground.client.create(machines, aMachine('hand', { runStrategy: 'Manual' }))
    await isStopped(ground, 'hand')
    const ask = (...stateChangeRequests: object[]) =>
      ground.client.mergePatch(
        machines,
        { namespace: home, name: 'hand' },
        { status: { stateChangeRequests } },
        { subresource: 'status' },
      )
    await ask({ action: 'Start' })
    await isRunning(ground, 'hand')
    const before = uidOf(await ground.instance('hand'))
    await ask({ action: 'Stop', uid: before }, { action: 'Start' })
    await ground.eventually(async () => expect(uidOf(await ground.instance('hand'))).not.toBe(before))
    await isRunning(ground, 'hand')
    await ask({ action: 'Stop', uid: uidOf(await ground.instance('hand')) })
    await isStopped(ground, 'hand')
  })

  test('whose pod fails before it ran is tried again later, not at once', async () => {
    const ground = await aGround({ isIdle: true })
    await ground.client.create(
      machines,
      aMachine('bad', {
        networks: [{ name: 'n', multus: { networkName: 'none' } }],
        interfaces: [{ name: 'n', bridge: {} }],
      }),
    )
    await ground.start()
    await ground.eventually(async () => expect(await ground.podsOf('bad')).toHaveLength(1))
    await endProcess(ground, 'bad', 'Failed')
    await ground.eventually(async () => {
      expect((await ground.machine('bad'))?.status?.printableStatus).toBe('CrashLoopBackOff')
    })
    expect(await ground.instance('bad')).toBeUndefined()
    await ground.eventually(async () => expect(await ground.podsOf('bad')).toHaveLength(1), 30_000)
  })

  test('is gone with its instance and its pods when it is deleted, in the background and in the foreground', async () => {
    const ground = await aGround()
    for (const propagation of ['Background', 'Foreground'] as const) {
      const name = await aRunningMachine(ground, aMachine(propagation.toLowerCase()))
      await ground.client.delete(machines, { namespace: home, name }, { propagation })
      await ground.eventually(async () => {
        expect(await ground.machine(name)).toBeUndefined()
        expect(await ground.instance(name)).toBeUndefined()
        expect(await ground.podsOf(name)).toEqual([])
      })
    }
  })

  test('leaves its instance running when it is deleted as an orphan, and the next of its name adopts it', async () => {
    const ground = await aGround()
    const name = await aRunningMachine(ground, aMachine('web'))
    const before = await ground.instance(name)
    await ground.client.delete(machines, { namespace: home, name }, { propagation: 'Orphan' })
    await ground.eventually(async () => {
      expect(await ground.machine(name)).toBeUndefined()
      expect((await ground.instance(name))?.metadata.ownerReferences ?? []).toEqual([])
    })
    await ground.pass(5_000)
    expect((await ground.instance(name))?.status?.phase).toBe('Running')
    const machine = await ground.client.create(machines, aMachine(name))
    await ground.eventually(async () => {
      const adopted = await ground.instance(name)
      expect(uidOf(adopted)).toBe(uidOf(before))
      expect(adopted?.metadata.ownerReferences).toMatchObject([{ uid: uidOf(machine), controller: true }])
    })
    await ground.client.delete(machines, { namespace: home, name })
    await ground.eventually(async () => expect(await ground.instance(name)).toBeUndefined())
  })

  test('an instance that was left behind goes when it is deleted itself', async () => {
    const ground = await aGround()
    const name = await aRunningMachine(ground, aMachine('web'))
    await ground.client.delete(machines, { namespace: home, name }, { propagation: 'Orphan' })
    await ground.eventually(async () => expect(await ground.machine(name)).toBeUndefined())
    await ground.client.delete(instances, { namespace: home, name })
    await ground.eventually(async () => {
      expect(await ground.instance(name)).toBeUndefined()
      expect(await ground.podsOf(name)).toEqual([])
    })
  })

  test('an instance without a machine runs, ends with its process, and goes when it is deleted', async () => {
    const ground = await aGround()
    const lone = {
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachineInstance',
      metadata: { name: 'lone', namespace: home },
      spec: {},
    }
    await ground.client.create(instances, lone)
    await ground.eventually(async () => expect((await ground.instance('lone'))?.status?.phase).toBe('Running'))
    await endProcess(ground, 'lone', 'Succeeded')
    await ground.eventually(async () => expect((await ground.instance('lone'))?.status?.phase).toBe('Succeeded'))
    await ground.client.delete(instances, { namespace: home, name: 'lone' })
    await ground.eventually(async () => expect(await ground.instance('lone')).toBeUndefined())
  })
})

describe('The node agent', () => {
  test("writes instances with the client of KubeVirt's handler alone, and whole: its role knows no patch", async () => {
    const writes: string[] = []
    const ground = await aGround({ onWrite: what => writes.push(what) })
    await aRunningMachine(ground, aMachine('web'))
    await ground.client.create(migrations, aMigration('go', 'web'))
    await ground.eventually(async () => expect((await ground.migration('go'))?.status?.phase).toBe('Succeeded'))
    const isOfInstance = (what: string) => what.includes('/virtualmachineinstances/')
    const by = (name: string) => writes.filter(what => what.startsWith(`${name} `))
    expect(by('handler').length).toBeGreaterThan(1)
    expect(by('handler').filter(what => !isOfInstance(what) || !what.startsWith('handler PUT '))).toEqual([])
    expect(by('agent').filter(isOfInstance)).toEqual([])
  })

  test('takes launcher pods and no others', async () => {
    const ground = await aGround()
    const container = { name: 'c', image: 'i' }
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'plain', namespace: home },
      spec: { containers: [container] },
    }
    await ground.client.create(pods, pod)
    await ground.pass(5_000)
    const found = await ground.client.get(pods, { namespace: home, name: 'plain' })
    expect([found?.spec?.nodeName, found?.status?.phase]).toEqual([undefined, 'Pending'])
  })

  test('leaves pods of other nodes alone, also when they are deleted', async () => {
    const ground = await aGround()
    const metadata = {
      name: 'far',
      namespace: home,
      labels: { 'kubevirt.io': 'virt-launcher' },
      annotations: { 'kubevirt.io/domain': 'far' },
    }
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: { nodeName: 'real', containers: [{ name: 'c', image: 'i' }] },
    }
    await ground.client.create(pods, pod)
    await ground.pass(1_000)
    await ground.client.delete(pods, { namespace: home, name: 'far' })
    await ground.pass(1_000)
    const found = await ground.client.get(pods, { namespace: home, name: 'far' })
    expect(found?.status?.phase).toBe('Pending')
    expect(found?.metadata.deletionGracePeriodSeconds).toBe(30)
  })
})

describe('The playground as a whole', () => {
  test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14])(
    'goes on where it was when it was cut off at write %i, and makes nothing twice',
    async writes => {
      const ground = await aGround()
      ground.cutOffAfter(writes)
      await ground.client.create(machines, aMachine('web'))
      await ground.pass(2_000)
      await ground.stop()
      await ground.start()
      await isRunning(ground, 'web')
      expect(await ground.podsOf('web')).toHaveLength(1)
      ground.cutOffAfter(writes)
      await ground.client.delete(machines, { namespace: home, name: 'web' })
      await ground.pass(2_000)
      await ground.stop()
      await ground.start()
      await ground.eventually(async () => {
        expect(await ground.machine('web')).toBeUndefined()
        expect(await ground.instance('web')).toBeUndefined()
      })
    },
  )

  test('writes nothing when nothing happens, also after a restart', async () => {
    const writes: string[] = []
    const ground = await aGround({ onWrite: what => writes.push(what) })
    await aRunningMachine(ground, aMachine('web'))
    await ground.pass(5_000)
    await ground.stop()
    writes.length = 0
    await ground.start()
    await ground.pass(60_000)
    expect(writes).toEqual([])
  })

  test('brings up sixty at once, each with an address of its own, spread over the nodes', async () => {
    const ground = await aGround()
    const names = Array.from({ length: 60 }, (_, i) => `vm-${i}`)
    await Promise.all(names.map(name => ground.client.create(machines, aMachine(name))))
    await ground.eventually(async () => {
      const { items } = await ground.client.list(machines, { namespace: home })
      expect(items.filter(({ status }) => status?.printableStatus === 'Running')).toHaveLength(60)
    }, 60_000)
    const { items } = await ground.client.list(pods, { namespace: home })
    expect(items).toHaveLength(60)
    expect(new Set(items.map(({ status }) => status?.podIP)).size).toBe(60)
    const nodes = items.map(({ spec }) => spec?.nodeName)
    for (const node of ['playground-1', 'playground-2', 'playground-3']) {
      expect(nodes.filter(name => name === node).length).toBeGreaterThan(15)
    }
  })
})

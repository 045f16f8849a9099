// Claims follow virtual machines, on the API server of the product.

import { describe, expect, test } from 'vitest'
import { claimName, movedClaimName } from '../../src/controllers/vm/claims/names.ts'
import { ipamClaims, pods, virtualMachineInstances, virtualMachines } from '../../src/controllers/vm/kinds.ts'
import { events } from '../../src/kube/events.ts'
import type { Kind, KubeObject } from '../../src/kube/object.ts'
import { aWorld, type Stored, type World } from '../behaviours/world.ts'
import { aPodObject, aVMIObject, aVMObject, type MachineParts, StubNetworks } from './builders.ts'
import { vmDefinitions } from './definitions.ts'
import { desksOver } from './desk.ts'

const namespace = 'default'
const ref = (name: string) => ({ namespace, name })

interface Lab extends World {
  readonly networks: StubNetworks
  readonly put: (kind: Kind, object: KubeObject) => Promise<Stored>
  readonly claim: (name: string) => Promise<Stored | undefined>
  readonly claimNames: () => Promise<string[]>
  /** As the binding does it. */
  readonly letGo: (name: string) => Promise<void>
}

interface LabOptions {
  readonly hasWebhooks?: boolean
  /** As the definition of the network plumbing working group, which has no rules. */
  readonly hasRules?: boolean
}

async function aLab({ hasWebhooks = false, hasRules = true }: LabOptions = {}): Promise<Lab> {
  const networks = new StubNetworks({ 'default/net1': 'net1', 'default/blue': 'blue' })
  const isOurs = ({ metadata }: KubeObject) => vmDefinitions.some(one => one.metadata.name === metadata.name)
  const define = (shipped: readonly KubeObject[]) => [
    ...shipped.filter(one => !isOurs(one)),
    ...(hasRules ? vmDefinitions : vmDefinitions.map(withoutRules)),
  ]
  const world = await aWorld({ desks: desksOver(networks), define, hasWebhooks })
  const claim = async (name: string) => (await world.client.get(ipamClaims, ref(name))) as Stored | undefined
  return {
    ...world,
    networks,
    claim,
    put: async (kind, object) => (await world.client.create(kind, object)) as Stored,
    claimNames: async () =>
      (await world.client.list(ipamClaims)).items.map(({ metadata }) => metadata.name ?? '').sort(),
    letGo: async name => {
      await world.eventually(async () => expect((await claim(name))?.metadata.deletionTimestamp).toBeDefined())
      await world.client.mergePatch(ipamClaims, ref(name), { metadata: { finalizers: null } })
    },
  }
}

const withoutRules = (definition: KubeObject): KubeObject =>
  JSON.parse(JSON.stringify(definition, (key, value) => (key === 'x-kubernetes-validations' ? undefined : value)))

const vm = (parts: MachineParts = {}) => aVMObject({ namespace, ...parts })
const vmi = (parts: MachineParts = {}) => aVMIObject({ namespace, ...parts })

/** The virtual machine with its first claim. */
async function aServedVM(lab: Lab, parts: MachineParts = {}): Promise<Stored> {
  const made = await lab.put(virtualMachines, vm(parts))
  await lab.eventually(async () => expect(await lab.claimNames()).toEqual(['vm1.net1']))
  return made
}

const retarget = (lab: Lab, interfaces: readonly string[]) => {
  const { spec } = vm({ interfaces }) as Stored
  return lab.client.mergePatch(virtualMachines, ref('vm1'), { spec })
}

describe('A virtual machine', () => {
  test('has a claim for its interface before it runs, which belongs to it', async () => {
    const lab = await aLab()
    const { metadata } = await aServedVM(lab)
    expect(await lab.claim('vm1.net1')).toMatchObject({
      metadata: {
        labels: { 'kubevirt.io/vm': 'vm1' },
        annotations: { 'mooring.dev/attachment': 'default/net1' },
        finalizers: ['kubevirt.io/persistent-ipam'],
        ownerReferences: [
          {
            apiVersion: 'kubevirt.io/v1',
            kind: 'VirtualMachine',
            name: 'vm1',
            uid: metadata.uid,
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: { network: 'net1', interface: 'pod6c270ef2f25' },
    })
  })

  test('H3: of a name that no label can say has claims, also when their owner is gone', async () => {
    const lab = await aLab()
    const name = 'x'.repeat(100)
    await lab.put(virtualMachines, vm({ name }))
    const claim = claimName(name, 'net1')
    await lab.eventually(async () => expect(await lab.claimNames()).toEqual([claim]))
    expect((await lab.claim(claim))?.metadata.labels?.['kubevirt.io/vm']).toMatch(/^x{54}-[0-9a-f]{8}$/)
    await lab.client.delete(virtualMachines, ref(name), { propagation: 'Orphan' })
    await lab.eventually(async () => expect((await lab.claim(claim))?.metadata.deletionTimestamp).toBeDefined())
  })

  test('shows the addresses of its claims, and takes them away with them', async () => {
    const lab = await aLab()
    await aServedVM(lab)
    const shown = async () =>
      (await lab.client.get(virtualMachines, ref('vm1')))?.metadata.annotations?.['mooring.dev/network-interfaces']
    await lab.client.mergePatch(
      ipamClaims,
      ref('vm1.net1'),
      { status: { ips: ['10.0.0.5/24'] } },
      { subresource: 'status' },
    )
    await lab.eventually(async () => expect(await shown()).toBe('[{"interfaceName":"net1","ips":["10.0.0.5/24"]}]'))
    const before = lab.desk.writes.length
    await lab.idle(10_000)
    expect(lab.desk.writes).toHaveLength(before)
    await retarget(lab, [])
    await lab.letGo('vm1.net1')
    await lab.eventually(async () => expect(await shown()).toBeUndefined())
  })

  test('is woken by its NetworkAttachmentDefinition', async () => {
    const lab = await aLab()
    await lab.put(virtualMachines, vm({ interfaces: ['later'] }))
    await lab.idle(1_000)
    expect(await lab.claimNames()).toEqual([])
    lab.networks.put('default/later', 'later')
    await lab.eventually(async () => expect(await lab.claimNames()).toEqual(['vm1.later']))
    lab.networks.put('default/later', undefined)
    await lab.idle(1_000)
    expect((await lab.claim('vm1.later'))?.metadata.deletionTimestamp).toBeUndefined()
  })

  test('H6: adopts the claims of an instance that it adopts', async () => {
    const lab = await aLab()
    const instance = await lab.put(virtualMachineInstances, vmi())
    const ownerOf = async () => (await lab.claim('vm1.net1'))?.metadata.ownerReferences
    await lab.eventually(async () => expect(await ownerOf()).toMatchObject([{ uid: instance.metadata.uid }]))
    const before = (await lab.claim('vm1.net1'))?.metadata.uid
    const owner = await lab.put(virtualMachines, vm())
    const { ownerReferences } = vmi({ of: owner.metadata.uid ?? '' }).metadata
    await lab.client.mergePatch(virtualMachineInstances, ref('vm1'), { metadata: { ownerReferences } })
    await lab.eventually(async () => expect(await ownerOf()).toMatchObject([{ kind: 'VirtualMachine' }]))
    expect((await lab.claim('vm1.net1'))?.metadata.uid).toBe(before)
  })

  test('says what is in its way, and goes on when that is gone', async () => {
    const lab = await aLab()
    const metadata = { name: 'vm1.net1', namespace }
    const spec = { network: 'net1', interface: '' }
    const claim = { apiVersion: 'k8s.cni.cncf.io/v1alpha1', kind: 'IPAMClaim', metadata, spec }
    await lab.put(ipamClaims, claim)
    await lab.put(virtualMachines, vm())
    await lab.eventually(async () => {
      const { items } = await lab.client.list(events)
      expect(items.map(({ reason, note }) => `${reason}: ${note}`)).toEqual([
        'ClaimNameTaken: the IPAMClaim vm1.net1 was not made for it, and is in the way: delete it, or rename the interface',
      ])
    })
    await lab.client.delete(ipamClaims, ref('vm1.net1'))
    await lab.eventually(async () =>
      expect((await lab.claim('vm1.net1'))?.metadata.ownerReferences).toMatchObject([{ name: 'vm1' }]),
    )
  })

  test('37: made anew under the name of an earlier one waits for the claim of that, and has its own then', async () => {
    const lab = await aLab()
    const first = await aServedVM(lab)
    await lab.client.delete(virtualMachines, ref('vm1'))
    await lab.eventually(async () => expect((await lab.claim('vm1.net1'))?.metadata.deletionTimestamp).toBeDefined())
    const second = await lab.put(virtualMachines, vm())
    await lab.idle(1_000)
    expect((await lab.claim('vm1.net1'))?.metadata.ownerReferences).toMatchObject([{ uid: first.metadata.uid }])
    await lab.letGo('vm1.net1')
    await lab.eventually(async () =>
      expect((await lab.claim('vm1.net1'))?.metadata.ownerReferences).toMatchObject([{ uid: second.metadata.uid }]),
    )
  })
})

describe('An interface', () => {
  test('that is plugged in gets a claim; H4: its claim goes when it is out of the pod too', async () => {
    const lab = await aLab()
    const { metadata } = await aServedVM(lab)
    await retarget(lab, ['net1', 'blue'])
    await lab.eventually(async () => expect(await lab.claimNames()).toEqual(['vm1.blue', 'vm1.net1']))
    const instance = await lab.put(virtualMachineInstances, vmi({ of: metadata.uid ?? '', interfaces: ['net1'] }))
    const reference = { name: 'blue', 'ipam-claim-reference': 'vm1.blue' }
    const pod = aPodObject({ namespace, instance: instance.metadata.uid ?? '', networks: [reference] })
    await lab.put(pods, pod)
    await retarget(lab, ['net1'])
    await lab.idle(2_000)
    expect((await lab.claim('vm1.blue'))?.metadata.deletionTimestamp).toBeUndefined()
    const annotations = { 'k8s.v1.cni.cncf.io/networks': '[]' }
    await lab.client.mergePatch(pods, ref(pod.metadata.name ?? ''), { metadata: { annotations } })
    await lab.eventually(async () => expect((await lab.claim('vm1.blue'))?.metadata.deletionTimestamp).toBeDefined())
    expect((await lab.claim('vm1.net1'))?.metadata.deletionTimestamp).toBeUndefined()
  })

  test('H5: that is moved to another network has a claim there, and the old one goes', async () => {
    const lab = await aLab()
    await aServedVM(lab)
    await retarget(lab, ['net1:blue'])
    const moved = movedClaimName('vm1', 'net1', 'default/blue', 'blue')
    await lab.eventually(async () => {
      expect((await lab.claim(moved))?.spec).toEqual({ network: 'blue', interface: 'pod6c270ef2f25' })
      expect((await lab.claim('vm1.net1'))?.metadata.deletionTimestamp).toBeDefined()
    })
  })
})

describe('A claim that was left behind', () => {
  test('H7: belongs to the instance that runs on, and goes after it', async () => {
    const lab = await aLab()
    const { metadata } = await aServedVM(lab)
    const instance = await lab.put(virtualMachineInstances, vmi({ of: metadata.uid ?? '' }))
    await lab.client.delete(virtualMachines, ref('vm1'), { propagation: 'Orphan' })
    await lab.eventually(async () =>
      expect((await lab.claim('vm1.net1'))?.metadata.ownerReferences).toMatchObject([{ uid: instance.metadata.uid }]),
    )
    await lab.client.delete(virtualMachineInstances, ref('vm1'))
    await lab.eventually(async () => expect((await lab.claim('vm1.net1'))?.metadata.deletionTimestamp).toBeDefined())
  })

  test.each([['an instance'], ['a pod']])('H8: while Mooring was away, with %s that runs on, is found', async left => {
    const lab = await aLab()
    const { metadata } = await aServedVM(lab)
    const pod = aPodObject({ namespace, instance: '' })
    if (left === 'an instance') await lab.put(virtualMachineInstances, vmi({ of: metadata.uid ?? '' }))
    else await lab.put(pods, pod)
    await lab.desk.stop()
    await lab.client.delete(virtualMachines, ref('vm1'), { propagation: 'Orphan' })
    await lab.eventually(async () => expect((await lab.claim('vm1.net1'))?.metadata.ownerReferences).toBeUndefined())
    await lab.desk.start()
    if (left === 'an instance') {
      await lab.eventually(async () =>
        expect((await lab.claim('vm1.net1'))?.metadata.ownerReferences).toMatchObject([
          { kind: 'VirtualMachineInstance' },
        ]),
      )
      return
    }
    await lab.idle(1_000)
    expect((await lab.claim('vm1.net1'))?.metadata.deletionTimestamp).toBeUndefined()
    await lab.client.mergePatch(
      pods,
      ref(pod.metadata.name ?? ''),
      { status: { phase: 'Failed' } },
      { subresource: 'status' },
    )
    await lab.eventually(async () => expect((await lab.claim('vm1.net1'))?.metadata.deletionTimestamp).toBeDefined())
  })

  test('H9: goes also if another one is gone by then', async () => {
    const lab = await aLab()
    await aServedVM(lab)
    await retarget(lab, ['blue', 'net1'])
    await lab.eventually(async () => expect(await lab.claimNames()).toEqual(['vm1.blue', 'vm1.net1']))
    lab.desk.watchDelayMs = 3_000
    await lab.client.delete(virtualMachines, ref('vm1'), { propagation: 'Orphan' })
    await lab.client.mergePatch(ipamClaims, ref('vm1.blue'), { metadata: { finalizers: null } })
    await lab.client.delete(ipamClaims, ref('vm1.blue'))
    await lab.eventually(async () => expect((await lab.claim('vm1.net1'))?.metadata.deletionTimestamp).toBeDefined())
  })

  test('is not deleted on the word of a cache that is behind', async () => {
    const lab = await aLab()
    await aServedVM(lab)
    lab.desk.watchDelayMs = 3_000
    await retarget(lab, [])
    await lab.pass(1_000)
    await retarget(lab, ['net1'])
    await lab.pass(10_000)
    expect((await lab.claim('vm1.net1'))?.metadata.deletionTimestamp).toBeUndefined()
  })
})

describe('With its webhooks', () => {
  test('a launcher pod is told its claim, and keeps it when its networks are written anew', async () => {
    const lab = await aLab({ hasWebhooks: true })
    const { metadata } = await aServedVM(lab)
    const instance = await lab.put(virtualMachineInstances, vmi({ of: metadata.uid ?? '' }))
    const element = { name: 'net1', namespace, interface: 'pod6c270ef2f25' }
    const networksOf = (pod: KubeObject | undefined) =>
      JSON.parse(pod?.metadata.annotations?.['k8s.v1.cni.cncf.io/networks'] ?? '')
    const pod = await lab.put(
      pods,
      aPodObject({ namespace, instance: instance.metadata.uid ?? '', networks: [element] }),
    )
    expect(networksOf(pod)).toEqual([{ ...element, 'ipam-claim-reference': 'vm1.net1' }])
    const annotations = { 'k8s.v1.cni.cncf.io/networks': JSON.stringify([element]) }
    const written = await lab.client.mergePatch(pods, ref(pod.metadata.name ?? ''), { metadata: { annotations } })
    expect(networksOf(written)).toEqual([{ ...element, 'ipam-claim-reference': 'vm1.net1' }])
  })

  test('a pod of no virtual machine is not asked about', async () => {
    const lab = await aLab({ hasWebhooks: true })
    const { spec } = aPodObject() as Stored
    const annotations = { 'k8s.v1.cni.cncf.io/networks': '[{' }
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'plain', namespace, annotations }, spec }
    await expect(lab.put(pods, pod)).resolves.toMatchObject({ metadata: { name: 'plain' } })
  })

  test.each([['with'], ['without']])(
    'the addresses of a claim do not change once they are set, %s our definition',
    async which => {
      const lab = await aLab({ hasWebhooks: true, hasRules: which === 'with' })
      await aServedVM(lab)
      const say = (status: object | null) =>
        lab.client.mergePatch(ipamClaims, ref('vm1.net1'), { status }, { subresource: 'status' })
      await say({ ips: [] })
      await say({ ips: ['10.0.0.5/24'] })
      await say({ ownerPod: { name: 'virt-launcher-vm1-x' } })
      for (const status of [{ ips: ['10.0.0.6/24'] }, { ips: [] }, null]) {
        await expect(say(status)).rejects.toThrow(/status\.ips.* does not change once it is set/)
      }
      await lab.client.mergePatch(ipamClaims, ref('vm1.net1'), { metadata: { labels: { a: 'b' } } })
      expect((await lab.claim('vm1.net1'))?.status).toMatchObject({ ips: ['10.0.0.5/24'] })
    },
  )
})

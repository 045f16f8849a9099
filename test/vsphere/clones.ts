// What is done to virtual machines of a vCenter: cloned, told their network, powered, destroyed; and what is read back.

import { deepStrictEqual, match, ok, rejects, strictEqual } from 'node:assert'
import { connectVSphere, type VSphereClient } from '../../src/vsphere/client.ts'
import { type CloneOrder, orderClone } from '../../src/vsphere/clone.ts'
import { isVimFault } from '../../src/vsphere/fault.ts'
import { findNetwork, findPlace, findTemplate, NotInInventory, type Workspace } from '../../src/vsphere/inventory.ts'
import { attachedTags, attachTags, findTags } from '../../src/vsphere/tags.ts'
import { askTask, runningClonesOf, serverNowMs } from '../../src/vsphere/task.ts'
import { toRef } from '../../src/vsphere/value.ts'
import {
  destroy,
  findByInstanceUuid,
  findByName,
  powerOff,
  powerOn,
  setExtraConfig,
} from '../../src/vsphere/virtual-machine.ts'
import type { Sentences } from '../capi/sentences.ts'
import { until } from '../capi/until.ts'
import type { VCenter } from './vcenter.ts'

/** As an installer writes them, the doubled slash included. */
export const workspace: Workspace = {
  datacenter: 'DC0',
  folder: '/DC0/vm',
  resourcePool: '/DC0/host/DC0_C0//Resources',
  datastore: '/DC0/datastore/LocalDS_0',
}

const uuid = '4c4c4544-0035-3110-8052-b4c04f4e3801'

export async function checkClones(sentences: Sentences, { options, thumbprint }: VCenter): Promise<void> {
  const client = await connectVSphere({ ...options, thumbprint })
  const wait = (task: string) => client.waitForTask(toRef('Task', task))

  await sentences.it(
    'what a Machine names is found by its path or name, and what is not there is told by its field',
    async () => {
      const place = await findPlace(client, workspace)
      deepStrictEqual(await findPlace(client, { ...workspace, folder: '', datastore: 'LocalDS_0' }), place)
      const says = (told: RegExp) => (error: unknown) => {
        ok(error instanceof NotInInventory)
        match(error.message, told)
        return true
      }
      await rejects(findPlace(client, { ...workspace, datacenter: 'DC9' }), says(/^workspace\.datacenter names DC9/))
      await rejects(
        findPlace(client, { ...workspace, folder: '/DC0/vm/no' }),
        says(/^workspace\.folder names \/DC0\/vm\/no/),
      )
      await rejects(findPlace(client, { ...workspace, resourcePool: '' }), says(/^workspace\.resourcePool is empty/))
      await rejects(
        findPlace(client, { ...workspace, datastore: 'other' }),
        says(/^workspace\.datastore names "other"/),
      )
      await rejects(findTemplate(client, place, 'no-such'), says(/^template names "no-such"/))
      await rejects(findTemplate(client, place, '/DC0/host/DC0_C0'), says(/no virtual machine/))
      const field = 'network.devices[0].networkName'
      const group = await findNetwork(client, place.datacenter, { name: 'DC0_DVPG0', field })
      strictEqual(group.kind, 'distributed')
      const standard = await findNetwork(client, place.datacenter, { name: 'VM Network', field })
      strictEqual(standard.kind, 'standard')
      await rejects(
        findNetwork(client, place.datacenter, { name: 'nowhere', field }),
        says(/^network\.devices\[0\]\.networkName/),
      )
    },
  )

  await sentences.it(
    'a clone has the instance UUID, the hardware, the cards and the settings that were ordered',
    async () => {
      await wait(await orderClone(client, await anOrder(client, 'made-1', uuid)))
      const vm = await findByInstanceUuid(client, uuid)
      strictEqual(vm?.name, 'made-1')
      strictEqual(vm?.powerState, 'poweredOff')
      deepStrictEqual(
        vm?.cards.map(({ type }) => type),
        ['VirtualVmxnet3', 'VirtualVmxnet3'],
      )
      ok(
        vm?.cards.every(({ mac }) => /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(mac)),
        JSON.stringify(vm?.cards),
      )
      strictEqual(vm?.extraConfig.get('guestinfo.hostname'), 'made-1')
      strictEqual(vm?.disks[0]?.capacityKiB, 20 * 1024 * 1024)
      const named = await findByName(client, (await findPlace(client, workspace)).folder, 'made-1')
      ok(named !== undefined && 'ref' in named)
      deepStrictEqual(named.ref, vm?.ref)
    },
  )

  await sentences.it(
    'a second clone of the same name is refused by the server, whichever UUID it is to have',
    async () => {
      await rejects(
        orderClone(client, await anOrder(client, 'made-1', '00000000-0000-0000-0000-000000000002')).then(wait),
        error => isVimFault(error, 'DuplicateName'),
      )
    },
  )

  await sentences.it('a disk that would have to shrink, and a snapshot that is not there, are refused', async () => {
    const order = await anOrder(client, 'made-2', uuid)
    await rejects(orderClone(client, { ...order, diskGiB: 1 }), /a disk can grow and not shrink/)
    await rejects(orderClone(client, { ...order, linkedTo: '' }), /the template has no snapshot/)
    await rejects(orderClone(client, { ...order, linkedTo: 'gold' }), /snapshot names "gold"/)
  })

  await sentences.it(
    'tags are found by their id, attached once or twice alike, and one that is not there is told',
    async () => {
      const vm = await found(client)
      const [one, two] = [await makeTag(client, 'one'), await makeTag(client, 'two')]
      await findTags(client, [one, two])
      deepStrictEqual(await attachedTags(client, vm.ref), [])
      await attachTags(client, vm.ref, [one])
      await attachTags(client, vm.ref, [one, two])
      deepStrictEqual([...(await attachedTags(client, vm.ref))].sort(), [one, two].sort())
      const none = one.replace(/[0-9a-f]{12}:/, '000000000000:')
      await rejects(findTags(client, [one, none]), /^NotInInventory: tagIDs\[1\] names "urn:/)
      await rejects(attachTags(client, vm.ref, [none]), error => isVimFault(error, 'TagsRefused'))
    },
  )

  await sentences.it('kernel arguments are set while it is off; when it runs its guest has the addresses', async () => {
    const vm = await found(client)
    const key = 'guestinfo.afterburn.initrd.network-kargs'
    const kargs = 'ip=192.0.2.9::192.0.2.1:255.255.255.0:::none ip=[2001:db8::9]:::64:::none nameserver=192.0.2.2'
    await wait(await setExtraConfig(client, vm.ref, { [key]: kargs }))
    await wait(await powerOn(client, vm.ref))
    const now = await found(client)
    strictEqual(now.extraConfig.get(key), kargs)
    strictEqual(now.powerState, 'poweredOn')
    await until('the guest reports its addresses', async () => {
      const { guestIPs } = await found(client)
      return guestIPs.join() === '192.0.2.9,2001:db8::9' ? undefined : guestIPs.join()
    })
  })

  await sentences.it(
    'a running clone is seen in the tasks of its template, and a task that the server forgot is none',
    async () => {
      const { template } = await anOrder(client, 'x', uuid)
      deepStrictEqual(await runningClonesOf(client, template), [])
      ok(Math.abs((await serverNowMs(client)) - Date.now()) < 60_000)
      strictEqual(await askTask(client, 'task-99999'), undefined)
    },
  )

  await sentences.it('it is powered off, destroyed, and then not found', async () => {
    const vm = await found(client)
    await wait(await powerOff(client, vm.ref))
    await wait(await destroy(client, vm.ref))
    strictEqual(await findByInstanceUuid(client, uuid), undefined)
  })
  await client.close()
}

/** As an administrator makes them, in a category of its own. */
export async function makeTag(client: VSphereClient, name: string): Promise<string> {
  const make = async (of: string, create_spec: object) => {
    const id = await client.rest({ method: 'POST', path: `/tagging/${of}`, body: { create_spec } })
    ok(typeof id === 'string')
    return id
  }
  const spec = { cardinality: 'MULTIPLE', associable_types: ['VirtualMachine'], description: '' }
  const category_id = await make('category', { name: `category of ${name}`, ...spec })
  return make('tag', { name, category_id, description: '' })
}

async function found(client: VSphereClient) {
  const vm = await findByInstanceUuid(client, uuid)
  if (vm === undefined) throw new Error('the virtual machine is not found')
  return vm
}

async function anOrder(client: VSphereClient, name: string, instanceUuid: string): Promise<CloneOrder> {
  const place = await findPlace(client, workspace)
  const network = (of: string) => findNetwork(client, place.datacenter, { name: of, field: 'networkName' })
  return {
    name,
    instanceUuid,
    place,
    template: await findTemplate(client, place, 'DC0_C0_RP0_VM0'),
    numCPUs: 2,
    numCoresPerSocket: 1,
    memoryMiB: 1024,
    diskGiB: 20,
    networks: [await network('DC0_DVPG0'), await network('VM Network')],
    extraConfig: { 'guestinfo.hostname': name },
    linkedTo: undefined,
  }
}

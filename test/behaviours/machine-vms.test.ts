// Machines whose virtual machines Mooring makes, at a stand-in for a vCenter: when one is ordered, what it is told, what the Machine says
// when it cannot be made, and that its addresses are let go only after it is gone.

import { describe, expect, test } from 'vitest'
import { nextName } from './machines.ts'
import { aDevice, aMachinePool, claimOf, machineFinalizer, protection, waitsWith } from './openshift-machines.ts'
import { holdsBecome } from './promises.ts'
import { aSecret, aSite, aVM, conditionOf, goes, kargsKey, runs, says, vmOf, workspace } from './vsphere-site.ts'
import { isInProcess, type Stored } from './world.ts'

const aTag = (n: number) => `urn:vmomi:InventoryServiceTag:5736bf56-49f5-4667-b38c-b97e09dc957${n}:GLOBAL`

describe('A Machine whose virtual machine Mooring makes', () => {
  test('has one that is told the address of its claim, and says what its guest reports', async () => {
    const site = await aSite()
    const { world, vcenter } = site
    const machine = await world.create(aVM([aDevice(await world.create(aMachinePool()))]))
    const now = await runs(site, machine)
    const vm = vmOf(site, machine)
    expect(vm?.instanceUuid).toBe(machine.metadata.uid)
    expect(Object.fromEntries(vm?.extraConfig ?? [])).toEqual({
      [kargsKey]: 'ip=192.168.101.10::192.168.101.1:255.255.255.0:::none nameserver=192.168.101.2',
      'guestinfo.hostname': machine.metadata.name,
      'guestinfo.ignition.config.data': Buffer.from('{}').toString('base64'),
      'guestinfo.ignition.config.data.encoding': 'base64',
      'stealclock.enable': 'TRUE',
    })
    expect(now.metadata.finalizers).toContain(machineFinalizer)
    await says(site, machine, 'AddressesReported', { status: 'True' })
    const said = (await world.get(machine)) as Stored
    expect(said.spec.providerID).toBe(`vsphere://bios-${machine.metadata.uid}`)
    expect(said.status.addresses).toEqual([
      { type: 'InternalIP', address: '192.168.101.10' },
      { type: 'InternalDNS', address: machine.metadata.name },
    ])
    expect(said.status.providerStatus).toMatchObject({ instanceId: machine.metadata.uid, instanceState: 'poweredOn' })
    expect(vcenter.cloned).toEqual([machine.metadata.uid])
    const ofDesk = world.desk.log.filter(({ desk, object }) => desk === 'machine' && object !== undefined)
    const place = `${world.home}/${machine.metadata.name}`
    expect(ofDesk.map(({ msg, order, object }) => `${msg}: ${order ?? object}`)).toEqual([
      `an object is made: IPAddressClaim ${place}-claim-0-0`,
      `an object says how it stands: Machine ${place}`,
      `an object says how it stands: Machine ${place}`,
      'a vCenter is told what to do: clone',
      'a vCenter is told what to do: power on',
    ])
    // Nothing more is written while nothing changes.
    await world.idle(60_000)
    const { metadata } = (await world.get(machine)) as Stored
    await world.idle(120_000)
    expect((await world.get(machine))?.metadata.resourceVersion).toBe(metadata.resourceVersion)
  })

  test('has the tags of its spec before it is powered on, whichever answer is lost, and says which tag is not there', async () => {
    const site = await aSite()
    const { world, vcenter } = site
    const [one, two] = [aTag(1), aTag(2)]
    vcenter.tags.add(one)
    const machine = await world.create(aVM([{ networkName: 'lab' }], { tagIDs: [one, two] }))
    await says(site, machine, 'MachineCreation', {
      reason: 'NotInInventory',
      message: `tagIDs[1] names "${two}", and there is no such tag at vcenter.example`,
    })
    expect(vcenter.vms).toEqual([])
    vcenter.tags.add(two)
    const untagged: string[] = []
    const isLost = new Set<string>()
    vcenter.losesAnswer = method => {
      if (method === 'PowerOnVM_Task' && vcenter.vms.some(vm => vm.tags.size < 2)) untagged.push(method)
      return method.includes('tag') && !isLost.has(method) && isLost.add(method).size > 0
    }
    await runs(site, machine)
    expect([...isLost].sort()).toEqual(['attach-multiple-tags-to-object', 'get-tag', 'list-attached-tags'])
    expect(untagged).toEqual([])
    expect([...(vmOf(site, machine)?.tags ?? [])]).toEqual([one, two])
    expect(vcenter.asked.filter(method => method.startsWith('attach'))).toHaveLength(1)
    await says(site, machine, 'MachineCreation', { status: 'True' })
  })

  // A minute passes in it.
  test.runIf(isInProcess)(
    'is not logged in for again and again where its password no longer counts for tags',
    async () => {
      const site = await aSite()
      const { world, vcenter } = site
      vcenter.tags.add(aTag(1))
      await runs(site, await world.create(aVM([{ networkName: 'lab' }])))
      vcenter.refusesLogin = true
      const machine = await world.create(aVM([{ networkName: 'lab' }], { tagIDs: [aTag(1)] }))
      await says(site, machine, 'MachineCreation', { reason: 'LoginRefused' })
      await world.idle(50_000)
      // A vCenter locks users out after a few.
      expect(vcenter.asked.filter(method => method === 'session')).toHaveLength(1)
      vcenter.refusesLogin = false
      await runs(site, machine)
    },
  )

  test('that lists names instead of tags is not made, and says so', async () => {
    const site = await aSite()
    const machine = await site.world.create(aVM([{ networkName: 'lab' }], { tagIDs: ['production'] }))
    await says(site, machine, 'MachineCreation', {
      reason: 'InvalidConfiguration',
      message: expect.stringContaining('providerSpec.tagIDs[0]: Invalid value: "production"'),
    })
    expect(site.vcenter.asked).toEqual([])
  })

  test('with several devices is told the address of each by its MAC', async () => {
    const site = await aSite()
    const { world } = site
    const one = await world.create(aMachinePool())
    const two = await world.create(aMachinePool({ addresses: ['192.168.102.10'], gateway: '192.168.102.1' }))
    const machine = await world.create(
      aVM([aDevice(one), { ...aDevice(two), networkName: 'storage', nameservers: [] }]),
    )
    await runs(site, machine)
    const [first, second] = (vmOf(site, machine)?.macs ?? []).map(mac => mac.replaceAll(':', '-'))
    expect(vmOf(site, machine)?.extraConfig.get(kargsKey)).toBe(
      `ip=192.168.101.10::192.168.101.1:255.255.255.0::${first}:none nameserver=192.168.101.2 ` +
        `ip=192.168.102.10::192.168.102.1:255.255.255.0::${second}:none`,
    )
  })

  test('is told the nameservers of its pool where its device names none, and those of the device where it does', async () => {
    const site = await aSite()
    const { world } = site
    const pool = await world.create(aMachinePool({ nameservers: ['192.168.101.5', '192.168.101.6'] }))
    const silent = await world.create(aVM([{ ...aDevice(pool), nameservers: [] }]))
    const own = await world.create(aVM([aDevice(pool)]))
    await runs(site, silent)
    await runs(site, own)
    const toldTo = (machine: Stored) =>
      vmOf(site, machine)
        ?.extraConfig.get(kargsKey)
        ?.replace(/^ip=\S+ /, '')
    expect(toldTo(silent)).toBe('nameserver=192.168.101.5 nameserver=192.168.101.6')
    expect(toldTo(own)).toBe('nameserver=192.168.101.2')
  })

  test('waits for its addresses without a word to the vCenter, is made once they are there, and gives them back once it is gone', async () => {
    const site = await aSite()
    const { world, vcenter } = site
    const pool = await world.create(aMachinePool({ addresses: ['192.168.101.10'] }))
    const first = await world.create(aVM([aDevice(pool)]))
    await runs(site, first)
    const asked = vcenter.asked.length
    const second = await world.create(aVM([aDevice(pool)]))
    await waitsWith(world, second, /PoolExhausted/)
    const third = await world.create(aVM([aDevice(pool)]))
    await waitsWith(world, third, /PoolExhausted/)
    expect(vcenter.asked.length - asked).toBeLessThan(10)
    // One that never had a virtual machine goes at once, also while there is no vCenter to ask.
    vcenter.losesCall = () => true
    await world.delete(third)
    await goes(site, third)
    vcenter.losesCall = () => false
    await world.delete(first)
    await world.eventually(async () => expect((await world.get(first))?.status.phase).toBe('Deleting'))
    expect((await world.get(claimOf(first)))?.metadata.finalizers).toContain(protection)
    await goes(site, first)
    await runs(site, second)
    expect(vmOf(site, second)?.extraConfig.get(kargsKey)).toContain('ip=192.168.101.10:')
    await world.delete(second)
    await goes(site, second)
    await holdsBecome(world, pool, 0)
    expect(vcenter.destroyed).toEqual([first.metadata.uid, second.metadata.uid])
  })

  // Minutes pass in it.
  test.runIf(isInProcess)('says why it cannot be made, and is made when that is put right', async () => {
    const site = await aSite()
    const { world, vcenter } = site
    const pool = await world.create(aMachinePool())
    const wrong = async (more: object, reason: string, message: RegExp) => {
      const machine = await world.create(aVM([aDevice(pool)], { ...more }))
      await says(site, machine, 'MachineCreation', { status: 'False', reason, message: expect.stringMatching(message) })
      return machine
    }
    const none = vcenter.asked.length
    await wrong({ workspace: { ...workspace, server: 'evil.example' } }, 'NotConfigured', /none of the vCenters/)
    const unknown = await wrong(
      { credentialsSecret: { name: 'late' } },
      'NotConfigured',
      /Secret .*late, which is not there/,
    )
    expect(vcenter.asked.length).toBe(none)
    await aSecret(world, 'late', { 'vcenter.example.username': 'u' })
    await says(site, unknown, 'MachineCreation', {
      message: expect.stringContaining('has no vcenter.example.password'),
    })
    await wrong({ template: 'absent' }, 'NotInInventory', /^template names "absent"/)
    await wrong({ workspace: { ...workspace, datastore: 'x' } }, 'NotInInventory', /^workspace.datastore names "x"/)
    vcenter.refusesLogin = true
    await aSecret(world, 'other', { 'vcenter.example.username': 'u', 'vcenter.example.password': 'x' })
    const refused = await wrong(
      { credentialsSecret: { name: 'other' } },
      'LoginRefused',
      /check user name and password/,
    )
    vcenter.refusesLogin = false
    await runs(site, refused)
    expect(conditionOf(await world.get(refused), 'MachineCreation')).toMatchObject({ status: 'True' })
  })

  test('never takes, changes or destroys a virtual machine of its name that is not its own', async () => {
    const site = await aSite()
    const { world, vcenter } = site
    const draft = aVM([aDevice(await world.create(aMachinePool()))])
    const other = vcenter.addVM(draft.metadata.name ?? '', 'somebody-elses')
    const machine = await world.create(draft)
    await says(site, machine, 'MachineCreation', {
      reason: 'NameTaken',
      message: expect.stringContaining('somebody-elses'),
    })
    await world.delete(machine)
    await world.eventually(async () => expect(await world.get(machine)).toBeUndefined())
    expect(vcenter.vms).toEqual([other])
    expect(other.extraConfig.size).toBe(0)
  })

  // Minutes pass in it.
  test.runIf(isInProcess)(
    'says when its guest has other addresses, when a device is missing, and when the virtual machine is gone',
    async () => {
      const site = await aSite()
      const { world, vcenter } = site
      const machine = await world.create(aVM([aDevice(await world.create(aMachinePool()))]))
      await runs(site, machine)
      await says(site, machine, 'AddressesReported', { status: 'True' })
      Object.assign(vmOf(site, machine) ?? {}, { guestIPs: ['10.9.9.9'] })
      await says(site, machine, 'AddressesReported', {
        status: 'False',
        reason: 'AddressMismatch',
        message: expect.stringContaining('192.168.101.10'),
      })
      Object.assign(vmOf(site, machine) ?? {}, { macs: [] })
      await says(site, machine, 'MachineCreation', { message: 'invalid network count: expected=1 current=0' })
      vcenter.removeVM(machine.metadata.name ?? '')
      await says(site, machine, 'MachineCreation', { reason: 'InstanceMissing' })
      expect((await world.get(machine))?.status.phase).toBe('Failed')
      expect(vcenter.cloned).toHaveLength(1)
      await world.delete(machine)
      await goes(site, machine)
    },
  )

  test('stays while hooks of others are pending, and while a task fails it is tried again', async () => {
    const site = await aSite()
    const { world, vcenter } = site
    let failures = 2
    vcenter.failsTask = () => (failures-- > 0 ? 'InsufficientResourcesFault' : undefined)
    const machine = await world.create(aVM([aDevice(await world.create(aMachinePool()))]))
    await says(site, machine, 'MachineCreation', { reason: 'TaskFailed' })
    await runs(site, machine)
    const lifecycleHooks = { preDrain: [{ name: 'EtcdQuorum', owner: nextName('operator') }] }
    await world.patch(machine, { spec: { lifecycleHooks } })
    await world.delete(machine)
    await says(site, machine, 'MachineDeletion', { reason: 'HooksPending' })
    await world.idle(30_000)
    expect(vmOf(site, machine)?.powerState).toBe('poweredOn')
    await world.patch(machine, { spec: { lifecycleHooks: null } })
    await goes(site, machine)
  })
})

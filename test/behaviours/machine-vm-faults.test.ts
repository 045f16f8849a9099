// Virtual machines of Machines where answers of the vCenter are lost, tasks are slow, and the process dies between any two of its
// writes: one virtual machine for each Machine, no address let go while one may have it, no finalizer that stays.

import { describe, expect, test } from 'vitest'
import { aDevice, aMachinePool, claimOf } from './openshift-machines.ts'
import { holdsBecome } from './promises.ts'
import { aSite, aVM, goes, runs, type Site, says, vmOf } from './vsphere-site.ts'
import { isInProcess, type Stored } from './world.ts'

async function lifeOf(site: Site): Promise<Stored> {
  const { world } = site
  const pool = await world.create(aMachinePool())
  const machine = await world.create(aVM([aDevice(pool), { networkName: 'storage' }]))
  await runs(site, machine)
  await world.delete(machine)
  await goes(site, machine)
  await holdsBecome(world, pool, 0)
  return machine
}

const once = (method: string) => {
  let isOver = false
  return (asked: string): boolean => {
    if (isOver || asked !== method) return false
    isOver = true
    return true
  }
}

describe('A Machine whose virtual machine Mooring makes', () => {
  // Minutes pass in it.
  test.runIf(isInProcess)(
    'has one virtual machine, and leaves nothing behind, whichever answer is lost, and whichever request never arrives',
    async () => {
      const site = await aSite()
      const { vcenter } = site
      for (const method of [
        'CloneVM_Task',
        'ReconfigVM_Task',
        'PowerOnVM_Task',
        'PowerOffVM_Task',
        'Destroy_Task',
        'FindByUuid',
      ]) {
        vcenter.losesAnswer = once(method)
        const first = await lifeOf(site)
        vcenter.losesAnswer = () => false
        vcenter.losesCall = once(method)
        const second = await lifeOf(site)
        vcenter.losesCall = () => false
        expect(vcenter.cloned.splice(0), method).toEqual([first.metadata.uid, second.metadata.uid])
        expect(vcenter.vms, method).toEqual([])
      }
    },
  )

  // Minutes pass in it.
  test.runIf(isInProcess)(
    'does not go while a clone whose answer was lost may come, and takes it along when it comes late',
    async () => {
      const site = await aSite()
      const { world, vcenter } = site
      vcenter.taskMs = 300_000
      vcenter.losesAnswer = once('CloneVM_Task')
      const pool = await world.create(aMachinePool())
      const machine = await world.create(aVM([aDevice(pool)]))
      await says(site, machine, 'MachineCreation', { reason: 'OrderUnanswered' })
      await world.delete(machine)
      await world.idle(200_000)
      expect(vcenter.vms).toEqual([])
      expect(await world.get(machine)).toBeDefined()
      expect(await world.get(claimOf(machine))).toBeDefined()
      vcenter.taskMs = 500
      await goes(site, machine)
      expect(vcenter.cloned).toEqual([machine.metadata.uid])
      expect(vcenter.destroyed).toEqual([machine.metadata.uid])
      await holdsBecome(world, pool, 0)
    },
  )

  // Minutes pass in it.
  test.runIf(isInProcess)(
    'has one virtual machine where the process dies before any of its writes, and another takes over',
    async () => {
      const site = await aSite()
      const { world, vcenter, desks } = site
      let { desk } = world
      const pool = await world.create(aMachinePool({ addresses: ['192.168.101.10-192.168.101.99'] }))
      const uids: string[] = []
      const writesOf = async (nth: number) => {
        let seen = 0
        desk.killBefore(({ method, path }) => method !== 'GET' && path.includes('/machines/') && ++seen === nth)
        const machine = await world.create(aVM([aDevice(pool)]))
        uids.push(machine.metadata.uid ?? '')
        await world.idle(20_000)
        await desk.kill()
        desk = await world.anotherDesk(desks)
        return machine
      }
      const machines: Stored[] = []
      for (let nth = 1; nth <= 8; nth++) machines.push(await writesOf(nth))
      for (const machine of machines) await runs(site, machine)
      expect(new Set(vcenter.cloned)).toEqual(new Set(uids))
      expect(vcenter.cloned).toHaveLength(uids.length)
      for (const [nth, machine] of machines.entries()) {
        let seen = 0
        desk.killBefore(
          ({ method, path }) => method !== 'GET' && /machines|ipaddressclaims/.test(path) && ++seen === nth + 1,
        )
        await world.delete(machine)
        await world.idle(10_000)
        await desk.kill()
        desk = await world.anotherDesk(desks)
      }
      for (const machine of machines) await goes(site, machine)
      expect(vcenter.vms).toEqual([])
      expect(vcenter.destroyed).toHaveLength(uids.length)
      await holdsBecome(world, pool, 0)
    },
  )

  test('has one virtual machine where two processes work at once', async () => {
    const site = await aSite()
    const { world, vcenter, desks } = site
    await world.anotherDesk(desks)
    const pool = await world.create(aMachinePool())
    const machines = await Promise.all([1, 2, 3].map(() => world.create(aVM([aDevice(pool)]))))
    for (const machine of machines) await runs(site, machine)
    expect(vcenter.cloned).toHaveLength(3)
    expect(machines.map(machine => vmOf(site, machine)?.instanceUuid)).toEqual(
      machines.map(({ metadata }) => metadata.uid),
    )
    for (const machine of machines) await world.delete(machine)
    for (const machine of machines) await goes(site, machine)
    await holdsBecome(world, pool, 0)
  })
})

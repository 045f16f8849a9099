// What the author of a Machine, or of a set of Machines, is told when it is written.

import { describe, expect, test } from 'vitest'
import { aDevice, aMachine, aMachinePool, aProviderSpec, claimOf, isClaimed } from './openshift-machines.ts'
import { isServed } from './promises.ts'
import { aWorld, type Stored } from './world.ts'

describe('A Machine, or a set that makes Machines,', () => {
  test('is refused with every fault of its network at once, and a pool that is in use stays', async () => {
    const world = await aWorld({ hasWebhooks: true })
    const wrong = [{ ipAddrs: ['bad'], gateway4: '10.0.0.1' }]
    const told = /gateway4.*write gateway.*networkName must be provided.*invalid CIDR address: bad/
    await expect(world.create(aMachine(wrong))).rejects.toThrow(told)
    const spec = { providerSpec: { value: aProviderSpec(wrong) } }
    const metadata = { name: 'wrong' }
    const set = {
      apiVersion: 'machine.openshift.io/v1beta1',
      kind: 'MachineSet',
      metadata,
      spec: { template: { spec } },
    }
    await expect(world.create(set as Stored)).rejects.toThrow(told)
    const template = { machines_v1beta1_machine_openshift_io: { spec } }
    const control = {
      apiVersion: 'machine.openshift.io/v1',
      kind: 'ControlPlaneMachineSet',
      metadata,
      spec: { template },
    }
    await expect(world.create(control as Stored)).rejects.toThrow(/gateway4.*write gateway/)
    const pool = await world.create(aMachinePool())
    const machine = await world.create(aMachine([aDevice(pool)]))
    await isClaimed(world, machine)
    await isServed(world, claimOf(machine))
    await expect(world.delete(pool)).rejects.toThrow(/the pool is in use/)
    await expect(world.patch(pool, { spec: { addresses: ['192.168.101.12'] } })).rejects.toThrow(
      /pool addresses do not contain allocated addresses/,
    )
    await expect(world.create(aMachinePool({ gateway: 'fd00::1' }))).rejects.toThrow(/mixed IP families/)
    await expect(world.create(aMachinePool({ addresses: ['10.0.0.1', 'fd00::1'] }))).rejects.toThrow(
      /mixed IP families/,
    )
  })
})

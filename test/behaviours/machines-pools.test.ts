// IPPools of OpenShift, as Machines use them.

import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { aClaim } from './builders.ts'
import { nextName } from './machines.ts'
import {
  aDevice,
  aMachine,
  aMachinePool,
  anInstallerPool,
  claimOf,
  isClaimed,
  waitsWith,
} from './openshift-machines.ts'
import { holdsBecome, isServed, saysWhy } from './promises.ts'
import { aWorld, type Stored } from './world.ts'

/** As it is shipped, in the namespace of the test. */
function theSample(file: string): Stored {
  const sample = parse(readFileSync(`config/samples/machine/${file}.yaml`, 'utf8')) as Stored
  const { namespace: _, ...metadata } = sample.metadata
  return { ...sample, metadata }
}

describe('The samples', () => {
  test('make a pool, a Machine that has an address of it, and a set', async () => {
    const world = await aWorld({ hasWebhooks: true })
    for (const file of ['ippool', 'installer-ippool', 'machineset']) await world.create(theSample(file))
    const machine = await world.create(theSample('machine'))
    await isClaimed(world, machine)
    await isServed(world, claimOf(machine), '192.168.101.64')
  })
})

describe('An IPPool of Machines', () => {
  test('of eight addresses gives out all but the first, the last and the gateway; its status counts them, and the next Machine says that it is exhausted', async () => {
    const world = await aWorld()
    const pool = await world.create(
      aMachinePool({ addresses: ['192.168.101.248/29'], prefix: 29, gateway: '192.168.101.249' }),
    )
    const machines: Stored[] = []
    for (let i = 0; i < 5; i++) machines.push(await world.create(aMachine([aDevice(pool)])))
    for (const machine of machines) await isClaimed(world, machine)
    const addresses = await Promise.all(machines.map(machine => isServed(world, claimOf(machine))))
    expect(addresses.toSorted()).toEqual([250, 251, 252, 253, 254].map(last => `192.168.101.${last}`))
    const next = await world.create(aMachine([aDevice(pool)]))
    await waitsWith(world, next, /PoolExhausted/)
    await world.eventually(async () => {
      const { status } = (await world.get(pool)) as Stored
      expect(status.addresses).toMatchObject({ total: 5, held: 5, free: 0, outOfRange: 0 })
    })
    const report = (await world.report(claimOf(machines[0] as Stored))) as Stored
    expect(report.spec).toMatchObject({ prefix: 29, gateway: '192.168.101.249' })
    await world.delete(machines[0] as Stored)
    await isClaimed(world, next)
  })

  test('is another one than that of the same name in another group, and each has its own addresses', async () => {
    const world = await aWorld()
    const name = nextName('pool')
    const [one, other] = [
      await world.create(aMachinePool({ addresses: ['10.7.0.5'] }, undefined, name)),
      await world.create(anInstallerPool({ addresses: ['10.8.0.5'] }, name)),
    ]
    await isServed(world, await world.create(aClaim().on(one)), '10.7.0.5')
    await isServed(world, await world.create(aClaim().on(other)), '10.8.0.5')
    await saysWhy(world, await world.create(aClaim().on(one)), 'PoolExhausted')
  })

  test('that lists what another one does says so, and in one space gives each address once', async () => {
    const world = await aWorld()
    const space = nextName('vlan')
    const range = { addresses: ['192.168.101.10-192.168.101.11'] }
    const [one, other] = [
      await world.create(aMachinePool({ ...range, space })),
      await world.create(aMachinePool({ ...range, space })),
    ]
    const apart = await world.create(aMachinePool(range))
    await world.eventually(async () => {
      const { status } = (await world.get(apart)) as Stored
      const said = status.conditions.find(({ type }: { type: string }) => type === 'Overlapping')
      expect(said).toMatchObject({ status: 'True' })
    })
    const machines = [await world.create(aMachine([aDevice(one)])), await world.create(aMachine([aDevice(other)]))]
    for (const machine of machines) await isClaimed(world, machine)
    const addresses = await Promise.all(machines.map(machine => isServed(world, claimOf(machine))))
    expect(new Set(addresses).size).toBe(2)
    await holdsBecome(world, one, 1)
  })

  test('that is being deleted stays while a Machine has an address of it', async () => {
    const world = await aWorld()
    const pool = await world.create(aMachinePool())
    const machine = await world.create(aMachine([aDevice(pool)]))
    await isClaimed(world, machine)
    await world.delete(pool)
    await world.always(async () => expect(await world.get(pool)).toBeDefined())
    await world.delete(machine)
    await world.eventually(async () => expect(await world.get(pool)).toBeUndefined())
  })
})

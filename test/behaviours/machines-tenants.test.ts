// What a user of a namespace can write to Machines, claims and IPPools, and what that cannot do to other machines.

import { describe, expect, test } from 'vitest'
import { aClaim } from './builders.ts'
import { ownerOf } from './machines.ts'
import {
  aDevice,
  aMachine,
  aMachinePool,
  claimOf,
  from,
  isClaimed,
  isOrdered,
  machineFinalizer,
  protection,
  saidBy,
  waitsWith,
} from './openshift-machines.ts'
import { holdsBecome, isGone, isServed, staysUnserved } from './promises.ts'
import { aWorld, type Stored, type World } from './world.ts'

async function aVictim(world: World) {
  const pool = await world.create(aMachinePool())
  const machine = await world.create(aMachine([aDevice(pool)], { finalizers: [machineFinalizer] }))
  await isClaimed(world, machine)
  await isOrdered(world, machine)
  return { pool, machine }
}

describe('A Machine', () => {
  test('gets nothing from a pool of another namespace by its name, and says that there is none beside it', async () => {
    const world = await aWorld()
    const { pool } = await aVictim(world)
    const other = await world.anotherNamespace()
    const machine = await world.create(aMachine([aDevice(pool)], { namespace: other }))
    await waitsWith(
      world,
      machine,
      new RegExp(`IPPool ${other}/${pool.metadata.name} of machine.openshift.io does not exist`),
    )
    await staysUnserved(world, claimOf(machine))
    await holdsBecome(world, pool, 1)
  })

  test('that says it ran with the address of another one gets that address neither by its annotation nor by a claim made anew', async () => {
    const world = await aWorld()
    const { pool, machine } = await aVictim(world)
    const thief = await world.create(aMachine([aDevice(pool)]))
    await isClaimed(world, thief)
    await isOrdered(world, thief)
    const text = `${claimOf(thief).metadata.name}=192.168.101.10/24`
    await world.patch(thief, { metadata: { annotations: { 'mooring.dev/claimed-addresses': text } } })
    await waitsWith(world, thief, /and was to 192\.168\.101\.10\/24/, 'IPAddressDrifted')
    await world.delete(claimOf(thief))
    await world.patch(claimOf(thief), { metadata: { finalizers: null } })
    await waitsWith(world, thief, /AllocationFailed: 192\.168\.101\.10 is held by/)
    await isServed(world, claimOf(machine), '192.168.101.10')
  })

  test('of a user who writes nonsense to its annotation goes on as if it said nothing', async () => {
    const world = await aWorld()
    const pool = await world.create(aMachinePool())
    const annotations = {
      'mooring.dev/claimed-addresses': `=,=${','.repeat(5_000)}x=10.0.0.1/99, __proto__=10.0.0.1/24`,
    }
    const machine = await world.create(aMachine([aDevice(pool)], { annotations }))
    const claimed = await isClaimed(world, machine)
    expect(claimed.metadata.annotations?.['mooring.dev/claimed-addresses']).toBe(
      `${claimOf(machine).metadata.name}=192.168.101.10/24`,
    )
  })

  test('with a claim that waits does not keep another one from being served', async () => {
    const world = await aWorld()
    const pool = await world.create(aMachinePool({ addresses: ['192.168.101.10'] }))
    const nowhere = { group: 'example.org', resource: 'Elsewhere', name: 'e' }
    const first = await world.create(aMachine([{ networkName: 'lab', addressesFromPools: [nowhere] }]))
    await waitsWith(world, first, /no provider of Elsewhere e of example\.org/)
    const second = await world.create(aMachine([aDevice(pool)]))
    await isClaimed(world, second)
  })
})

describe('A claim that a user makes', () => {
  const forging = (machine: Stored, pool: Stored) =>
    aClaim()
      .on({ ...pool, metadata: { name: from(pool).name as string } })
      .ownedBy({ ...machine, ...ownerOf(machine) } as Stored)
      .guardedBy(protection)

  test('in the name of a Machine, by a forged owner reference, is not the claim of the Machine, and goes with it', async () => {
    const world = await aWorld()
    const { pool, machine } = await aVictim(world)
    const forged = await world.create(forging(machine, pool))
    await isServed(world, forged)
    await world.always(async () => expect(saidBy(await world.get(machine))).toMatchObject({ status: 'True' }))
    await isServed(world, claimOf(machine), '192.168.101.10')
    await world.delete(machine)
    await world.patch(machine, { metadata: { finalizers: null } })
    await isGone(world, forged)
    await isGone(world, claimOf(machine))
    await holdsBecome(world, pool, 0)
  })

  test('in the name of a Machine of another namespace moves nothing there, whatever becomes of it', async () => {
    const world = await aWorld()
    const { pool, machine } = await aVictim(world)
    const other = await world.anotherNamespace()
    const own = await world.create({
      ...aMachinePool(),
      metadata: { name: pool.metadata.name, namespace: other },
    } as Stored)
    const name = claimOf(machine).metadata.name ?? ''
    const forged = await world.create(forging(machine, own).named(name).in(other))
    const before = (await world.get(claimOf(machine))) as Stored
    await isGone(world, forged)
    expect((await world.get(claimOf(machine)))?.metadata).toEqual(before.metadata)
    expect(saidBy(await world.get(machine))?.status).toBe('True')
  })

  test('under the name that a Machine will ask for, in a pool of its own, keeps the Machine waiting and is named', async () => {
    const world = await aWorld()
    const [pool, other] = [await world.create(aMachinePool()), await world.create(aMachinePool())]
    const machine = aMachine([aDevice(pool)])
    await world.create(
      aClaim()
        .named(claimOf(machine).metadata.name ?? '')
        .on(other),
    )
    const stored = await world.create(machine)
    await waitsWith(world, stored, /it names IPPool /)
    await holdsBecome(world, pool, 0)
  })
})

// The ledger counts what every installed kind shows to have, whichever desks are on.

import { expect, test } from 'vitest'
import { aClaim, anAddressFor } from '../behaviours/builders.ts'
import { staysUnserved } from '../behaviours/promises.ts'
import { aWorld } from '../behaviours/world.ts'
import { aBerth, aNetwork, aPoolIn, isServed } from './builders.ts'
import { desksWithToy } from './desks.ts'

test('with the capi desk off, an address that an IPAddress shows in a shared space is given to no berth', async () => {
  const world = await aWorld({ desks: desksWithToy, on: ['toy'] })
  const network = await world.create(aNetwork())
  const pool = await world.create(aPoolIn(network, { addresses: ['10.9.0.2-10.9.0.14'] }))
  // The lowest that the network has to give, in use without a hold: made by hand, or by another provider.
  const shown = await world.create(anAddressFor(aClaim().named('by-hand').on(pool), '10.9.0.2'))
  await world.heard(shown)
  const berth = await world.create(aBerth(network))
  expect((await isServed(world, berth)).addresses).toEqual(['10.9.0.3', 'fd00:9::2'])
})

test('with the capi desk off, its claims wait, and what it gave before stays where it was', async () => {
  const world = await aWorld({ desks: desksWithToy })
  const network = await world.create(aNetwork())
  const pool = await world.create(aPoolIn(network, { addresses: ['10.9.0.2-10.9.0.14'] }))
  const early = await world.create(aClaim().on(pool))
  await world.eventually(async () => expect((await world.report(early))?.spec.address).toBe('10.9.0.2'))
  await world.desk.stop()
  await world.anotherDesk({ desks: desksWithToy, on: ['toy'] })
  const late = await world.create(aClaim().on(pool))
  const berth = await world.create(aBerth(network))
  expect((await isServed(world, berth)).addresses).toEqual(['10.9.0.3', 'fd00:9::2'])
  await staysUnserved(world, late)
})

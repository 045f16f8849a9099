// What a preflight says comes true: the desks then do what was foretold, to the last address, and say it in the same words. They are the shipped ones, on the API
// server of the product in one process.

import { expect, test } from 'vitest'
import { listWorld } from '../../src/controllers/capi/listed.ts'
import { machines } from '../../src/controllers/machine/kinds.ts'
import { everything } from '../../src/controllers/office/scope.ts'
import { fleetOf } from '../../src/machines/fleet.ts'
import { preflight } from '../../src/machines/preflight.ts'
import { nextName } from '../behaviours/machines.ts'
import {
  aDevice,
  aMachine,
  aMachinePool,
  aProviderSpec,
  claimOf,
  saidBy,
  waitsWith,
} from '../behaviours/openshift-machines.ts'
import { isGone, isServed } from '../behaviours/promises.ts'
import { aWorld, type Stored, type World } from '../behaviours/world.ts'

async function foretold(world: World, pool: Stored, replicas: number) {
  const name = nextName('set')
  const set = {
    apiVersion: 'machine.openshift.io/v1beta1',
    kind: 'MachineSet',
    metadata: { name, namespace: world.home, uid: name },
    spec: {
      replicas,
      selector: { matchLabels: { set: name } },
      template: { metadata: {}, spec: { providerSpec: { value: aProviderSpec([aDevice(pool)]) } } },
    },
  }
  const result = preflight(
    fleetOf({
      namespace: world.home,
      machines: await world.list(machines),
      machineSets: [set],
      controlPlanes: [],
      listed: await listWorld(world.client, everything),
    }),
    { scale: new Map(), rollOut: [] },
    world.clock.now(),
  )
  if ('unknown' in result) throw new Error('the set is there')
  return result.orders[0]?.pools[0]
}

test.each<[string, object, number]>([
  ['a pool that runs dry', {}, 4],
  ['a quota', { quota: { perNamespace: 3 } }, 2],
  ['reservations and what is drained', { preAllocations: { x: '192.168.101.12' }, draining: ['192.168.101.13'] }, 2],
  ['a limit on what may rest', { quarantineSeconds: 600, quota: { perNamespaceQuarantined: 0 } }, 0],
])('Machines stall where it was said, by %s', async (_, spec, gets) => {
  const world = await aWorld()
  const pool = await world.create(aMachinePool({ addresses: ['192.168.101.10-192.168.101.14'], ...spec }))
  const first = await world.create(aMachine([aDevice(pool)]))
  const second = await world.create(aMachine([aDevice(pool)]))
  await isServed(world, claimOf(first), '192.168.101.10')
  await isServed(world, claimOf(second), '192.168.101.11')
  await world.delete(second)
  await isGone(world, claimOf(second))

  const need = await foretold(world, pool, 6)
  expect(need).toMatchObject({ needs: 6, gets, stallsAt: gets + 1 })

  for (let n = 1; n <= 6; n++) {
    const machine = await world.create(aMachine([aDevice(pool)]))
    if (n <= gets) await isServed(world, claimOf(machine))
    else expect(saidBy(await waitsWith(world, machine, /to be bound: .+: /))?.message).toContain(need?.message)
  }
})

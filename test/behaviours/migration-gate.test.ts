// The gate: no live migration begins while KubeVirt restarts, whichever client asks for it; those that run are left alone.

import { describe, expect, test } from 'vitest'
import { kubeVirts, migrations } from './kinds.ts'
import { aFleet, aMigration, aValue, type Fleet, kubeVirtHome } from './migration-fleet.ts'

const named = { namespace: kubeVirtHome, name: 'kubevirt' }

function say({ world }: Fleet, status: object) {
  return world.client.mergePatch(kubeVirts, named, { status }, { subresource: 'status' })
}

const available = (status: string, reason: string) => ({ conditions: [{ type: 'Available', status, reason }] })

/** A server learns of a change a moment after it was made. */
const refuses = (fleet: Fleet, why: RegExp) =>
  fleet.world.eventually(async () => {
    const name = `m-${Math.random().toString(36).slice(2, 8)}`
    await expect(fleet.world.create(aMigration(name))).rejects.toThrow(why)
  })

const lets = (fleet: Fleet) =>
  fleet.world.eventually(() => fleet.world.create(aMigration(`m-${Math.random().toString(36).slice(2, 8)}`)))

describe('A VirtualMachineInstanceMigration', () => {
  test('is refused while KubeVirt is not available with all components ready, of its present generation', async () => {
    const fleet = await aFleet({ hasOperator: false, hasWebhooks: true })
    const { generation = 0 } = (await fleet.kubeVirt()).metadata
    await refuses(fleet, /KubeVirt is not ready: .*it does not say whether it is available/)
    await say(fleet, available('False', 'DeploymentInProgress'))
    await refuses(fleet, /KubeVirt is not ready: .*it is not available, with reason DeploymentInProgress/)
    await say(fleet, available('False', 'AllComponentsReady'))
    await refuses(fleet, /KubeVirt is not ready: .*it is not available/)
    await say(fleet, available('True', 'UpdateInProgress'))
    await refuses(fleet, /KubeVirt is not ready: .*it is available, with reason UpdateInProgress/)
    await say(fleet, available('True', 'AllComponentsReady'))
    await refuses(fleet, /KubeVirt is not ready: .*has not taken in the last change yet/)
    await say(fleet, { observedGeneration: generation })
    await lets(fleet)
    await fleet.world.client.mergePatch(kubeVirts, named, { spec: { configuration: { migrations: { network: 'x' } } } })
    await refuses(fleet, /has not taken in the last change yet \(generation 2, observed 1\)/)
    await fleet.world.client.delete(kubeVirts, named)
    await refuses(fleet, /KubeVirt is not ready: there is no KubeVirt object/)
  })

  test('that runs is not touched by a change of the network, and no new one begins until the change is made', async () => {
    const fleet = await aFleet({ hasWebhooks: true })
    const { world } = fleet
    await fleet.set(aValue({ clusterNetwork: 'mgmt' }))
    await fleet.works()
    const running = await world.create(aMigration('runs'))
    await world.patch(running, { status: { phase: 'Running' } }, 'status')
    await world.heard(running)
    await fleet.set('')
    await fleet.says({ reason: 'WaitingForMigrations' })
    await refuses(fleet, /the migration network is about to change, by Setting vm-migration-network/)
    expect(await world.client.get(migrations, { namespace: world.home, name: 'runs' })).toMatchObject({
      status: { phase: 'Running' },
    })
    await world.patch(running, { status: { phase: 'Succeeded' } }, 'status')
    await fleet.says({ status: 'True', message: '3 of 3 nodes migrate over the management network' })
    await lets(fleet)
  })
})

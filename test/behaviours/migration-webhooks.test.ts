// What the author of a migration network is told when it is written, and what stays while it is in use.

import { describe, expect, test } from 'vitest'
import {
  attachments,
  clusterNetworks,
  migrationNetworks,
  vlanConfigs,
  vlanStatuses,
} from '../../src/controllers/migration/kinds.ts'
import { kubeVirts, settings } from './kinds.ts'
import { aFleet, kubeVirtHome, settingName } from './migration-fleet.ts'
import type { Stored } from './world.ts'

const onManagement = (more: object = {}) => ({ clusterNetwork: 'mgmt', vlan: 100, range: '10.1.2.0/24', ...more })

describe('The setting vm-migration-network, where webhooks are asked,', () => {
  test('is refused with all that is wrong at once, each with the pointer and what to write instead; and is never deleted', async () => {
    const fleet = await aFleet({ hasWebhooks: true })
    const wrong = { clusterNetwork: 'nowhere', vlan: 5000, range: '10.1.2.1/24', exclude: ['x'] }
    await expect(fleet.set(wrong)).rejects.toMatchObject({
      code: 422,
      causes: [
        {
          field: 'value',
          message: expect.stringContaining('/vlan: the valid value range for VLAN IDs is 0 to 4094: '),
        },
        { field: 'value', message: expect.stringContaining('/range: range should be subnet CIDR 10.1.2.0/24: ') },
        { field: 'value', message: expect.stringContaining('/exclude/0: invalid CIDR address: x: ') },
        {
          field: 'value',
          message: expect.stringContaining('/clusterNetwork: cluster network nowhere not found because '),
        },
      ],
    })
    await expect(fleet.set(onManagement({ exclude_ips: [] }))).rejects.toThrow(
      /unknown field "exclude_ips": write exclude/,
    )
    await expect(fleet.set(onManagement({ range: '10.1.2.0/30' }))).rejects.toThrow(
      /allocatable IP address range is < 3/,
    )
    await expect(fleet.world.client.delete(settings, { name: settingName })).rejects.toMatchObject({ code: 405 })
    await fleet.set('')
  })

  test('is not changed while the last change is under way, except back', async () => {
    const fleet = await aFleet({ hasWebhooks: true })
    await fleet.set(onManagement())
    await fleet.says({ reason: 'InProgress' })
    await expect(fleet.set(onManagement({ vlan: 200 }))).rejects.toMatchObject({ code: 409 })
    await fleet.set('')
    await fleet.says({ status: 'True' })
    expect(await fleet.attachments()).toEqual([])
  })

  test('keeps what it stands on while it is in use: its NetworkAttachmentDefinition, the VlanConfig under it, and machines off it', async () => {
    const fleet = await aFleet({ hasWebhooks: true })
    const { client } = fleet.world
    const api = { apiVersion: 'network.harvesterhci.io/v1beta1' }
    const names = ['node-1', 'node-2', 'node-3']
    const labels = { 'network.harvesterhci.io/clusternetwork': 'migration' }
    const annotations = { 'network.harvesterhci.io/matched-nodes': JSON.stringify(names) }
    const metadata = { name: 'migration' }
    await client.create(clusterNetworks, { ...api, kind: 'ClusterNetwork', metadata })
    await client.create(vlanConfigs, { ...api, kind: 'VlanConfig', metadata: { ...metadata, labels, annotations } })
    const value = { ...onManagement(), clusterNetwork: 'migration' }
    await fleet.world.eventually(async () => {
      await expect(fleet.set(value)).rejects.toThrow(/vlan status not present for cluster network migration/)
    })
    for (const node of names) {
      const status = { node, conditions: [{ type: 'ready', status: 'True' }] }
      const ref = { name: `migration-${node}` }
      await client.create(vlanStatuses, { ...api, kind: 'VlanStatus', metadata: { ...ref, labels } })
      await client.mergePatch(vlanStatuses, ref, { status }, { subresource: 'status' })
    }
    await fleet.world.eventually(() => fleet.set(value))
    const network = await fleet.works()
    const ref = { namespace: kubeVirtHome, name: network }
    await expect(client.delete(attachments, ref)).rejects.toThrow(
      /which is used by Harvester setting vm-migration-network/,
    )
    await expect(client.delete(vlanConfigs, metadata)).rejects.toThrow(/is still attached, on node-1, node-2, node-3/)
    const networks = [{ name: 'a', multus: { networkName: `${kubeVirtHome}/${network}` } }]
    const template = { spec: { domain: { devices: { interfaces: [{ name: 'a', bridge: {} }] } }, networks } }
    const machine = {
      apiVersion: 'kubevirt.io/v1',
      kind: 'VirtualMachine',
      metadata: { name: 'web' },
      spec: { runStrategy: 'Halted', template },
    }
    await expect(fleet.world.create(machine as Stored)).rejects.toThrow(
      /is the network of live migrations, and its addresses are for nodes/,
    )
    await fleet.set('')
    await fleet.says({ status: 'True' })
    await client.delete(vlanConfigs, metadata)
    for (const node of names) await client.delete(vlanStatuses, { name: `migration-${node}` })
    await client.delete(clusterNetworks, metadata)
  })
})

describe('A MigrationNetwork, where webhooks are asked,', () => {
  const object = (spec: object, name = settingName): Stored =>
    ({ apiVersion: 'mooring.dev/v1alpha1', kind: 'MigrationNetwork', metadata: { name }, spec }) as Stored

  test('is the only one, and is told what is wrong by field', async () => {
    const { world } = await aFleet({ hasWebhooks: true })
    const good = { bridge: 'br0', range: '10.1.2.0/24' }
    await expect(world.client.create(migrationNetworks, object(good, 'other'))).rejects.toThrow(
      /one MigrationNetwork, which is called vm-migration-network/,
    )
    await expect(world.client.create(migrationNetworks, object({ ...good, parent: 'eth1' }))).rejects.toThrow(
      /either bridge or parent/,
    )
    await expect(world.client.create(migrationNetworks, object({ ...good, range: '10.1.2.0/30' }))).rejects.toThrow(
      /spec\.range: Invalid value: "10\.1\.2\.0\/30": allocatable IP address range is < 3/,
    )
    expect(await world.client.get(kubeVirts, { namespace: kubeVirtHome, name: 'kubevirt' })).toBeDefined()
  })
})

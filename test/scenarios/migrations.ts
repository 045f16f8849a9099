// Stories of the network over which virtual machines migrate: how it is set, changed, spoilt and taken back.

import type { Scenario } from './scenario.ts'

export const migrationScenarios: readonly Scenario[] = [
  {
    name: 'S37: a migration network is set, changed, and taken back',
    needsPatience: true,
    async play(people) {
      await people.makeFleet('node-1', 'node-2')
      await people.setMigrationNetwork({ vlan: 100 })
      await people.untilConfigured(100)
      await people.setMigrationNetwork({ vlan: 200 })
      await people.untilConfigured(200)
      await people.setMigrationNetwork(undefined)
      await people.untilConfigured(undefined)
    },
  },
  {
    name: 'S37: a migration network with addresses of Mooring changes, a node joins, and a user spoils it',
    needsPatience: true,
    async play(people) {
      await people.makeFleet('node-1', 'node-2')
      await people.setMigrationNetwork({ vlan: 100, ipam: 'mooring' })
      await people.untilConfigured(100)
      await people.addNode('node-3')
      await people.setMigrationNetwork({ vlan: 200, ipam: 'mooring' })
      await people.untilConfigured(200)
      await people.spoilMigrationNetwork()
      await people.untilConfigured(200)
    },
  },
  {
    name: 'S37: a node joins while one family of a migration network is used up, and gets both when there is more',
    needsPatience: true,
    async play(people) {
      const value = { vlan: 100, ipam: 'mooring', rangeV6: 'fd00:1::/64', rangeV6Start: 'fd00:1::10' }
      await people.makeFleet('node-1', 'node-2')
      await people.setMigrationNetwork({ ...value, rangeV6End: 'fd00:1::11' })
      await people.untilConfigured(100)
      await people.addNode('node-3')
      await people.untilUnaddressed('node-3')
      await people.setMigrationNetwork({ ...value, rangeV6End: 'fd00:1::1f' })
      await people.untilConfigured(100)
    },
  },
]

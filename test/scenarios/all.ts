// Every scenario, for suites that play them all.

import { toyScenarios } from '../toy-desk/scenarios.ts'
import { claimScenarios } from './claims.ts'
import { importScenarios } from './imports.ts'
import { machineScenarios } from './machines.ts'
import { migrationScenarios } from './migrations.ts'
import { nodeScenarios } from './nodes.ts'
import { orderScenarios } from './orders.ts'
import { poolScenarios } from './pools.ts'
import type { Scenario } from './scenario.ts'

export const scenarios: readonly Scenario[] = [
  ...concerning(['capi'], [...claimScenarios, ...poolScenarios]),
  ...concerning(['vm', 'import'], [...machineScenarios, ...importScenarios, ...nodeScenarios]),
  ...concerning(['capi', 'machine'], orderScenarios),
  ...concerning(['migration'], migrationScenarios),
  ...toyScenarios,
]

function concerning(desks: readonly string[], of: readonly Scenario[]): readonly Scenario[] {
  return of.map(scenario => ({ ...scenario, concerns: desks }))
}

// Every scenario, for suites that play them all.

import { toyScenarios } from '../toy-desk/scenarios.ts'
import { claimScenarios } from './claims.ts'
import { poolScenarios } from './pools.ts'
import type { Scenario } from './scenario.ts'

export const scenarios: readonly Scenario[] = [...claimScenarios, ...poolScenarios, ...toyScenarios]

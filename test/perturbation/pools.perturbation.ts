// All plans for all scenarios about pools.

import { poolScenarios } from '../scenarios/pools.ts'
import { perturb } from './perturb.ts'

perturb(poolScenarios)

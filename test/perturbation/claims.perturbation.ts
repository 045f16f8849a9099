// All plans for all scenarios about claims.

import { claimScenarios } from '../scenarios/claims.ts'
import { perturb } from './perturb.ts'

perturb(claimScenarios)

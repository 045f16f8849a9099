// All scenarios, in the order they run. Discovery comes first: it lists what a new server holds.

import type { Scenario } from './scenario.ts'
import { applying } from './scenarios/applying.ts'
import { authorising } from './scenarios/authorising.ts'
import { changing } from './scenarios/changing.ts'
import { creating } from './scenarios/creating.ts'
import { deleting } from './scenarios/deleting.ts'
import { describing } from './scenarios/describing.ts'
import { discovering } from './scenarios/discovering.ts'
import { getting } from './scenarios/getting.ts'
import { operating } from './scenarios/operating.ts'

export const scenarios: readonly Scenario[] = [
  ...discovering,
  ...getting,
  ...applying,
  ...changing,
  ...creating,
  ...deleting,
  ...describing,
  ...operating,
  ...authorising,
]

// What the reconciler of virtual machines knows and may touch, besides what the desk has for all of its reconcilers.

import type { Random } from '../../../runtime/random.ts'
import type { Sources } from '../../office/sources.ts'
import type { VCenters } from '../../office/vcenters.ts'
import type { MachineWorld } from '../world.ts'
import type { Sessions } from './sessions.ts'

export interface VMsWorld extends MachineWorld {
  readonly random: Random
  readonly sessions: Sessions
  readonly vcenters: VCenters
  readonly sources: Pick<Sources, 'poolsOf'>
}

/** What is remembered of each Machine between passes; a process that starts anew does without. */
export interface Remembered {
  /** How often in a row it was only waited for. */
  waits: number
  /** Since when its guest has not reported what it was given. */
  missingSinceMs: number | undefined
}

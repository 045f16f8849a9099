// berth.binding, the way out - everything that a berth has goes to rest before the berth does.
//
// Writes:  T10 for every hold, then T11. A pass that is cut between two of them is done again from the beginning; a hold that
//          is missed is a stray, and is put to rest by the office.

import { askAllHoldsOf } from '../../src/controllers/office/hold/of-claim.ts'
import { restSecondsOf } from '../../src/controllers/office/hold/quarantine.ts'
import { type AnyHold, quarantineHold } from '../../src/controllers/office/hold/steps.ts'
import { isMalformed } from '../../src/ip/malformed.ts'
import { done, type PassResult } from '../../src/runtime/reconciler.ts'
import type { Seen } from './observe.ts'
import { unguard } from './steps.ts'
import type { ToyWorld } from './world.ts'

export async function releaseBerth(seen: Seen, world: ToyWorld): Promise<PassResult> {
  const { berth } = seen
  for (const hold of await holdsToRest(seen, world)) {
    if (hold.state === 'held') await quarantineHold(world, hold, restSecondsOf(hold, world))
  }
  await unguard(world, berth)
  world.note({ what: 'released', claim: berth.metadata, pool: berth.network })
  return done()
}

/** What is in view, if every part of the choice is; else what the API server has. */
async function holdsToRest({ berth, held }: Seen, world: ToyWorld): Promise<readonly AnyHold[]> {
  const parts = isMalformed(berth.choice) ? [] : Object.keys(berth.choice ?? {})
  const isWhole = parts.length > 0 && parts.every(part => held.some(({ claim }) => claim.part === part))
  return isWhole ? held : askAllHoldsOf(berth.metadata.uid, world)
}

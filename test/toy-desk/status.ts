// What a berth says of itself: one condition, `Ready`, with a sentence that says what to do. Said once: the same again is no
// write.

import { type Condition, setCondition } from '../../src/api/condition.ts'
import { readyCondition } from '../../src/api/names.ts'
import type { Refusal } from '../../src/ipam/refusal.ts'
import { timestamp } from '../../src/kube/timestamp.ts'
import { done, type PassResult, requeueAfter } from '../../src/runtime/reconciler.ts'
import type { Berth, Choice } from './parsed.ts'
import { isSameChoice } from './plan.ts'
import { sayGivesBack, sayServed, sayWaits } from './steps.ts'
import { keyOfBerth, type ToyWorld } from './world.ts'

/** T7. */
export async function tellServed(world: ToyWorld, berth: Berth, choice: Choice): Promise<void> {
  const message = `it has ${Object.values(choice).join(', ')}`
  const conditions = conditionsWith(world, berth, 'True', 'Served', message)
  if (conditions === berth.conditions && isSameChoice(berth.shown, choice)) return
  await sayServed(world, berth, choice, conditions)
  event(world, berth, 'Normal', 'Served', message)
}

/** T15. */
export async function tellGivesBack(world: ToyWorld, berth: Berth, { reason, message }: Refusal): Promise<void> {
  await sayGivesBack(world, berth, conditionsWith(world, berth, 'False', reason, message))
}

export async function tellWaits(world: ToyWorld, berth: Berth, { reason, message }: Refusal): Promise<PassResult> {
  const conditions = conditionsWith(world, berth, 'False', reason, message)
  if (conditions === berth.conditions) return done()
  // A second process may see it differently, and overwrite what is said here: by the time this insists, one knows better.
  const word = `${berth.metadata.uid} ${message}`
  const patienceMs = world.recentRefusals.msUntil(word, world.clock.monotonicMs())
  if (patienceMs > 0) return requeueAfter(patienceMs)
  await sayWaits(world, berth, conditions)
  world.recentRefusals.add(word, world.clock.monotonicMs())
  event(world, berth, 'Warning', reason, message)
  world.note({ what: 'waiting', claim: berth.metadata, pool: berth.network, reason, message })
  return done()
}

function conditionsWith(
  { clock }: ToyWorld,
  { conditions, metadata }: Berth,
  status: 'True' | 'False',
  reason: string,
  message: string,
): readonly Condition[] {
  const fact = { type: readyCondition, status, reason, message, observedGeneration: metadata.generation }
  return setCondition(conditions, fact, timestamp(clock))
}

function event(world: ToyWorld, berth: Berth, type: 'Normal' | 'Warning', reason: string, note: string): void {
  const about = world.caches.berths.get(keyOfBerth(berth))
  if (about !== undefined) world.recorder.event({ about, type, reason, action: 'Bind', note })
}

// One pass about one Machine: what it may use, and how it ends. A pass that only waits comes again soon, then later; one that needs
// a person to act says why, once, and comes again later still.

import type { ConditionFact } from '../../../api/condition.ts'
import type { Machine } from '../../../api/machine.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { backoffMs } from '../../../runtime/backoff.ts'
import { type Pass, type PassResult, requeueAfter } from '../../../runtime/reconciler.ts'
import { machines } from '../kinds.ts'
import { type Said, say } from './steps.ts'
import type { Remembered, VMsWorld } from './world.ts'

export interface Turn extends VMsWorld {
  readonly pass: Pass
  readonly remembered: Remembered
}

/** Of what a person has to know. */
export interface Why {
  readonly reason: string
  readonly message: string
}

/** Of tasks that run. */
const polls = { firstMs: 250, maxMs: 5_000, factor: 1.5, jitter: 0.2 }

/** Of what a person, or time, has to put right. */
const retries = { firstMs: 2_000, maxMs: 60_000, factor: 2, jitter: 0.2 }

export const pollLater = (turn: Turn): PassResult => later(turn, polls)
export const retryLater = (turn: Turn): PassResult => later(turn, retries)

function later({ remembered, random }: Turn, backoff: typeof polls): PassResult {
  remembered.waits++
  return requeueAfter(backoffMs(remembered.waits, backoff, random))
}

/** Something was done: what follows is looked at soon. */
export function soon(turn: Turn): PassResult {
  turn.remembered.waits = 0
  return pollLater(turn)
}

/** A vCenter has taken an order. */
export const noteOrder = (turn: Turn, machine: Machine, order: string): void =>
  turn.note({ what: 'ordered', about: aboutOf(machine), order })

const aboutOf = ({ metadata: { namespace, name } }: Machine) => ({ kind: machines.kind, namespace, name })

/** Says in the status and by an event why it does not go on; what was said before is not said again. */
export async function complain(
  turn: Turn,
  machine: Machine,
  condition: string,
  why: Why,
  also: Omit<Said, 'facts'> = {},
): Promise<Machine> {
  const fact: ConditionFact = { type: condition, status: 'False', ...why }
  const before = machine.providerStatus.conditions.find(({ type }) => type === condition)
  const next = await say(turn, machine, { ...also, facts: [fact] })
  if (before?.message !== why.message) {
    turn.note({ what: 'told', about: aboutOf(machine), reason: why.reason, message: why.message })
    const about = next as Machine & KubeObject
    turn.recorder.event({ about, type: 'Warning', reason: why.reason, action: 'Reconcile', note: why.message })
  }
  return next
}

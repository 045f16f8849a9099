// Conditions, in the form all of Kubernetes shares. Setting one that says what is already there gives back the very same
// list, so a caller that compares before writing does not write; the transition time moves only when the status does.

import { shared } from './repeated.ts'
import { integerOf, oneOf, requiredText, type Shape, shapesOf, textOf } from './shape.ts'

export interface Condition {
  readonly type: string
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  readonly lastTransitionTime: string
  readonly observedGeneration?: number
}

/** A condition as it follows from what was seen; when it came about is for `setCondition` to find out. */
export type ConditionFact = Omit<Condition, 'lastTransitionTime'>

const statuses = ['True', 'False', 'Unknown'] as const

export function conditionsOf(shape: Shape, key: string): readonly Condition[] {
  return shapesOf(shape, key).map(condition => {
    const type = shared(requiredText(condition, 'type'))
    const status = oneOf(condition, 'status', statuses, 'Unknown')
    const reason = shared(textOf(condition, 'reason') ?? '')
    const message = textOf(condition, 'message') ?? ''
    const lastTransitionTime = shared(textOf(condition, 'lastTransitionTime') ?? '')
    const observedGeneration = integerOf(condition, 'observedGeneration', 0, Number.MAX_SAFE_INTEGER)
    if (observedGeneration === undefined) return { type, status, reason, message, lastTransitionTime }
    return { type, status, reason, message, lastTransitionTime, observedGeneration }
  })
}

/** `now` is RFC 3339 to the second. Conditions of other types stay as and where they are. */
export function setCondition(conditions: readonly Condition[], fact: ConditionFact, now: string): readonly Condition[] {
  const index = conditions.findIndex(({ type }) => type === fact.type)
  const before = conditions[index]
  if (before === undefined) return [...conditions, { ...fact, lastTransitionTime: now }]
  if (isSaid(before, fact)) return conditions
  const isMove = before.status !== fact.status || before.lastTransitionTime === ''
  return conditions.with(index, { ...fact, lastTransitionTime: isMove ? now : before.lastTransitionTime })
}

/** Whether it is there already: setting it would change nothing. */
export function hasCondition(conditions: readonly Condition[], fact: ConditionFact): boolean {
  const before = conditions.find(({ type }) => type === fact.type)
  return before !== undefined && isSaid(before, fact)
}

function isSaid(before: Condition, fact: ConditionFact): boolean {
  return (
    before.status === fact.status &&
    before.reason === fact.reason &&
    before.message === fact.message &&
    before.observedGeneration === fact.observedGeneration &&
    before.lastTransitionTime !== ''
  )
}

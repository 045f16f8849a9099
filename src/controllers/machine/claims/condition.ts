// One condition in a list that other programs write too: theirs stay as they stand there, with fields that Mooring does not know. The
// transition time moves with the status alone.

import type { ConditionFact } from '../../../api/condition.ts'
import { isRecord } from '../../../api/shape.ts'

/** The list to write; undefined where it says so already. `hasSeverity`: conditions of a Machine that are False have one. */
export function withCondition(
  conditions: readonly unknown[],
  fact: ConditionFact,
  now: string,
  hasSeverity: boolean,
): readonly unknown[] | undefined {
  const index = conditions.findIndex(one => isRecord(one) && one.type === fact.type)
  const before = conditions[index]
  const known = isRecord(before) ? before : {}
  const isSameStatus = known.status === fact.status && typeof known.lastTransitionTime === 'string'
  if (isSameStatus && known.reason === fact.reason && known.message === fact.message) return undefined
  const next = {
    ...fact,
    ...(hasSeverity && fact.status === 'False' && { severity: 'Info' }),
    lastTransitionTime: isSameStatus ? known.lastTransitionTime : now,
  }
  return index < 0 ? [...conditions, next] : conditions.with(index, next)
}

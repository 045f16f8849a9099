// Conditions as metav1 defines them. The time of transition changes only when the status does, so a condition that is
// computed anew on every pass and found the same causes no write. Ready comes first, because it is what people look for;
// conditions of others keep their place behind ours.

export type ConditionStatus = 'True' | 'False' | 'Unknown'

export interface Condition {
  readonly type: string
  readonly status: ConditionStatus
  readonly observedGeneration?: number
  /** RFC 3339, in seconds. */
  readonly lastTransitionTime: string
  /** A CamelCase fact. */
  readonly reason: string
  /** One sentence a person can act on. */
  readonly message: string
}

export type WantedCondition = Omit<Condition, 'lastTransitionTime'>

/** What the API server accepts in `message`. */
const messageCharactersMax = 32_768

/** The whole new list: what is wanted, then what others have set. `nowMs` is wall time. */
export function setConditions(
  current: readonly Condition[] | undefined,
  wanted: readonly WantedCondition[],
  nowMs: number,
): Condition[] {
  const before = new Map((current ?? []).map(condition => [condition.type, condition]))
  const ours = wanted.map(condition => {
    const old = before.get(condition.type)
    before.delete(condition.type)
    const lastTransitionTime =
      old?.status === condition.status && old.lastTransitionTime ? old.lastTransitionTime : toTime(nowMs)
    const { observedGeneration, type, status, reason, message } = condition
    return {
      type,
      status,
      ...(observedGeneration !== undefined && { observedGeneration }),
      lastTransitionTime,
      reason,
      message: message.slice(0, messageCharactersMax),
    }
  })
  const all = [...ours, ...before.values()]
  return [...all.filter(({ type }) => type === 'Ready'), ...all.filter(({ type }) => type !== 'Ready')]
}

export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find(condition => condition.type === type)
}

export function isTrue(conditions: readonly Condition[] | undefined, type: string): boolean {
  return findCondition(conditions, type)?.status === 'True'
}

/** Whether writing `next` over `current` would change nothing. */
export function sameConditions(current: readonly Condition[] | undefined, next: readonly Condition[]): boolean {
  if ((current?.length ?? 0) !== next.length) return false
  return next.every((condition, at) => {
    const other = current?.[at]
    return (
      other !== undefined &&
      other.type === condition.type &&
      other.status === condition.status &&
      other.observedGeneration === condition.observedGeneration &&
      other.lastTransitionTime === condition.lastTransitionTime &&
      other.reason === condition.reason &&
      other.message === condition.message
    )
  })
}

/** metav1.Time has no fractions. */
export function toTime(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 19)}Z`
}

/** metav1.MicroTime has six digits. */
export function toMicroTime(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 23)}000Z`
}

// Times as Kubernetes prints them: UTC, to the second, or to the microsecond where the field says so.

const pattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.(\d+))?(?:Z|[+-]\d{2}:\d{2})$/

/** A text that is no time stays as it is and is refused by the checks. */
export function canonicalTime(value: unknown, precision: 'time' | 'microTime'): unknown {
  if (typeof value !== 'string') return value
  const match = pattern.exec(value)
  const ms = match === null ? Number.NaN : Date.parse(value)
  if (Number.isNaN(ms)) return value
  const whole = new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)
  if (precision === 'time') return `${whole}Z`
  return `${whole}.${(match?.[1] ?? '').slice(0, 6).padEnd(6, '0')}Z`
}

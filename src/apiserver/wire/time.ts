// Times as Kubernetes prints them: UTC, to the second, or to the microsecond where the field says so.

export type TimePrecision = 'time' | 'microTime'

const patterns: Record<TimePrecision, RegExp> = {
  time: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:\d{2})$/,
  // A reader of microseconds wants them written; it takes more digits than it keeps.
  microTime: /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.(\d{6})\d*(?:Z|[+-]\d{2}:\d{2})$/,
}

/** The forms as Go writes them down, for messages. */
export const timeLayouts: Record<TimePrecision, string> = {
  time: '2006-01-02T15:04:05Z07:00',
  microTime: '2006-01-02T15:04:05.000000Z07:00',
}

/** The canonical text; undefined when the text is no time of that precision. */
export function parseTime(text: string, precision: TimePrecision): string | undefined {
  const match = patterns[precision].exec(text)
  const ms = match === null ? Number.NaN : Date.parse(text.replace(',', '.'))
  if (Number.isNaN(ms)) return undefined
  const whole = new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)
  return precision === 'time' ? `${whole}Z` : `${whole}.${match?.[1] ?? '000000'}Z`
}

/** A text that is no time stays as it is and is refused by the checks. */
export function canonicalTime(value: unknown, precision: TimePrecision): unknown {
  return typeof value === 'string' ? (parseTime(value, precision) ?? value) : value
}

// A duration as `kubectl get` shows it: two units at most, and coarser the longer it is.

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

export function humanDuration(ms: number): string {
  const seconds = Math.trunc(ms / second)
  // Clocks differ a little; an object from the next second was made just now.
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(ms / minute)
  if (minutes < 10) return two(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(ms / hour)
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  const days = Math.floor(hours / 24)
  if (hours < 24 * 8) return two(days, 'd', hours % 24, 'h')
  if (days < 365 * 2) return `${days}d`
  const years = Math.floor(days / 365)
  if (days < 365 * 8) return two(years, 'y', days % 365, 'd')
  return `${years}y`
}

function two(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`
}

/** The time since a timestamp in an object; absent or unreadable is `<unknown>`. */
export function since(timestamp: unknown, now: Date): string {
  const then = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN
  return Number.isNaN(then) ? '<unknown>' : humanDuration(now.getTime() - then)
}

// Health: alive (livez), ready to serve (readyz), both (healthz). Each check has a name and a path of its own.

import { text, type WireResponse } from './wire.ts'

/** A check answers with what is wrong, or with nothing. */
export type HealthCheck = () => string | undefined

export interface HealthChecks {
  readonly live: Readonly<Record<string, HealthCheck>>
  /** Beyond being alive: what must be true before requests are welcome. */
  readonly ready: Readonly<Record<string, HealthCheck>>
}

export function serveHealth(checks: HealthChecks, path: string, query: URLSearchParams): WireResponse | undefined {
  const [, root = '', ...rest] = path.split('/')
  if (!['healthz', 'livez', 'readyz'].includes(root)) return undefined
  const all = root === 'livez' ? checks.live : { ...checks.live, ...checks.ready }
  const one = rest.join('/')
  if (one !== '') {
    const check = Object.hasOwn(all, one) ? all[one] : undefined
    if (check === undefined) return undefined
    const fault = check()
    return fault === undefined ? text(200, 'ok') : text(500, `internal server error: ${fault}\n`)
  }
  const excluded = new Set(query.getAll('exclude'))
  const lines: string[] = []
  let isFine = true
  for (const [name, check] of Object.entries(all)) {
    if (excluded.has(name)) {
      lines.push(`[+]${name} excluded: ok`)
      continue
    }
    const fault = check()
    if (fault !== undefined) isFine = false
    lines.push(fault === undefined ? `[+]${name} ok` : `[-]${name} failed: reason withheld`)
  }
  if (!isFine) return text(500, `${lines.join('\n')}\n${root} check failed\n`)
  return text(200, query.has('verbose') ? `${lines.join('\n')}\n${root} check passed\n` : 'ok')
}

// Whether the process is ready, and which of its desks work: the answers of `/readyz`, and of `/readyz/<desk>` for one desk.
// `/readyz?verbose` has a line for each of them, also for those that work, or stand by because another process leads.
//
// One desk that waits does not make the process unready: it would take the webhooks of all the others out of service. So a
// process is ready when the office has what it needs, and one desk too. A desk whose kinds are not installed has no fault: the
// product that brings them may come later, and pools are checked by their webhooks until then.

import { type Domain, standingOf } from '../runtime/domain.ts'
import type { Page, PageRequest } from './listen.ts'

export interface Readiness {
  readonly isReady: boolean
  /** Why it is not ready; if it is, which desks wait, and what for, and what else is wrong. */
  readonly lines: readonly string[]
}

type Told = Pick<Domain, 'name' | 'reasons' | 'faults'>

/**
 * The office is the first of the domains; `problems` are those of the process itself. `notes` are said of one that is ready: to
 * take its webhooks out of service would not help.
 */
export function readinessOf(
  [office, ...desks]: readonly Told[],
  problems: readonly string[],
  notes: readonly string[] = [],
): Readiness {
  const general = new Set([...problems, ...(office?.reasons() ?? [])])
  if (general.size > 0) return { isReady: false, lines: [...general] }
  const waiting = desks.filter(desk => desk.reasons().length > 0)
  const isAtFault = waiting.some(desk => desk.faults().length > 0)
  return { isReady: !isAtFault || waiting.length < desks.length, lines: [...waiting.flatMap(deskLines), ...notes] }
}

const deskLines = (desk: Told): string[] => desk.reasons().map(reason => `desk ${desk.name} waits: ${reason}`)

export function healthPage(
  { path, query }: Pick<PageRequest, 'path' | 'query'>,
  readiness: () => Readiness,
  domains: readonly (Told & Pick<Domain, 'state'>)[],
): Page | undefined {
  if (path === '/healthz' || path === '/livez') return { body: 'ok' }
  if (path === '/readyz') {
    const { isReady, lines } = readiness()
    const states = query.has('verbose') ? domains.map(domain => `${domain.name} is ${standingOf(domain)}`) : []
    return toPage({ isReady, lines: [...states, ...lines] })
  }
  const domain = domains.find(({ name }) => path === `/readyz/${name}`)
  if (domain === undefined) return undefined
  const lines = domain.reasons()
  return toPage({ isReady: lines.length === 0, lines })
}

function toPage({ isReady, lines }: Readiness): Page {
  const text = lines.map(line => `${line}\n`).join('')
  if (!isReady) return { status: 503, body: text }
  return { body: text === '' ? 'ok' : `ok\n${text}` }
}

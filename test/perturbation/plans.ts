// Plans for every point that an undisturbed run passed. What is left out cannot show anything new: Events, discovery, the
// first lists of a process.

import type { Scenario } from '../scenarios/scenario.ts'
import type { Action, Fault, Plan, Point } from './plan.ts'
import type { Passed } from './weather.ts'

const second = 1_000

/** Kinds whose order of arrival could matter to a desk. */
const orderedKinds = ['holds', 'ipaddressclaims', 'ipaddresses', 'addresspools'] as const

interface Named {
  readonly name: string
  readonly action: Action
  /** People who do not wait make the delay matter. */
  readonly patienceMs?: number
}

const writeFaults = ({ verb, kind }: Passed): Named[] => [
  { name: 'crash after', action: { do: 'crash', when: 'after' } },
  { name: 'crash before', action: { do: 'crash', when: 'before' } },
  { name: 'answer lost', action: { do: 'lose', what: 'answer' } },
  { name: 'request lost', action: { do: 'lose', what: 'request' } },
  { name: 'request repeated', action: { do: 'repeat', copyAfterMs: 0 } },
  { name: 'request repeated late', action: { do: 'repeat', copyAfterMs: 8 * second } },
  ...(verb === 'create' && kind === 'holds'
    ? [{ name: 'somebody was quicker', action: { do: 'forestall' } } as const]
    : []),
  ...(verb === 'create' ? [] : [refused(409, 0, 'alike'), refused(409, 20 * second, 'alike')]),
  refused(429, 0, 'alike'),
  refused(429, 60 * second, 'all'),
  refused(500, 0, 'alike'),
  refused(503, 20 * second, 'all'),
  refused(403, 30 * second, 'alike'),
  ...frozen,
]

const readFaults = (): Named[] => [
  { name: 'crash before', action: { do: 'crash', when: 'before' } },
  { name: 'request lost', action: { do: 'lose', what: 'request' } },
  refused(503, 0, 'alike'),
  ...frozen,
]

const eventFaults = (): Named[] => [
  { name: 'crash', action: { do: 'crash', when: 'before' } },
  { name: 'stream ends', action: { do: 'cut', how: 'end' } },
  { name: 'stream breaks inside a line', action: { do: 'cut', how: 'inside' } },
  { name: 'stream gone', action: { do: 'cut', how: 'gone' } },
  { name: 'stream falls silent', action: { do: 'cut', how: 'silence' } },
  { name: 'event swallowed', action: { do: 'drop', relistAfterMs: 60 * second } },
  { name: 'event doubled', action: { do: 'double' } },
  { name: 'all events late', action: { do: 'hold', kinds: 'all', forMs: 25 * second } },
  {
    name: 'all events late for the impatient',
    action: { do: 'hold', kinds: 'all', forMs: 25 * second },
    patienceMs: 3_000,
  },
  ...orderedKinds.map((kind): Named => {
    const action: Action = { do: 'hold', kinds: [kind], forMs: 25 * second }
    return { name: `${kind} late for the impatient`, action, patienceMs: 3 * second }
  }),
  ...[1, 4, 10].map((revisions): Named => {
    const action: Action = { do: 'rewind', revisions, forMs: 15 * second }
    return { name: `reborn ${revisions} revisions ago`, action }
  }),
]

const frozen: readonly Named[] = [
  { name: 'frozen', action: { do: 'freeze', forMs: 45 * second } },
  { name: 'frozen, people impatient', action: { do: 'freeze', forMs: 45 * second }, patienceMs: 3 * second },
]

function refused(code: 403 | 409 | 429 | 500 | 503, forMs: number, scope: 'alike' | 'all'): Named {
  const howLong = forMs === 0 ? 'once' : `for ${forMs / 1000} s`
  return { name: `${code} ${howLong}`, action: { do: 'refuse', refusal: { code, forMs, scope } } }
}

/** All single faults, and double crashes, at the points that the scenario passed when nothing went wrong. */
export function plansFor({ needsPatience = false }: Scenario, passed: readonly Passed[], desks: 1 | 2): Plan[] {
  const plans: Plan[] = []
  for (const point of passed) {
    if (!isOfInterest(point)) continue
    const faults = point.at === 'write' ? writeFaults(point) : point.at === 'read' ? readFaults() : eventFaults()
    for (const { name, action, patienceMs } of faults) {
      if (needsPatience && patienceMs !== undefined) continue
      plans.push({
        name: `${describe(point)}: ${name}`,
        desks,
        ...(patienceMs !== undefined && { patienceMs }),
        faults: [{ point: toPoint(point), action }],
      })
    }
    if (point.at !== 'write') continue
    for (const later of [1, 2]) {
      const faultAt = (nth: number): Fault => ({
        point: { ...toPoint(point), nth },
        action: { do: 'crash', when: 'after' },
      })
      plans.push({
        name: `${describe(point)}: crash after, and again ${later} later`,
        desks,
        faults: [faultAt(point.nth), faultAt(point.nth + later)],
      })
    }
  }
  return plans
}

/** What each process does once at its start is disturbed by no plan. */
function isOfInterest({ at, verb, kind }: Passed): boolean {
  if (at === 'read') return verb === 'get' || kind === 'holds'
  return true
}

const toPoint = ({ at, actor, nth }: Point): Point => ({ at, actor, nth })

const describe = ({ actor, at, nth, verb, kind, name }: Passed): string =>
  `${actor}, ${at} ${nth} (${at === 'event' ? kind : `${verb} ${kind}`} ${name})`

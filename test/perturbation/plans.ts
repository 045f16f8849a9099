// Plans for every point that an undisturbed run passed: each fault of each family, one at a time, and crashes in pairs.
//
// What is left out cannot show anything new:
//
// - Events, discovery, the first lists of a process: nothing is decided on them that is not decided again.
// - A crash takes all that a process knew, so two crashes of one desk differ only in the writes it had sent and in the time
//   of day. Of all points between two of its writes, at one time of day, one is taken. The same holds for a rebirth into
//   the past: writes sent, time of day, revision of the first lists.
// - Events of one kind that are late from another kind's event on are late from their own next event on, which has its
//   own plan.
// - What a stream does (ends, breaks, falls silent) is between one desk and its server: one desk is enough.
// - A question to the vCenter, or for the Secret that opens it, changes nothing; one that fails ends the pass. Of all those between two
//   writes of a desk, at one time of day, one is taken.
// - Where Mooring makes virtual machines, claims and their addresses go the way that they go elsewhere: their own scenarios disturb it. What
//   is not about Machines or their vCenter meets crashes alone.
// - An object of ours that is found where one was to be created is what a request that arrived twice leaves.

import type { Scenario } from '../scenarios/scenario.ts'
import type { Action, Fault, Plan, Point } from './plan.ts'
import type { Passed } from './weather.ts'

const second = 1_000
/** Less than a request waits for its answer. */
const late = 20 * second
/** More than a request waits for its answer. */
const tooLate = 45 * second
/** Users that do not wait make a delay matter. */
const impatience = 3 * second

export interface Family {
  readonly name: string
  /** For people: what goes wrong. */
  readonly what: string
  readonly at: Point['at']
  readonly action: Action
  readonly isImpatient?: boolean
  /** Where it applies; everywhere if absent. */
  readonly where?: (point: Passed, desks: 1 | 2) => boolean
}

type Refused = 403 | 409 | 429 | 500 | 503 | 504

const isCreate = ({ verb }: Passed) => verb === 'create'
const isChange = ({ verb }: Passed) => verb !== 'create'
const isReport = ({ verb, kind }: Passed) => verb === 'create' && kind === 'ipaddresses'
const isAlone = (_: Passed, desks: 1 | 2) => desks === 1
/** A name, or an address, is free again or another claim's. */
const isTurn = ({ kind, name }: Passed) =>
  name.includes('DELETED') || (/^(mac)?holds$/.test(kind) && name.includes('MODIFIED'))

function refused(
  at: 'write' | 'read',
  code: Refused,
  forMs: number,
  scope: 'alike' | 'all',
  where?: Family['where'],
): Family {
  const howLong = forMs === 0 ? 'once' : `for ${forMs / 1000} s`
  const which = forMs === 0 ? 'the request' : scope === 'all' ? 'every request' : 'every request like it'
  const what = `${which} is answered ${code}${forMs === 0 ? '' : `, ${howLong}`}`
  const action: Action = { do: 'refuse', refusal: { code, forMs, scope } }
  return { name: `${code} ${howLong}`, what, at, action, ...(where && { where }) }
}

function frozen(at: 'write' | 'read'): Family[] {
  const action: Action = { do: 'freeze', forMs: tooLate }
  const what = 'the process stands still with the request in its hand, then goes on'
  return [
    { name: 'frozen', what, at, action },
    { name: 'frozen, people impatient', what: 'the same, and people do not wait', at, action, isImpatient: true },
  ]
}

const writeFamilies: readonly Family[] = [
  {
    name: 'crash after',
    what: 'the process ends when the write is done, before it has the answer',
    at: 'write',
    action: { do: 'crash', when: 'after' },
  },
  {
    name: 'crash before',
    what: 'the process ends before the write is sent',
    at: 'write',
    action: { do: 'crash', when: 'before' },
  },
  {
    name: 'crash when answered',
    what: 'the process ends a moment after it has the answer of the write',
    at: 'write',
    action: { do: 'crash', when: 'answered' },
  },
  {
    name: 'answer lost',
    what: 'the write is done, and its answer is lost',
    at: 'write',
    action: { do: 'lose', what: 'answer' },
  },
  {
    name: 'request lost',
    what: 'the write is not done, and not answered',
    at: 'write',
    action: { do: 'lose', what: 'request' },
  },
  {
    name: 'request repeated',
    what: 'the write arrives twice, and the second answer comes back',
    at: 'write',
    action: { do: 'repeat', copyAfterMs: 0 },
  },
  {
    name: 'request repeated late',
    what: 'the write arrives once more, seconds later',
    at: 'write',
    action: { do: 'repeat', copyAfterMs: 8 * second },
  },
  {
    name: 'another was quicker',
    what: 'an object of that name is created first, for a claim that is gone',
    at: 'write',
    action: { do: 'forestall', as: 'another' },
    where: isCreate,
  },
  {
    name: 'an IPAddress was quicker',
    what: 'an IPAddress of that name and content is created first, for no claim',
    at: 'write',
    action: { do: 'forestall', as: 'none' },
    where: isReport,
  },
  refused('write', 409, 0, 'alike', isChange),
  refused('write', 409, 20 * second, 'alike', isChange),
  refused('write', 429, 0, 'alike'),
  refused('write', 429, 60 * second, 'all'),
  refused('write', 500, 0, 'alike'),
  refused('write', 504, 0, 'alike'),
  refused('write', 503, 20 * second, 'all'),
  refused('write', 403, 30 * second, 'alike'),
  ...frozen('write'),
  {
    name: 'request late',
    what: 'this write alone is under way for long; the process goes on, people do not wait',
    at: 'write',
    action: { do: 'delay', what: 'request', forMs: late },
    isImpatient: true,
  },
  {
    name: 'request arrives when given up',
    what: 'this write arrives after its sender gave it up and went on; people do not wait',
    at: 'write',
    action: { do: 'delay', what: 'request', forMs: tooLate },
    isImpatient: true,
  },
  {
    name: 'answer late',
    what: 'the write is done, and its answer is under way for long; people do not wait',
    at: 'write',
    action: { do: 'delay', what: 'answer', forMs: late },
    isImpatient: true,
  },
]

/** Of calls to the vCenter: its tasks, and its answers. */
function unwell(at: 'task' | 'ask'): Family[] {
  const crash = (when: 'before' | 'after' | 'answered'): Action => ({ do: 'crash', when })
  const lose = (what: 'request' | 'answer'): Action => ({ do: 'lose', what })
  const delay = (what: 'request' | 'answer', forMs: number): Action => ({ do: 'delay', what, forMs })
  const down = (forMs: number): Action => ({ do: 'down', forMs })
  const call = at === 'task' ? 'the order' : 'the question'
  const all: readonly (Omit<Family, 'at'> & { readonly isTaskAlone?: boolean })[] = [
    { name: 'crash before', what: `the process ends before ${call} is sent`, action: crash('before') },
    {
      name: 'crash after',
      what: 'the process ends when the vCenter has the order, before it has the answer',
      action: crash('after'),
      isTaskAlone: true,
    },
    {
      name: 'crash when answered',
      what: 'the process ends a moment after it has the answer of the order',
      action: crash('answered'),
      isTaskAlone: true,
    },
    { name: 'request lost', what: `${call} does not reach the vCenter`, action: lose('request') },
    {
      name: 'answer lost',
      what: 'the vCenter has the order, and its answer is lost',
      action: lose('answer'),
      isTaskAlone: true,
    },
    {
      name: 'refused',
      what: `the vCenter answers ${call} with a fault`,
      action: { do: 'fault', fault: 'SystemError' },
    },
    {
      name: 'task fails',
      what: 'the vCenter takes the task on, and it fails',
      action: { do: 'fail', fault: 'GenericVmConfigFault' },
      isTaskAlone: true,
    },
    {
      name: 'task slow',
      what: 'the task takes five minutes; people do not wait',
      action: { do: 'slow', forMs: 300 * second },
      isTaskAlone: true,
      isImpatient: true,
    },
    {
      name: 'request late',
      what: `${call} is under way for long; people do not wait`,
      action: delay('request', late),
      isImpatient: true,
    },
    {
      name: 'request arrives when given up',
      what: 'the order arrives after its sender gave it up and went on; people do not wait',
      action: delay('request', 80 * second),
      isTaskAlone: true,
      isImpatient: true,
    },
    {
      name: 'answer late',
      what: 'the vCenter has the order, and its answer is under way for long; people do not wait',
      action: delay('answer', late),
      isTaskAlone: true,
      isImpatient: true,
    },
    { name: 'down for 20 s', what: 'from here on no call reaches the vCenter, for 20 s', action: down(20 * second) },
    {
      name: 'down for 200 s',
      what: 'from here on no call reaches the vCenter, for 200 s; people do not wait',
      action: down(200 * second),
      isImpatient: true,
    },
    ...frozen('read'),
  ]
  return all.flatMap(({ isTaskAlone = false, ...family }) => (isTaskAlone && at === 'ask' ? [] : [{ ...family, at }]))
}

const taskFamilies = unwell('task')
const askFamilies = unwell('ask')

const readFamilies: readonly Family[] = [
  {
    name: 'crash before',
    what: 'the process ends before the read is sent',
    at: 'read',
    action: { do: 'crash', when: 'before' },
  },
  { name: 'request lost', what: 'the read is not answered', at: 'read', action: { do: 'lose', what: 'request' } },
  refused('read', 429, 0, 'alike'),
  refused('read', 500, 0, 'alike'),
  refused('read', 503, 0, 'alike'),
  ...frozen('read'),
]

function cut(name: string, what: string, how: 'end' | 'inside' | 'gone' | 'silence'): Family {
  return { name, what, at: 'event', action: { do: 'cut', how }, where: isAlone }
}

const eventFamilies: readonly Family[] = [
  {
    name: 'crash',
    what: 'the process ends when an event is about to arrive',
    at: 'event',
    action: { do: 'crash', when: 'before' },
  },
  cut('stream ends', 'the stream ends in good order', 'end'),
  cut('stream breaks inside a line', 'the connection breaks in the middle of an event', 'inside'),
  cut('stream gone', 'the version is too old to go on from', 'gone'),
  cut('stream falls silent', 'nothing comes any more, and the stream does not end', 'silence'),
  {
    name: 'event swallowed',
    what: 'one event never comes, until everything is listed again after a minute',
    at: 'event',
    action: { do: 'drop', relistAfterMs: 60 * second },
  },
  {
    name: 'event doubled',
    what: 'one event comes twice, and once more behind the next',
    at: 'event',
    action: { do: 'double' },
  },
  {
    name: 'all events late',
    what: 'from here on no event arrives for a while, then all at once',
    at: 'event',
    action: { do: 'hold', kinds: 'all', forMs: 25 * second },
  },
  {
    name: 'all events late for the impatient',
    what: 'the same, and people undo meanwhile what they did',
    at: 'event',
    action: { do: 'hold', kinds: 'all', forMs: 25 * second },
    isImpatient: true,
  },
]

/** Events of this kind alone do not arrive, while all other kinds do: each kind before and behind each other. */
const kindLate: Omit<Family, 'action'> = {
  name: 'its kind late for the impatient',
  what: 'no event of this kind arrives for a while, all others do; people do not wait',
  at: 'event',
  isImpatient: true,
}

const reborn = [1, 4, 10].map((revisions): Family => {
  const what = `a new process begins with the world ${revisions} writes ago, and is told no better for a while`
  const action: Action = { do: 'rewind', revisions, forMs: 15 * second }
  return {
    name: `reborn ${revisions} writes ago`,
    what,
    at: 'event',
    action,
    ...(revisions !== 4 && { where: isTurn }),
  }
})

const twice: readonly (Omit<Family, 'action'> & { readonly later: number })[] = [1, 2].map(later => ({
  name: `crash after, and again ${later} later`,
  what: `the same, and the next process ends likewise ${later === 1 ? 'one write' : 'two writes'} later`,
  at: 'write',
  later,
}))

/** For people. */
export const families: readonly Omit<Family, 'action'>[] = [
  ...writeFamilies,
  ...twice,
  ...readFamilies,
  ...eventFamilies,
  kindLate,
  ...reborn,
  ...taskFamilies,
  ...askFamilies,
]

export interface MadePlan extends Plan {
  /** `write: crash after`. */
  readonly family: string
}

export const familyName = ({ at, name }: Pick<Family, 'at' | 'name'>): string => `${at}: ${name}`

/** At the points that the scenario passed when nothing went wrong. */
export function plansFor(
  { needsPatience = false, isFull = false }: Scenario,
  passed: readonly Passed[],
  desks: 1 | 2,
): readonly MadePlan[] {
  const plans: MadePlan[] = []
  const made = new Set<string>()

  function add(family: Omit<Family, 'action'>, point: Passed, faults: readonly Fault[], sameAs?: string): void {
    if (family.isImpatient === true && needsPatience) return
    if (family.where?.(point, desks) === false) return
    if (isFull && !isOfMachines(point) && !family.name.startsWith('crash')) return
    if (sameAs !== undefined && made.has(sameAs)) return
    if (sameAs !== undefined) made.add(sameAs)
    plans.push({
      name: `${describe(point)}: ${family.name}`,
      family: familyName(family),
      desks,
      ...(family.isImpatient === true && { patienceMs: impatience }),
      faults,
    })
  }

  for (const point of passed) {
    if (!isOfInterest(point)) continue
    const at = toPoint(point)
    const singles = {
      write: writeFamilies,
      read: readFamilies,
      event: [...eventFamilies, ...reborn],
      task: taskFamilies,
      ask: askFamilies,
    }[point.at]
    for (const family of singles) add(family, point, [{ point: at, action: family.action }], sameness(point, family))
    if (point.at === 'event') {
      add(kindLate, point, [{ point: at, action: { do: 'hold', kinds: [point.kind], forMs: 25 * second } }])
    }
    if (point.at !== 'write') continue
    const crashAt = (nth: number): Fault => ({ point: { ...at, nth }, action: { do: 'crash', when: 'after' } })
    for (const family of twice) add(family, point, [crashAt(point.nth), crashAt(point.nth + family.later)])
  }
  return plans
}

/** Two plans of which this is the same make the same history from there on. */
function sameness(point: Passed, family: Family): string | undefined {
  const { actor, revision, answered } = point
  const { action } = family
  const when = action.do === 'crash' && action.when === 'after' ? answered : point
  if (when === undefined) return undefined
  if (action.do === 'crash' && action.when !== 'answered') return `${actor} ${when.sent} ${when.atMs}`
  if (point.at === 'ask' || point.kind === 'secrets') return `${familyName(family)} ${actor} ${when.sent} ${when.atMs}`
  if (action.do === 'rewind') return `${actor} ${when.sent} ${when.atMs} ${revision - action.revisions}`
  return undefined
}

/** What each process does once at its start is disturbed by no plan. */
function isOfInterest({ at, verb, kind }: Passed): boolean {
  if (at === 'read') return verb === 'get' || kind === 'holds' || kind === 'macholds'
  return true
}

/** Methods of a vCenter are kinds here. */
const isOfMachines = ({ at, kind }: Passed): boolean =>
  at === 'task' || at === 'ask' || /^(machines|machinesets|secrets)(\/|$)/.test(kind)

const toPoint = ({ at, actor, nth }: Point): Point => ({ at, actor, nth })

const describe = ({ actor, at, nth, verb, kind, name }: Passed): string =>
  `${actor}, ${at} ${nth} (${at === 'write' || at === 'read' ? `${verb} ${kind}` : kind} ${name})`

// Checks a recorded history without knowing how the store works: what clients asked and were answered, when, and which
// changes watchers got. Every check returns sentences about what is wrong; none means that the history is lawful.

export interface Operation {
  readonly client: string
  readonly key: string
  readonly kind: 'create' | 'update' | 'delete'
  /** The revision an update or delete rests on. */
  readonly expected: number | undefined
  readonly value: string
  /** Call and answer on one monotonic counter; no answer when the outcome is unknown. */
  readonly calledAt: number
  readonly answer: { readonly at: number; readonly outcome: Outcome } | undefined
}

export type Outcome =
  | { readonly ok: true; readonly revision: number }
  /** Refused because of what was there: its revision, or undefined for nothing. */
  | { readonly ok: false; readonly current: number | undefined }

/** One change as the log or a watcher tells it. */
export interface Told {
  readonly type: 'put' | 'delete'
  readonly key: string
  readonly revision: number
  readonly created: number
  readonly value: string
  readonly previous: { readonly revision: number; readonly value: string } | undefined
}

/**
 * The persisted log explains every answer: each success is in the log at its revision as asked, nothing is there that
 * no client asked for, every condition held at that place, and the order never contradicts real time.
 */
export function checkHistory(operations: readonly Operation[], log: readonly Told[]): string[] {
  return [
    ...checkUnique(log),
    ...checkReplay(log),
    ...checkAcknowledged(operations, log),
    ...checkAsked(operations, log),
    ...checkRealTime(operations, log),
    ...checkRefusals(operations, log),
  ]
}

/** No revision is handed out twice, and they only grow. */
function checkUnique(log: readonly Told[]): string[] {
  return log.flatMap(({ revision }, at) => {
    const before = log[at - 1]?.revision ?? 0
    return revision > before ? [] : [`revision ${revision} follows revision ${before}`]
  })
}

/** Replayed from nothing, every change finds what it says it replaced. */
function checkReplay(log: readonly Told[]): string[] {
  const state = new Map<string, Told>()
  const faults: string[] = []
  for (const change of log) {
    const before = state.get(change.key)
    if (before?.revision !== change.previous?.revision || before?.value !== change.previous?.value) {
      faults.push(`revision ${change.revision} says it replaced ${change.previous?.revision}, not ${before?.revision}`)
    }
    if (change.type === 'delete' && before === undefined) faults.push(`revision ${change.revision} deletes nothing`)
    const created = before?.created ?? change.revision
    if (created !== change.created) faults.push(`revision ${change.revision} has a key created at ${change.created}`)
    if (change.type === 'put') state.set(change.key, change)
    else state.delete(change.key)
  }
  return faults
}

/** What was acknowledged is in the log, at the revision and with the content that were acknowledged. */
function checkAcknowledged(operations: readonly Operation[], log: readonly Told[]): string[] {
  const byRevision = new Map(log.map(change => [change.revision, change]))
  return operations.flatMap(operation => {
    const outcome = operation.answer?.outcome
    if (outcome?.ok !== true) return []
    const found = byRevision.get(outcome.revision)
    if (found !== undefined && isEffectOf(operation, found)) return []
    return [
      `${operation.client} was told that ${operation.kind} ${operation.key} is revision ${outcome.revision}; it is not`,
    ]
  })
}

/** Each change was asked for by exactly one operation that was not refused. */
function checkAsked(operations: readonly Operation[], log: readonly Told[]): string[] {
  const acknowledged = new Map<number, Operation>()
  const unknown = new Map<string, Operation[]>()
  const faults: string[] = []
  for (const operation of operations) {
    const outcome = operation.answer?.outcome
    if (outcome === undefined) unknown.set(operation.key, [...(unknown.get(operation.key) ?? []), operation])
    if (outcome?.ok !== true) continue
    if (acknowledged.has(outcome.revision)) faults.push(`revision ${outcome.revision} was acknowledged twice`)
    acknowledged.set(outcome.revision, operation)
  }
  for (const change of log) {
    if (acknowledged.has(change.revision)) continue
    const candidates = unknown.get(change.key) ?? []
    const at = candidates.findIndex(operation => isEffectOf(operation, change))
    if (at < 0) faults.push(`no client asked for revision ${change.revision} (${change.type} ${change.key})`)
    else candidates.splice(at, 1)
  }
  return faults
}

/** A write called after another was answered has the larger revision. */
function checkRealTime(operations: readonly Operation[], log: readonly Told[]): string[] {
  const calledAt = new Map<number, number>()
  const answeredAt = new Map<number, number>()
  for (const { answer, calledAt: called } of operations) {
    if (answer?.outcome.ok !== true) continue
    calledAt.set(answer.outcome.revision, called)
    answeredAt.set(answer.outcome.revision, answer.at)
  }
  const faults: string[] = []
  let latestCall = { at: -1, revision: 0 }
  for (const { revision } of log) {
    const answered = answeredAt.get(revision)
    if (answered !== undefined && answered < latestCall.at) {
      faults.push(`revision ${revision} was answered before revision ${latestCall.revision} was asked for`)
    }
    const called = calledAt.get(revision)
    if (called !== undefined && called > latestCall.at) latestCall = { at: called, revision }
  }
  return faults
}

/** A refusal names what the key held at some moment between call and answer, and that was reason to refuse. */
function checkRefusals(operations: readonly Operation[], log: readonly Told[]): string[] {
  const versions = new Map<string, Told[]>()
  for (const change of log) {
    const ofKey = versions.get(change.key)
    if (ofKey === undefined) versions.set(change.key, [change])
    else ofKey.push(change)
  }
  const earliest = new Map<number, number>()
  const latest = new Map<number, number>()
  for (const { answer, calledAt } of operations) {
    if (answer?.outcome.ok !== true) continue
    earliest.set(answer.outcome.revision, calledAt)
    latest.set(answer.outcome.revision, answer.at)
  }
  return operations.flatMap(operation => {
    const { answer, calledAt, key, expected } = operation
    if (answer === undefined || answer.outcome.ok) return []
    const { current } = answer.outcome
    if (current === expected)
      return [`${operation.client} was refused ${operation.kind} ${key} though the condition held`]
    const ofKey = versions.get(key) ?? []
    const isPossible = [undefined, ...ofKey].some((version, at) => {
      const held = version?.type === 'put' ? version.revision : undefined
      if (held !== current) return false
      const began = version === undefined ? 0 : (earliest.get(version.revision) ?? 0)
      const next = ofKey[at]
      const ended = next === undefined ? Infinity : (latest.get(next.revision) ?? Infinity)
      return began <= answer.at && ended >= calledAt
    })
    return isPossible
      ? []
      : [`${operation.client} was refused ${operation.kind} ${key} because of ${current}, never there then`]
  })
}

function isEffectOf({ key, kind, expected, value }: Operation, change: Told): boolean {
  const type = kind === 'delete' ? 'delete' : 'put'
  return change.key === key && change.type === type && change.value === value && change.previous?.revision === expected
}

/** A watch as its reader saw it, over a stretch of the log that is known to be complete. */
export interface Stream {
  readonly prefix: string
  readonly from: number
  readonly told: readonly Told[]
}

export function checkStream(stream: Stream, log: readonly Told[]): string[] {
  return watchChecks.flatMap(check => check(stream, log))
}

/** Only keys under the prefix are told. */
function checkFilter({ prefix, told }: Stream): string[] {
  return told.filter(({ key }) => !key.startsWith(prefix)).map(({ key }) => `${key} is not under ${prefix}`)
}

/** Revisions never go back. */
function checkOrdered({ told }: Stream): string[] {
  return pairs(told).flatMap(([one, next]) =>
    next.revision < one.revision ? [`revision ${next.revision} was told after ${one.revision}`] : [],
  )
}

/** No revision is told twice. */
function checkToldOnce({ told }: Stream): string[] {
  const seen = new Set<number>()
  return told.flatMap(({ revision }) => {
    if (seen.has(revision)) return [`revision ${revision} was told twice`]
    seen.add(revision)
    return []
  })
}

/** Between the first and the last told revision nothing is left out. */
function checkGapless({ prefix, told }: Stream, log: readonly Told[]): string[] {
  const revisions = told.map(change => change.revision)
  const first = Math.min(...revisions)
  const last = Math.max(...revisions)
  const seen = new Set(revisions)
  return log
    .filter(({ key, revision }) => key.startsWith(prefix) && revision > first && revision < last && !seen.has(revision))
    .map(({ revision }) => `revision ${revision} was left out`)
}

/** The first told change is the first after the asked revision. */
function checkResumable({ prefix, from, told }: Stream, log: readonly Told[]): string[] {
  const first = told[0]
  if (first === undefined) return []
  const due = log.find(({ key, revision }) => key.startsWith(prefix) && revision > from)
  return due?.revision === first.revision
    ? []
    : [`after ${from} revision ${due?.revision} was due, not ${first.revision}`]
}

/** The type, key, value and creation told are those of the log; a delete carries its own revision. */
function checkTyped({ told }: Stream, log: readonly Told[]): string[] {
  const byRevision = new Map(log.map(change => [change.revision, change]))
  return told.flatMap(({ revision, type, key, value, created }) => {
    const written = byRevision.get(revision)
    if (written === undefined) return [`revision ${revision} was told but is not in the log`]
    const isSame =
      written.type === type && written.key === key && written.value === value && written.created === created
    return isSame ? [] : [`revision ${revision} was told as ${type} ${key}, but is ${written.type} ${written.key}`]
  })
}

/** The previous value told is the one the log had there. */
function checkPrevious({ told }: Stream, log: readonly Told[]): string[] {
  const byRevision = new Map(log.map(change => [change.revision, change]))
  return told.flatMap(({ revision, previous }) => {
    const due = byRevision.get(revision)?.previous
    return due?.revision === previous?.revision && due?.value === previous?.value
      ? []
      : [`revision ${revision} was told to replace ${previous?.revision}, but replaced ${due?.revision}`]
  })
}

const watchChecks = [checkFilter, checkOrdered, checkToldOnce, checkGapless, checkResumable, checkTyped, checkPrevious]

/** Two watchers that were told the same revisions were told them in the same order. */
export function checkAgreement(one: Stream, other: Stream): string[] {
  const inOther = new Set(other.told.map(change => change.revision))
  const inOne = new Set(one.told.map(change => change.revision))
  const shared = one.told.filter(change => inOther.has(change.revision)).map(change => change.revision)
  const sharedToo = other.told.filter(change => inOne.has(change.revision)).map(change => change.revision)
  const at = shared.findIndex((revision, index) => revision !== sharedToo[index])
  return at < 0 ? [] : [`one watcher was told ${shared[at]} where the other was told ${sharedToo[at]}`]
}

function pairs<T>(items: readonly T[]): [T, T][] {
  return items.slice(1).map((item, at) => [items[at] as T, item])
}

// A failure domain: feeds of caches, and the reconcilers and tasks that cannot do without them. What one domain lacks holds
// up nothing but itself and the domains that need it.
//
//   new --start--> starting --nothing is missing, admitted--> working ----- stop -----> stopping --> stopped
//                     |                                        |   ^
//                     | a reason is known                problem   |  it is over
//                     v                                        v   |
//                  waiting ------------------------------> waiting-'

import type { Log } from '../telemetry/log.ts'
import type { Reconciler, RunningReconciler } from './reconciler.ts'
import type { CancelReason } from './retry-policy.ts'

/** Keeps a cache up to date until it is stopped: a reflector, as a rule. */
export interface Feed {
  readonly name: string
  start(): void
  /** Resolves when the cache is complete for the first time; rejects when the signal is aborted before. */
  synced(signal: AbortSignal): Promise<void>
  /** Why the cache cannot be relied on now, in a sentence. */
  problem?(): string | undefined
  /** False while the server does not have the kind. */
  readonly isInstalled?: boolean
  /** Calls `changed` whenever `problem` may answer something else than before. */
  onProblemChange?(changed: () => void): void
  stop(reason: CancelReason): Promise<void>
}

/** Work beside the reconcilers that lasts as long as they do. It ends when the signal is aborted. */
export interface Task {
  readonly name: string
  run(signal: AbortSignal): Promise<void>
}

export type DomainState = 'new' | 'starting' | 'waiting' | 'working' | 'stopping' | 'stopped'

export interface DomainOptions {
  /** Domains that must work for this one to work. */
  readonly needs?: readonly Domain[]
  /** What it lacks besides complete caches. */
  readonly admission?: Admission
}

/** Whether the kinds and permissions of a domain are there. Both may come and go for as long as the domain lives. */
export interface Admission {
  /** What is missing now. While it is not known, undefined, the domain counts as starting, and `Manager.start` waits for it. */
  missing(): readonly Missing[] | undefined
  /** Calls `changed` whenever `missing` may answer something else than before. */
  onChange(changed: () => void): void
  /** A feed of the domain has a problem, or has it no more: something may have come, or be taken away. */
  lookAgain?(): void
}

export interface Missing {
  /** In a sentence. */
  readonly reason: string
  /** See `Domain.faults`. */
  readonly isFault: boolean
}

export interface Domain {
  readonly name: string
  readonly state: DomainState
  /** A feed of a cache that several domains read is added to each of them; it is started once. */
  addFeed(feed: Feed, options?: FeedOptions): void
  /** The answer takes marks at once; passes begin when the domain works. */
  addReconciler(reconciler: Reconciler): RunningReconciler
  /** It begins when the domain works for the first time. */
  addTask(task: Task): void
  /**
   * Why it does not work now, in sentences; empty when it works. What the manager itself waits for, to be the leader,
   * is not among them: a replica that stands by lacks nothing.
   */
  reasons(): string[]
  /**
   * Those of the reasons that the administrator has to do something about. That a kind is not installed is none of them:
   * the cluster has no use for it, or it comes later.
   */
  faults(): string[]
  /** Keys that it works on, or is to as soon as there is room; none while it waits. */
  readonly backlog: number
}

export interface FeedOptions {
  /**
   * True, the default: the domain waits while the feed has a problem. `where installed`: that the server does not have the
   * kind is no problem. False: it works without the feed once that has synced or has a problem.
   */
  readonly isNeeded?: Necessity
}

export type Necessity = boolean | 'where installed'

/** A feed as every domain sees it that reads its cache. */
export interface SharedFeed {
  readonly feed: Feed
  hasSynced: boolean
}

/** What the manager does for its domains. */
export interface DomainParts {
  readonly log: Log
  mustBeNew(what: string): void
  follow(feed: Feed): SharedFeed
  run(reconciler: Reconciler): RunningReconciler
  begin(task: Task): void
  /** Something that a domain waits for has changed. */
  changed(): void
}

/** What it is to people and to metrics. One that waits for nothing but kinds that are not installed has no fault. */
export function standingOf(domain: Pick<Domain, 'state' | 'reasons' | 'faults'>): Standing {
  const { state } = domain
  if (state === 'waiting') return domain.faults().length === 0 ? 'not installed' : 'waiting'
  if (state === 'working') return 'working'
  return state === 'starting' && domain.reasons().length === 0 ? 'standing by' : 'starting'
}

/** It works; lacks something; lacks nothing but kinds; is yet to know what it lacks; lacks nothing, and is not the leader. */
export const standings = ['working', 'waiting', 'not installed', 'starting', 'standing by'] as const
export type Standing = (typeof standings)[number]

/** Something that is missing. While it is not known why, it may come at any moment: the domain is starting. */
interface Lack {
  readonly reason: string
  readonly isKnown: boolean
  readonly isFault: boolean
}

export class ManagedDomain implements Domain {
  readonly name: string
  state: DomainState = 'new'
  readonly #parts: DomainParts
  readonly #options: DomainOptions
  readonly #feeds = new Map<SharedFeed, Required<FeedOptions>>()
  readonly #reconcilers: RunningReconciler[] = []
  readonly #tasks: Task[] = []
  #hasWorked = false
  /** How many feeds had a problem at the last update. */
  #problems = 0

  constructor(name: string, options: DomainOptions, parts: DomainParts) {
    this.name = name
    this.#options = options
    this.#parts = parts
    options.admission?.onChange(parts.changed)
  }

  addFeed(feed: Feed, { isNeeded = true }: FeedOptions = {}): void {
    this.#parts.mustBeNew('a feed')
    this.#feeds.set(this.#parts.follow(feed), { isNeeded })
  }

  addReconciler(reconciler: Reconciler): RunningReconciler {
    this.#parts.mustBeNew('a reconciler')
    const running = this.#parts.run(reconciler)
    this.#reconcilers.push(running)
    return running
  }

  addTask(task: Task): void {
    this.#parts.mustBeNew('a task')
    this.#tasks.push(task)
  }

  reasons(): string[] {
    return this.#lacks().map(({ reason }) => reason)
  }

  faults(): string[] {
    const lacks = this.#lacks()
    return lacks.filter(({ isFault }) => isFault).map(({ reason }) => reason)
  }

  get backlog(): number {
    if (this.state !== 'working') return 0
    return this.#reconcilers.reduce((sum, { depth, running }) => sum + depth + running, 0)
  }

  /** Begins, pauses or continues passes. The domains it needs were updated before. */
  update(isManagerAdmitted: boolean): void {
    const problems = [...this.#feeds.keys()].filter(({ feed }) => feed.problem?.() !== undefined).length
    if (problems !== this.#problems) this.#options.admission?.lookAgain?.()
    this.#problems = problems
    const lacks = this.#lacks()
    const before = this.state
    this.state = stateOf(lacks, isManagerAdmitted)
    if (this.state === before) return
    if (this.state === 'working') this.#work()
    else if (this.state === 'waiting' || before === 'working') this.#wait(lacks)
  }

  #work(): void {
    const parts = this.#parts
    parts.log.info(this.#hasWorked ? 'the desk goes on' : 'the desk begins to work', { desk: this.name })
    for (const reconciler of this.#reconcilers) reconciler.start()
    if (!this.#hasWorked) for (const task of this.#tasks) parts.begin(task)
    this.#hasWorked = true
  }

  #wait(lacks: readonly Lack[]): void {
    const fields = { desk: this.name, reasons: lacks.map(({ reason }) => reason) }
    for (const reconciler of this.#reconcilers) reconciler.pause()
    // A desk may never be used here, its kinds not installed; one that worked before is missed.
    if (this.#hasWorked) this.#parts.log.error('the desk waits', fields)
    else this.#parts.log.info('the desk waits', fields)
  }

  #lacks(): Lack[] {
    const lacks: Lack[] = []
    for (const need of this.#options.needs ?? []) {
      if (need.reasons().length === 0) continue
      const isFault = need.faults().length > 0
      lacks.push({ reason: `${need.name} does not work`, isKnown: need.state === 'waiting', isFault })
    }
    const missing = this.#options.admission === undefined ? [] : this.#options.admission.missing()
    if (missing === undefined) {
      lacks.push({ reason: `it is not known yet what ${this.name} lacks`, isKnown: false, isFault: true })
    }
    for (const { reason, isFault } of missing ?? []) lacks.push({ reason, isKnown: true, isFault })
    for (const [followed, { isNeeded }] of this.#feeds) {
      const lack = lackOf(followed, isNeeded)
      // The reason that the admission gives for the same kind has more detail.
      if (lack !== undefined && missing?.some(({ reason }) => reason.startsWith(lack.reason)) !== true) lacks.push(lack)
    }
    return lacks
  }
}

function lackOf({ feed, hasSynced }: SharedFeed, isNeeded: Necessity): Lack | undefined {
  const problem = feed.problem?.()
  if (problem === undefined) {
    return hasSynced ? undefined : { reason: `${feed.name} is not listed yet`, isKnown: false, isFault: true }
  }
  const isInstalled = feed.isInstalled !== false
  const isMissed = isNeeded === 'where installed' ? isInstalled : isNeeded
  return isMissed ? { reason: problem, isKnown: true, isFault: isInstalled } : undefined
}

function stateOf(lacks: readonly Lack[], isAdmitted: boolean): DomainState {
  if (lacks.length === 0) return isAdmitted ? 'working' : 'starting'
  return lacks.some(({ isKnown }) => isKnown) ? 'waiting' : 'starting'
}

// The life of a process that reconciles, made of failure domains (domain.ts). Feeds are started; each domain begins its
// passes when its own are synced, so a reconciler never sees a world that is only half known, and no domain waits for
// another's. When the process stops, passes end before the feeds of the caches that they read.
//
//   new --start--> starting --admitted, every domain works or says why it waits--> running --stop--> stopping --> stopped

import { setMaxListeners } from 'node:events'
import { describeError, type Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type Clock, pause } from './clock.ts'
import { type Domain, type DomainOptions, type Feed, ManagedDomain, type SharedFeed, type Task } from './domain.ts'
import { measureRuntime, noMetrics, type RuntimeMetrics } from './metrics.ts'
import type { Random } from './random.ts'
import { type Reconciler, type RunningReconciler, runReconciler } from './reconciler.ts'
import { Cancelled, type CancelReason } from './retry-policy.ts'
import { Waiters } from './waiters.ts'

export interface ManagerOptions {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly metrics?: Metrics | undefined
  /** What every domain waits for before its passes begin: to be the leader. */
  readonly admitted?: (signal: AbortSignal) => Promise<void>
  /** How long running passes may take to end. */
  readonly stopMsMax?: number
  /** Called when a task ends by itself or fails: the owner of the process decides. */
  readonly onTaskEnd?: (task: string, error: unknown) => void
}

export type ManagerState = 'new' | 'starting' | 'running' | 'stopping' | 'stopped'

export class Manager {
  readonly #options: ManagerOptions
  readonly #domains: ManagedDomain[] = []
  readonly #feeds = new Map<Feed, SharedFeed>()
  readonly #reconcilers: RunningReconciler[] = []
  readonly #abort = new AbortController()
  readonly #settled = new Waiters()
  readonly #metrics: RuntimeMetrics
  readonly #tasks: Promise<void>[] = []
  #state: ManagerState = 'new'
  #isAdmitted = false
  #stopped: Promise<void> | undefined

  constructor(options: ManagerOptions) {
    this.#options = options
    this.#metrics =
      options.metrics === undefined ? noMetrics : measureRuntime(options.metrics, this.#reconcilers, this.#domains)
    // Every feed listens until it is synced, and there are as many as there are kinds.
    setMaxListeners(0, this.#abort.signal)
  }

  get state(): ManagerState {
    return this.#state
  }

  /** In the order in which they were made: each after those that it needs. */
  get domains(): readonly Domain[] {
    return this.#domains
  }

  /** Of all domains that work. */
  get backlog(): number {
    return this.#domains.reduce((sum, { backlog }) => sum + backlog, 0)
  }

  domain(name: string, options: DomainOptions = {}): Domain {
    this.#mustBeNew('a domain')
    const domain = new ManagedDomain(name, options, {
      log: this.#options.log,
      mustBeNew: what => this.#mustBeNew(what),
      follow: feed => this.#follow(feed),
      run: reconciler => this.#run(reconciler, name),
      begin: task => this.#tasks.push(this.#supervise(task)),
      changed: () => this.#update(),
    })
    this.#domains.push(domain)
    return domain
  }

  /**
   * Resolves when every domain works or is known to wait for something; what changes later begins, pauses and continues
   * passes by itself. Rejects with `Cancelled` when it was stopped before.
   */
  async start(): Promise<void> {
    this.#mustBeNew('a start')
    this.#state = 'starting'
    const { signal } = this.#abort
    for (const followed of this.#feeds.values()) this.#begin(followed)
    this.#update()
    await this.#options.admitted?.(signal)
    signal.throwIfAborted()
    this.#isAdmitted = true
    this.#update()
    await this.#settled.until(this.#isSettled(), signal)
    this.#state = 'running'
  }

  /** Ends passes, then tasks, then feeds. Answers in bounded time even when a pass does not listen. */
  stop(reason: CancelReason): Promise<void> {
    this.#stopped ??= this.#stop(reason)
    return this.#stopped
  }

  async #stop(reason: CancelReason): Promise<void> {
    const { clock, log, stopMsMax = 15_000 } = this.#options
    this.#enter('stopping')
    const deadline = new AbortController()
    const late = pause(clock, stopMsMax, deadline.signal).then(() => 'late' as const)
    const passes = Promise.all(this.#reconcilers.map(reconciler => reconciler.stop(reason)))
    if ((await Promise.race([passes, late])) === 'late') log.error('passes did not end in time', { stopMsMax })
    this.#abort.abort(new Cancelled(reason))
    const rest = Promise.all([...this.#tasks, ...[...this.#feeds.keys()].map(feed => feed.stop(reason))])
    if ((await Promise.race([rest, late])) === 'late') log.error('sources and tasks did not end in time', { stopMsMax })
    deadline.abort()
    this.#enter('stopped')
  }

  #enter(state: 'stopping' | 'stopped'): void {
    this.#state = state
    for (const domain of this.#domains) domain.state = state
  }

  /** A domain is asked after those it needs, which were made before it: once round is enough. */
  #update(): void {
    if (this.#state !== 'starting' && this.#state !== 'running') return
    for (const domain of this.#domains) domain.update(this.#isAdmitted)
    if (this.#isSettled()) this.#settled.resolve()
  }

  #isSettled(): boolean {
    return this.#isAdmitted && this.#domains.every(({ state }) => state === 'working' || state === 'waiting')
  }

  #follow(feed: Feed): SharedFeed {
    const known = this.#feeds.get(feed)
    if (known !== undefined) return known
    const followed: SharedFeed = { feed, hasSynced: false }
    this.#feeds.set(feed, followed)
    return followed
  }

  #begin(followed: SharedFeed): void {
    const { feed } = followed
    const { signal } = this.#abort
    feed.onProblemChange?.(() => this.#update())
    feed.start()
    feed.synced(signal).then(
      () => {
        followed.hasSynced = true
        this.#update()
      },
      error => {
        if (!signal.aborted) this.#options.log.error('a source gave up', { source: feed.name, error })
      },
    )
  }

  #run(reconciler: Reconciler, desk: string): RunningReconciler {
    const running = runReconciler(reconciler, { ...this.#options, metrics: this.#metrics, desk })
    this.#reconcilers.push(running)
    this.#metrics.added(desk, reconciler.name)
    return running
  }

  async #supervise(task: Task): Promise<void> {
    let failure: unknown
    try {
      await task.run(this.#abort.signal)
    } catch (error) {
      failure = error
    }
    if (this.#abort.signal.aborted) return
    this.#options.log.error('a task ended', { task: task.name, error: failure && describeError(failure) })
    this.#options.onTaskEnd?.(task.name, failure)
  }

  #mustBeNew(what: string): void {
    if (this.#state !== 'new') throw new Error(`${what} comes too late: the manager is ${this.#state}`)
  }
}

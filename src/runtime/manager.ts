// The life of a process that reconciles: sources are started, all of them are waited for, then passes begin; when it is
// told to stop, passes end before the sources they read from. A reconciler never sees a world that is only half known.
//
//   new --start--> starting --all synced, admitted--> running --stop--> stopping --> stopped

import { setMaxListeners } from 'node:events'
import { describeError, type Log } from '../telemetry/log.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type Clock, pause } from './clock.ts'
import { measureRuntime, noMetrics, type RuntimeMetrics } from './metrics.ts'
import type { Random } from './random.ts'
import { type Reconciler, type RunningReconciler, runReconciler } from './reconciler.ts'
import { Cancelled, type CancelReason } from './retry-policy.ts'

/** Something that keeps a view of the world up to date until it is told to stop. */
export interface Source {
  readonly name: string
  start(): void
  /** Resolves when the view is complete for the first time; rejects when the signal is aborted before. */
  synced(signal: AbortSignal): Promise<void>
  stop(reason: CancelReason): Promise<void>
}

/** Work beside the reconcilers that lasts as long as they do. It ends when the signal is aborted. */
export interface Task {
  readonly name: string
  run(signal: AbortSignal): Promise<void>
}

export interface ManagerOptions {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly metrics?: Metrics | undefined
  /** What else is waited for before passes begin: to be the leader. */
  readonly admitted?: (signal: AbortSignal) => Promise<void>
  /** How long running passes may take to end. */
  readonly stopMsMax?: number
  /** Told when a task ends by itself or fails: whoever owns the process decides. */
  readonly onTaskEnd?: (task: string, error: unknown) => void
}

export type ManagerState = 'new' | 'starting' | 'running' | 'stopping' | 'stopped'

export class Manager {
  readonly #options: ManagerOptions
  readonly #sources: Source[] = []
  readonly #reconcilers: RunningReconciler[] = []
  readonly #tasks: Task[] = []
  readonly #abort = new AbortController()
  readonly #metrics: RuntimeMetrics
  #running: Promise<void>[] = []
  #state: ManagerState = 'new'
  #stopped: Promise<void> | undefined

  constructor(options: ManagerOptions) {
    this.#options = options
    this.#metrics = options.metrics === undefined ? noMetrics : measureRuntime(options.metrics, this.#reconcilers)
    // Every source listens until it is synced, and there are as many as there are kinds.
    setMaxListeners(0, this.#abort.signal)
  }

  get state(): ManagerState {
    return this.#state
  }

  get reconcilers(): readonly RunningReconciler[] {
    return this.#reconcilers
  }

  /** A source that several reconcilers read is added once. */
  addSource(source: Source): void {
    this.#mustBeNew('a source')
    if (!this.#sources.includes(source)) this.#sources.push(source)
  }

  addTask(task: Task): void {
    this.#mustBeNew('a task')
    this.#tasks.push(task)
  }

  /** The answer takes marks at once; passes begin when everything is synced. */
  addReconciler(reconciler: Reconciler): RunningReconciler {
    this.#mustBeNew('a reconciler')
    const running = runReconciler(reconciler, { ...this.#options, metrics: this.#metrics })
    this.#reconcilers.push(running)
    return running
  }

  /** Resolves when passes have begun; rejects with `Cancelled` when it was stopped before. */
  async start(): Promise<void> {
    this.#mustBeNew('a start')
    this.#state = 'starting'
    for (const source of this.#sources) source.start()
    await Promise.all(this.#sources.map(source => source.synced(this.#abort.signal)))
    await this.#options.admitted?.(this.#abort.signal)
    this.#abort.signal.throwIfAborted()
    this.#state = 'running'
    this.#options.log.info('everything is synced, passes begin', { sources: this.#sources.length })
    for (const reconciler of this.#reconcilers) reconciler.start()
    this.#running = this.#tasks.map(task => this.#supervise(task))
  }

  /** Ends passes, then tasks, then sources. Answers in bounded time even when a pass does not listen. */
  stop(reason: CancelReason): Promise<void> {
    this.#stopped ??= this.#stop(reason)
    return this.#stopped
  }

  async #stop(reason: CancelReason): Promise<void> {
    const { clock, log, stopMsMax = 15_000 } = this.#options
    this.#state = 'stopping'
    const deadline = new AbortController()
    const late = pause(clock, stopMsMax, deadline.signal).then(() => 'late' as const)
    const passes = Promise.all(this.#reconcilers.map(reconciler => reconciler.stop(reason)))
    if ((await Promise.race([passes, late])) === 'late') log.error('passes did not end in time', { stopMsMax })
    this.#abort.abort(new Cancelled(reason))
    const rest = Promise.all([...this.#running, ...this.#sources.map(source => source.stop(reason))])
    if ((await Promise.race([rest, late])) === 'late') log.error('sources and tasks did not end in time', { stopMsMax })
    deadline.abort()
    this.#state = 'stopped'
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

// The contract of a pass: it is given a key, looks at the world as it is, does what is missing, and says when the key
// is to be requeued. Everything around it is done here, once: an error backs off, a conflict is requeued, an exception is an
// error like any other, a cancelled pass is no failure, and every pass has an id that its log lines and requests carry.

import { describeError, type Log } from '../telemetry/log.ts'
import type { Backoff } from './backoff.ts'
import type { CancelTimer, Clock } from './clock.ts'
import { noMetrics, type PassOutcome, type RuntimeMetrics } from './metrics.ts'
import { type Next, WorkQueue } from './queue.ts'
import type { Random } from './random.ts'
import { fingerprintOf, Repeats } from './repeats.ts'
import { Cancelled, type CancelReason, retryPolicyOf, toError } from './retry-policy.ts'

/** What a pass answers. */
export type PassResult = Exclude<Next, { kind: 'retry' | 'stale' }>

/** Nothing to do until something changes. */
export function done(): PassResult {
  return { kind: 'done' }
}

/** Another pass for the key, behind the others. */
export function requeue(): PassResult {
  return { kind: 'requeue' }
}

/** Another pass after so long, or earlier if something changes. */
export function requeueAfter(delayMs: number): PassResult {
  return { kind: 'requeue after', delayMs }
}

/**
 * A read that is made for several passes at once (`kube/shared-read.ts`) is of none of them: it carries no id, and goes on when one of
 * them is aborted.
 */
export interface Pass {
  readonly key: string
  /** In every log line of this pass, and in every request sent through `Client.withPass`. */
  readonly id: string
  readonly log: Log
  /** Aborted with a `Cancelled` when the process stops, the lease is lost or the pass takes too long. */
  readonly signal: AbortSignal
  /** The pass wrote this, and it was accepted. */
  wrote(what: Written): void
}

/** What was written: the request in short, and its body. */
export interface Written {
  readonly request: string
  readonly body: string
}

export interface ReconcilerDefinition {
  /** `claim.binding`: the same word in logs, metrics and docs. */
  readonly name: string
  /** The kind of the claims that it decides about, for the log. */
  readonly claimKind?: string
  readonly reconcile: (key: string, pass: Pass) => Promise<PassResult>
  /** Whether nothing is to be done for a key, told from the caches alone: then no pass is made of it. */
  readonly isSettled?: (key: string) => boolean
  /** Keys worked on at once. */
  readonly concurrency?: number
  /**
   * Groups are served in turn, so that none waits for another: namespaces, and in each its pools. The outermost comes first.
   * Keys of one group run beside each other.
   */
  readonly groupOf?: (key: string) => readonly string[]
  readonly backoff?: Backoff
  /** A pass that takes longer is aborted. */
  readonly passMsMax?: number
  /** Passes begin from now on, for the first time or again. */
  readonly onStart?: () => void
  /** No pass begins until it starts again. */
  readonly onPause?: () => void
  /** Passes of the key have written the same again and again: its next one begins by itself, and a while from now. */
  readonly onRest?: (key: string) => void
}

export interface Reconciler extends ReconcilerDefinition {
  readonly concurrency: number
  readonly passMsMax: number
}

export function defineReconciler(definition: ReconcilerDefinition): Reconciler {
  return { concurrency: 8, passMsMax: 60_000, ...definition }
}

export interface ReconcilerParts {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly metrics?: RuntimeMetrics
  /** The desk, or the office, that it is of. */
  readonly desk?: string
}

export interface RunningReconciler {
  readonly desk: string
  readonly name: string
  mark(key: string): void
  markAfter(key: string, delayMs: number): void
  start(): void
  /** No pass begins until `start` is called again; those that run go on. */
  pause(): void
  /** Aborts running passes with this reason; resolves when they have ended. */
  stop(reason: CancelReason): Promise<void>
  readonly depth: number
  readonly running: number
  readonly size: number
  oldestMs(): number
}

/** Keys may be marked at once; passes begin with `start`. */
export function runReconciler(reconciler: Reconciler, parts: ReconcilerParts): RunningReconciler {
  const { name, claimKind } = reconciler
  const { clock, random, metrics = noMetrics, desk = '' } = parts
  const log = parts.log.with({ desk, ...(claimKind !== undefined && { claimKind }), reconciler: name })
  const passes = new Set<RunningPass>()
  const repeats = new Repeats(clock, random)

  function withRest(next: Next, pass: RunningPass): Next {
    const { key, written } = pass
    const repeat = written && repeats.passed(key, written.fingerprint)
    if (repeat === undefined) return next
    metrics.repeated(desk, name)
    if (repeat.isFirst) pass.log.error('the same is written again and again', { write: written?.last })
    reconciler.onRest?.(key)
    return { ...next, restMs: repeat.restMs }
  }

  async function run(key: string): Promise<Next> {
    const pass = new RunningPass(key, { clock, random, log, msMax: reconciler.passMsMax })
    passes.add(pass)
    const [outcome, next] = await attempt(reconciler, pass)
    pass.end()
    passes.delete(pass)
    metrics.passed(desk, name, outcome, clock.monotonicMs() - pass.startMs)
    return withRest(next, pass)
  }

  function isSettled(key: string): boolean {
    if (reconciler.isSettled?.(key) !== true) return false
    metrics.passed(desk, name, 'done', 0)
    return true
  }

  const queue = new WorkQueue({
    clock,
    random,
    run,
    concurrency: reconciler.concurrency,
    onWaited: waitedMs => metrics.waited(desk, name, waitedMs),
    ...(reconciler.isSettled && { isSettled: key => isSettled(key) }),
    ...(reconciler.groupOf && { groupOf: reconciler.groupOf }),
    ...(reconciler.backoff && { backoff: reconciler.backoff }),
  })
  return {
    desk,
    name,
    mark: key => queue.mark(key),
    markAfter: (key, delayMs) => queue.markAfter(key, delayMs),
    start() {
      queue.start()
      reconciler.onStart?.()
    },
    pause() {
      queue.pause()
      reconciler.onPause?.()
    },
    stop(reason) {
      const stopped = queue.stop()
      for (const pass of passes) pass.cancel(new Cancelled(reason))
      return stopped
    },
    get depth() {
      return queue.depth
    },
    get running() {
      return queue.running
    },
    get size() {
      return queue.size
    },
    oldestMs: () => queue.oldestMs(),
  }
}

interface PassParts {
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly msMax: number
}

/**
 * Most passes find everything as it should be: after a start there is one for every object there is. So a log, an id and a signal
 * with its deadline are made when the pass first asks for them.
 */
class RunningPass implements Pass {
  readonly key: string
  readonly startMs: number
  readonly #parts: PassParts
  #id: string | undefined
  #log: Log | undefined
  #abort: AbortController | undefined
  #cancelled: Cancelled | undefined
  #written: { readonly fingerprint: number; readonly last: string } | undefined
  #cancelDeadline: CancelTimer = () => {}

  constructor(key: string, parts: PassParts) {
    this.key = key
    this.#parts = parts
    this.startMs = parts.clock.monotonicMs()
  }

  get id(): string {
    this.#id ??= passId(this.#parts.random)
    return this.#id
  }

  get log(): Log {
    this.#log ??= this.#parts.log.with({ key: this.key, reconcileId: this.id })
    return this.#log
  }

  get signal(): AbortSignal {
    if (this.#abort !== undefined) return this.#abort.signal
    const abort = new AbortController()
    this.#abort = abort
    if (this.#cancelled !== undefined) abort.abort(this.#cancelled)
    const { clock, msMax } = this.#parts
    const leftMs = this.startMs + msMax - clock.monotonicMs()
    this.#cancelDeadline = clock.setTimer(leftMs, () => abort.abort(new Cancelled('deadline')))
    return abort.signal
  }

  /** Why it was aborted, if it was. */
  get cancelReason(): unknown {
    return this.#abort === undefined ? this.#cancelled : this.#abort.signal.reason
  }

  wrote({ request, body }: Written): void {
    this.#written = { fingerprint: fingerprintOf(`${request} ${body}`, this.#written?.fingerprint), last: request }
  }

  /** All that it wrote, in short, and the last of it. */
  get written(): { readonly fingerprint: number; readonly last: string } | undefined {
    return this.#written
  }

  cancel(why: Cancelled): void {
    this.#cancelled = why
    this.#abort?.abort(why)
  }

  end(): void {
    this.#cancelDeadline()
  }
}

async function attempt({ reconcile }: Reconciler, pass: RunningPass): Promise<[PassOutcome, Next]> {
  try {
    const result = await reconcile(pass.key, pass)
    return [result.kind === 'requeue after' ? 'requeue_after' : result.kind, result]
  } catch (thrown) {
    const error = toError(thrown)
    const reason = pass.cancelReason
    if (reason instanceof Cancelled && reason.reason !== 'deadline') return ['cancelled', { kind: 'done' }]
    return judge(error, pass.log)
  }
}

function judge(error: Error, log: Log): [PassOutcome, Next] {
  const retryPolicy = retryPolicyOf(error)
  switch (retryPolicy.kind) {
    case 'stale':
      log.debug('decided on an old cache, running again', { error: describeError(error) })
      return ['conflict', { kind: 'stale' }]
    case 'retry':
      log.info('a pass failed and will be tried again', { error: describeError(error) })
      return [
        'failed',
        { kind: 'retry', ...(retryPolicy.atLeastMs !== undefined && { atLeastMs: retryPolicy.atLeastMs }) },
      ]
  }
}

function passId(random: Random): string {
  return Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0')
}

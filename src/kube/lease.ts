// Leader election: which of several processes works. It only spares wasted work: nothing that must be safe rests on it (I15).
//
// A leader takes itself for one for `renewMsMax` from the moment *before* it sent the renewal that succeeded. A candidate
// takes over when it has seen the same Lease for the whole duration of the Lease by its own clock, which began later than
// that moment. The first span is shorter than the second, so as long as clocks run at about the same speed at most one
// process takes itself for the leader. The clocks may show different times: stored times are for people, only versions are
// compared.
//
//   candidate --Lease free, or unchanged for its duration: written--> leader --not renewed in time--> candidate
//                                                                       `--stopped: released-------> stopped

import { type Clock, pause } from '../runtime/clock.ts'
import type { Random } from '../runtime/random.ts'
import { Waiters } from '../runtime/waiters.ts'
import { describeError, type Log } from '../telemetry/log.ts'
import { isApiError } from './api-error.ts'
import type { Client } from './client.ts'
import { defineKind, type KubeObject } from './object.ts'
import { toMicroTime } from './timestamp.ts'

export interface LeaseSpec {
  readonly holderIdentity?: string
  readonly leaseDurationSeconds?: number
  readonly acquireTime?: string
  readonly renewTime?: string
  readonly leaseTransitions?: number
}

export interface Lease extends KubeObject {
  readonly spec?: LeaseSpec
}

export const leases = defineKind<Lease>({
  group: 'coordination.k8s.io',
  versions: ['v1'],
  plural: 'leases',
  kind: 'Lease',
  namespaced: true,
})

export interface ElectionOptions {
  readonly client: Pick<Client, 'get' | 'create' | 'update'>
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly namespace: string
  readonly name: string
  /** Unlike any other process's, also unlike this one's before its restart. */
  readonly identity: string
  readonly durationSeconds?: number
  /** How long a process takes itself for the leader without a renewal. */
  readonly renewMsMax?: number
  /** Between two tries or renewals. */
  readonly periodMs?: number
  readonly onElected?: () => void
  readonly onLost?: () => void
}

/** Conflicts at the end are with ourselves, and there is at most one request of ours under way. */
const releaseTriesMax = 3

export class Election {
  readonly name = 'election'
  readonly #options: ElectionOptions
  readonly #durationSeconds: number
  readonly #renewMsMax: number
  readonly #periodMs: number
  readonly #waiting = new Waiters()
  /** It takes itself for the leader until then. */
  #leaderUntilMs = Number.NEGATIVE_INFINITY
  #wasLeader = false
  /** A write whose answer was lost may have made the Lease ours. */
  #hasWritten = false
  #seen: { version: string; sinceMs: number; lease: Lease } | undefined

  constructor(options: ElectionOptions) {
    this.#options = options
    this.#durationSeconds = options.durationSeconds ?? 15
    this.#renewMsMax = options.renewMsMax ?? (this.#durationSeconds * 1000 * 2) / 3
    this.#periodMs = options.periodMs ?? 2_000
    if (this.#renewMsMax >= this.#durationSeconds * 1000) {
      throw new RangeError('a leader must give up before others may take over')
    }
  }

  /** Asked at the moment it matters: a process that slept finds out here. */
  get isLeader(): boolean {
    return this.#options.clock.monotonicMs() < this.#leaderUntilMs
  }

  /** The identity that held the Lease when it was last read. */
  get holder(): string | undefined {
    return this.#seen?.lease.spec?.holderIdentity || undefined
  }

  /** Resolves when this process is the leader; rejects when the signal is aborted before. */
  elected(signal: AbortSignal): Promise<void> {
    return this.#waiting.until(this.isLeader, signal)
  }

  /** Takes part until the signal is aborted, then gives the lease back. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.#options
    while (!signal.aborted) {
      const cancelTry = new AbortController()
      const forward = () => cancelTry.abort(signal.reason)
      signal.addEventListener('abort', forward, { once: true })
      const limitMs = this.isLeader ? this.#leaderUntilMs - clock.monotonicMs() : this.#renewMsMax
      const cancelLimit = clock.setTimer(limitMs, () => {
        cancelTry.abort(new Error('the time to renew is over'))
        this.#notice()
      })
      try {
        await this.#try(cancelTry.signal)
      } catch (error) {
        if (!signal.aborted) log.debug('the lease could not be taken or renewed', { error: describeError(error) })
      }
      cancelLimit()
      signal.removeEventListener('abort', forward)
      this.#notice()
      const restMs = this.#periodMs * (1 + random() / 5)
      await pause(clock, this.isLeader ? Math.min(restMs, this.#leaderUntilMs - clock.monotonicMs()) : restMs, signal)
      this.#notice()
    }
    await this.#release()
  }

  async #try(signal: AbortSignal): Promise<void> {
    const { client, clock, namespace, name, identity } = this.#options
    const startMs = clock.monotonicMs()
    const lease = await client.get(leases, { namespace, name }, { signal })
    if (lease === undefined) {
      const spec = this.#spec(undefined)
      this.#hasWritten = true
      const made = await client.create(leases, { metadata: { namespace, name }, spec }, { signal })
      return this.#renewed(made, startMs)
    }
    this.#observe(lease)
    if (lease.spec?.holderIdentity !== identity && !this.#mayTake(lease)) return
    this.#hasWritten = true
    const next = await client.update(leases, { ...lease, spec: this.#spec(lease) }, { signal })
    this.#renewed(next, startMs)
  }

  #observe(lease: Lease): void {
    const version = lease.metadata.resourceVersion ?? ''
    if (this.#seen?.version === version) return
    this.#seen = { version, sinceMs: this.#options.clock.monotonicMs(), lease }
  }

  #mayTake(lease: Lease): boolean {
    if (!lease.spec?.holderIdentity) return true
    const durationMs = (lease.spec.leaseDurationSeconds ?? this.#durationSeconds) * 1000
    return this.#seen !== undefined && this.#options.clock.monotonicMs() - this.#seen.sinceMs >= durationMs
  }

  #spec(lease: Lease | undefined): LeaseSpec {
    const { clock, identity } = this.#options
    const now = toMicroTime(clock.now())
    const isOurs = lease?.spec?.holderIdentity === identity
    return {
      ...lease?.spec,
      holderIdentity: identity,
      leaseDurationSeconds: this.#durationSeconds,
      acquireTime: isOurs ? (lease.spec?.acquireTime ?? now) : now,
      renewTime: now,
      leaseTransitions: (lease?.spec?.leaseTransitions ?? 0) + (lease === undefined || isOurs ? 0 : 1),
    }
  }

  #renewed(lease: Lease, startMs: number): void {
    this.#observe(lease)
    this.#leaderUntilMs = startMs + this.#renewMsMax
    this.#notice()
  }

  /** Logs and calls back once for each change between leader and candidate. */
  #notice(): void {
    const { log, identity, name, onElected, onLost } = this.#options
    if (this.isLeader === this.#wasLeader) return
    this.#wasLeader = this.isLeader
    if (!this.#wasLeader) {
      log.error('lost the lease', { lease: name, identity })
      return onLost?.()
    }
    log.info('became leader', { lease: name, identity })
    this.#waiting.resolve()
    onElected?.()
  }

  /**
   * Read anew first: a renewal that was cut short by the order to stop may have arrived all the same, and with the version
   * from before it the lease would be refused and run out instead.
   */
  async #release(): Promise<void> {
    const { client, log, namespace, name, identity } = this.#options
    this.#leaderUntilMs = Number.NEGATIVE_INFINITY
    this.#wasLeader = false
    if (!this.#hasWritten) return
    for (let tries = 1; tries <= releaseTriesMax; tries++) {
      try {
        const lease = await client.get(leases, { namespace, name })
        if (lease?.spec?.holderIdentity !== identity) return
        const spec: LeaseSpec = { ...this.#spec(lease), holderIdentity: '', leaseDurationSeconds: 1 }
        await client.update(leases, { ...lease, spec })
        return
      } catch (error) {
        if (isApiError(error, 'Conflict')) continue
        if (!isApiError(error, 'NotFound')) {
          log.info('the lease was not given back, it will run out', { error: describeError(error) })
        }
        return
      }
    }
  }
}

// Time is passed in. Wall time is for people and for what is stored; how long something took or may take is measured on
// the monotonic clock, because wall time jumps. Timers are asked of the clock too, so a test owns every wait.

export interface Clock {
  /** Wall time, in milliseconds since 1970. It may jump, also back. */
  now(): number
  /** Milliseconds since some moment in the past; never goes back. */
  monotonicMs(): number
  /** Calls `fire` once, after at least so long, unless the answer is called first. */
  setTimer(delayMs: number, fire: () => void): CancelTimer
}

export type CancelTimer = () => void

/** Node fires a timer at once when its delay does not fit 31 bits. */
const timerMsMax = 2 ** 31 - 1

export const realClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(delayMs, fire) {
    const dueMs = performance.now() + delayMs
    let timer: NodeJS.Timeout
    const arm = () => {
      const leftMs = dueMs - performance.now()
      timer = leftMs > timerMsMax ? setTimeout(arm, timerMsMax) : setTimeout(fire, Math.max(0, leftMs))
    }
    arm()
    return () => clearTimeout(timer)
  },
}

/** Waits, or stops waiting as soon as the signal is aborted: the caller looks at the signal afterwards. */
export function pause(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted) return resolve()
    const end = () => {
      cancel()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const cancel = clock.setTimer(delayMs, end)
    signal?.addEventListener('abort', end, { once: true })
  })
}

// Work that was begun goes before work that clients bring. A custom object that a client creates makes work for the controllers
// of this process: a virtual machine, some twenty writes. While these have as much to do as keeps the process busy, the next
// such object waits. So clients create at the speed at which they are served, and an object that was taken in does not wait
// behind thousands of others. Users take turns: one that brings thousands makes another wait for one of them at a time.
//
// What has many keys is not always busy: controllers may wait for a vCenter, for the disk, or for that very client. So while the
// process is idle, one goes after the other. And an object waits so long at most, and only so many do.

import { performance } from 'node:perf_hooks'
import { createsWaitingMax, createWaitMsMax, ownWorkEnough } from '../../limits.ts'

/** Runs the creation of an object by a user, when its turn has come. */
export type OwnFirst = <T>(user: string, create: () => Promise<T>) => Promise<T>

export interface OwnFirstOptions {
  /** How much the controllers of this process have to do at this moment. */
  readonly ownWork: () => number
  /** Whether this process mostly waited since this was asked last. */
  readonly wasIdle?: () => boolean
  readonly enough?: number
  readonly waitMsMax?: number
  readonly waitingMax?: number
}

/** How often it is looked whether there is room, while there are objects that wait. */
const lookMs = 5

/** Of the time between two looks. */
const idleShareMin = 0.5

/** A process that gets little of its machine is busy all the same: its work waits for the processor, not for others. */
function idleWatch(): () => boolean {
  let before = performance.eventLoopUtilization()
  return () => {
    const now = performance.eventLoopUtilization()
    const { active, idle } = performance.eventLoopUtilization(now, before)
    before = now
    return idle > idleShareMin * (active + idle)
  }
}

interface Waiter {
  readonly untilMs: number
  readonly go: () => void
}

export function createOwnFirst(options: OwnFirstOptions): OwnFirst {
  const { ownWork, wasIdle = idleWatch(), enough = ownWorkEnough } = options
  const { waitMsMax = createWaitMsMax, waitingMax = createsWaitingMax } = options
  let underWay = 0
  /** Of each user in the order in which they came; the user whose turn it is stands first. */
  const waiting = new Map<string, Waiter[]>()
  let waitingCount = 0
  let looking: NodeJS.Timeout | undefined

  const hasRoom = (): boolean => {
    const own = ownWork()
    // Without controllers, or with idle ones, there is nothing to go first.
    return own === 0 || underWay + own < enough
  }

  function look(): void {
    const nowMs = performance.now()
    for (const [user, waiters] of [...waiting]) {
      // Of one user those that came first have waited longest.
      while (waiters[0] !== undefined && waiters[0].untilMs <= nowMs) letGo(user, waiters)
    }
    const [first] = waiting
    if (first !== undefined && wasIdle()) letGo(...first)
    for (let [next] = waiting; next !== undefined && hasRoom(); [next] = waiting) letGo(...next)
    if (waitingCount > 0) return
    clearInterval(looking)
    looking = undefined
  }

  function letGo(user: string, waiters: Waiter[]): void {
    const first = waiters.shift()
    waiting.delete(user)
    if (waiters.length > 0) waiting.set(user, waiters)
    if (first === undefined) return
    waitingCount--
    // Counted here: `go` is heard of only later.
    underWay++
    first.go()
  }

  function turn(user: string): Promise<void> {
    return new Promise(go => {
      const waiters = waiting.get(user) ?? []
      waiting.set(user, waiters)
      waiters.push({ untilMs: performance.now() + waitMsMax, go })
      waitingCount++
      looking ??= setInterval(look, lookMs)
    })
  }

  return async (user, create) => {
    const mustWait = waitingCount > 0 || !hasRoom()
    if (mustWait && waitingCount < waitingMax) await turn(user)
    else underWay++
    try {
      return await create()
    } finally {
      underWay--
    }
  }
}

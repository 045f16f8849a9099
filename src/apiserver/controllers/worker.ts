// A work queue: marked keys are handled one after the other. A key marked while it is being handled is handled again;
// one that fails is retried with a growing delay, and told of once for as long as it fails for the same reason. A watch may
// only mark keys: work never runs inside an event handler.

const retryMsMin = 20
const retryMsMax = 30_000

export interface Worker {
  mark(key: string): void
  /** Looks at the key again after a while, whatever happens meanwhile; the earliest of several times holds. */
  markLater(key: string, delayMs: number): void
  stop(): void
}

export function createWorker(
  look: (key: string) => Promise<void>,
  onError: (error: unknown, key: string) => void,
): Worker {
  const marked = new Set<string>()
  const failures = new Map<string, { readonly count: number; readonly reason: string }>()
  const timers = new Map<string, { readonly timer: NodeJS.Timeout; readonly dueMs: number }>()
  let isRunning = false
  let isStopped = false

  async function run(): Promise<void> {
    isRunning = true
    // A turn of the event loop first: many changes that arrive together are looked at once.
    await new Promise(resolve => setImmediate(resolve))
    for (const key of marked) {
      if (isStopped) break
      marked.delete(key)
      await lookOnce(key)
    }
    isRunning = false
    if (marked.size > 0 && !isStopped) void run()
  }

  async function lookOnce(key: string): Promise<void> {
    try {
      await look(key)
      failures.delete(key)
    } catch (error) {
      // What was under way at the end may find the store closed; the next start looks at everything anew.
      if (isStopped) return
      const before = failures.get(key)
      const count = (before?.count ?? 0) + 1
      const reason = error instanceof Error ? error.message : String(error)
      failures.set(key, { count, reason })
      if (reason !== before?.reason) onError(error, key)
      markLater(key, Math.min(retryMsMin * 2 ** (count - 1), retryMsMax))
    }
  }

  function mark(key: string): void {
    if (isStopped) return
    marked.add(key)
    if (!isRunning) void run()
  }

  function markLater(key: string, delayMs: number): void {
    if (isStopped) return
    const dueMs = performance.now() + delayMs
    const pending = timers.get(key)
    if (pending !== undefined && pending.dueMs <= dueMs) return
    clearTimeout(pending?.timer)
    const timer = setTimeout(() => {
      timers.delete(key)
      mark(key)
    }, delayMs)
    timers.set(key, { timer, dueMs })
  }

  return {
    mark,
    markLater,
    stop() {
      isStopped = true
      for (const { timer } of timers.values()) clearTimeout(timer)
      timers.clear()
    },
  }
}

// A work queue: marked keys are handled one after the other. A key marked while it is being handled is handled again;
// one that fails is retried with a growing delay. A watch may only mark keys: work never runs inside an event handler.

const retryMsMin = 20
const retryMsMax = 30_000

export interface Worker {
  mark(key: string): void
  /** Looks at the key again after a while, whatever happens meanwhile. */
  markLater(key: string, delayMs: number): void
  stop(): void
}

export function createWorker(
  look: (key: string) => Promise<void>,
  onError: (error: unknown, key: string) => void,
): Worker {
  const marked = new Set<string>()
  const failures = new Map<string, number>()
  const timers = new Map<string, NodeJS.Timeout>()
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
      const count = (failures.get(key) ?? 0) + 1
      failures.set(key, count)
      onError(error, key)
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
    clearTimeout(timers.get(key))
    const timer = setTimeout(() => {
      timers.delete(key)
      mark(key)
    }, delayMs)
    timers.set(key, timer)
  }

  return {
    mark,
    markLater,
    stop() {
      isStopped = true
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
    },
  }
}

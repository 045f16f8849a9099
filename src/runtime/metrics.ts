// What the runtime counts, as calls on an interface: where the numbers go is decided above.

export type PassOutcome = 'done' | 'again' | 'after' | 'conflict' | 'failed' | 'terminal' | 'cancelled'

export interface RuntimeMetrics {
  /** A key waited so long from being ready to being taken. */
  waited(reconciler: string, waitedMs: number): void
  /** A pass ended. */
  passed(reconciler: string, outcome: PassOutcome, tookMs: number): void
  /** Keys ready, and keys being worked on. */
  depth(reconciler: string, ready: number, running: number): void
}

export const noMetrics: RuntimeMetrics = {
  waited: () => {},
  passed: () => {},
  depth: () => {},
}

/** A part of the server that keeps something true by itself, from `start` until `stop`. */
export interface Controller {
  start(): void
  stop(): void
}

/** Told of what went wrong; the controller tries again by itself. */
export type OnError = (error: unknown, what: string) => void

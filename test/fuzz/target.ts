// What is fuzzed: a function that takes any bytes, refuses what it must in a known way, and keeps its promise about the rest.

export interface FuzzTarget {
  readonly name: string
  /** Inputs that lead deep into the code; the runner changes them a little. */
  readonly corpus: readonly (string | Uint8Array)[]
  /** Throws when a promise is broken. */
  run(input: Buffer): void | Promise<void>
}

/** What it answers; undefined when it refused by throwing one of these. Anything else that is thrown is a failure. */
export function unlessRefused<T>(
  act: () => T,
  ...refusals: readonly (new (
    ...args: never[]
  ) => Error)[]
): T | undefined {
  try {
    return act()
  } catch (error) {
    if (refusals.some(refusal => error instanceof refusal)) return undefined
    throw error
  }
}

export function must(holds: boolean, promise: string): void {
  if (!holds) throw new Error(`broken: ${promise}`)
}

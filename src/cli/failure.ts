// How a command says no: what happened, and what to do about it, on two lines, with an exit code that scripts can tell
// apart. Anything else that is thrown is a fault of ours and shows its stack.

export const exitCodes = {
  /** A fault of ours. */
  internal: 1,
  /** The command line itself. */
  usage: 2,
  /** A port, a directory, a file that cannot be used. */
  environment: 3,
  /** Data that is damaged, foreign or in use: nothing was changed. */
  data: 4,
  /** Not everything that was asked about can be done; the answer says what, and nothing went wrong. */
  refused: 5,
} as const

export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exitCode: number
  readonly advice: string

  constructor(exitCode: number, what: string, advice: string, options?: ErrorOptions) {
    super(what, options)
    this.exitCode = exitCode
    this.advice = advice
  }
}

/** One of these codes; any, where none is named. */
export function isErrno(error: unknown, ...codes: string[]): error is NodeJS.ErrnoException {
  return error instanceof Error && 'code' in error && (codes.length === 0 || codes.includes(String(error.code)))
}

// What is fuzzed: a function that takes any bytes, refuses what it must in a known way, and keeps its promise about the rest.

export interface FuzzTarget {
  readonly name: string
  /** Inputs that lead deep into the code; the runner changes them a little. */
  readonly corpus: readonly (string | Uint8Array)[]
  /** Words of the language, which the runner puts between the bytes. */
  readonly dictionary?: readonly string[]
  /** What the runs need; its time is not theirs. */
  begin?(): Promise<void>
  /** Throws when a promise is broken. */
  run(input: Buffer): void | Promise<void>
  /** Ends what was begun. */
  end?(): void | Promise<void>
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

/** Characters that a terminal or a page obeys instead of showing. A line may end, and have tabs. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const hidden = /[\0-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\p{Cf}]/u

/** What kube-apiserver takes for the message of a condition. */
const messageCharsMax = 32_768

/** Of a sentence that another person than the author of what it repeats reads in a terminal. */
export function mustBeReadable(sentence: string): void {
  must(!hidden.test(sentence), `what is hidden is shown: ${JSON.stringify(sentence.slice(0, 300))}`)
  must(sentence.length <= messageCharsMax, `a sentence has an end; it has ${sentence.length} characters`)
}

// What is claimed about the world, one sentence per line, each with its outcome; and the count at the end. A sentence that
// turns out wrong does not stop the others: the reader wants to know all of them.

export class Sentences {
  #passed = 0
  /** What turned out wrong, in the order in which it was told. */
  readonly failures: string[] = []
  readonly #write: (line: string) => void

  constructor(write: (line: string) => void) {
    this.#write = write
  }

  get failed(): number {
    return this.failures.length
  }

  /** Of the other one counts what it found, as if this one had found it. */
  add(other: Sentences): void {
    this.#passed += other.#passed
    this.failures.push(...other.failures)
  }

  /** A chapter that does not run to its end is one failure. */
  async chapter(title: string, tell: () => Promise<void>): Promise<void> {
    this.#write(`\n${title}`)
    try {
      await tell()
    } catch (error) {
      this.failures.push(title)
      this.#write(`  FAILED  this chapter ends here: ${reason(error)}`)
    }
  }

  async it(sentence: string, holds: () => Promise<void>): Promise<void> {
    const started = performance.now()
    try {
      await holds()
      this.#passed++
      this.#write(`  ok      ${sentence} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
    } catch (error) {
      this.failures.push(sentence)
      this.#write(`  FAILED  ${sentence}\n${indented(reason(error))}`)
    }
  }

  closingLine(): string {
    return `${this.#passed} passed, ${this.failed} failed`
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

function indented(text: string): string {
  return text
    .split('\n')
    .map(line => `          ${line}`)
    .join('\n')
}

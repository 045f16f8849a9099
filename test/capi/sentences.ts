// What is claimed about the world, one sentence per line, each with its outcome; and the count at the end. A sentence that
// turns out wrong does not stop the others: the reader wants to know all of them.

import { Unavailable } from '../../scripts/real/binaries.ts'

export class Sentences {
  #passed = 0
  #skipped = 0
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
    this.#skipped += other.#skipped
    this.failures.push(...other.failures)
  }

  /** A chapter that does not run to its end is one failure; one that cannot run on this machine is skipped, and says why. */
  async chapter(title: string, tell: () => Promise<void>): Promise<void> {
    this.#write(`\n${title}`)
    try {
      await tell()
    } catch (error) {
      if (error instanceof Unavailable) {
        this.#skipped++
        return this.#write(`  skipped, because ${error.message}`)
      }
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
    const skipped = this.#skipped === 0 ? '' : `, ${this.#skipped} skipped`
    return `${this.#passed} passed, ${this.failed} failed${skipped}`
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

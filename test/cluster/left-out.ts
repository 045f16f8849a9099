// Says of every test that was left out why it was, each reason once.

import type { Reporter, TestCase } from 'vitest/node'

export default class LeftOut implements Reporter {
  readonly #namesByReason = new Map<string, string[]>()

  onTestCaseResult(test: TestCase): void {
    const result = test.result()
    if (result.state !== 'skipped' || result.note === undefined) return
    const names = this.#namesByReason.get(result.note) ?? []
    this.#namesByReason.set(result.note, [...names, test.fullName])
  }

  onTestRunEnd(): void {
    for (const [reason, names] of this.#namesByReason) {
      console.log(`${names.length} skipped, because ${reason}:`)
      for (const name of names) console.log(`  ${name}`)
    }
  }
}

// The last line of `npm test`, for people and for scripts: `N passed, N failed, N skipped`.

import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { secondTry } from './second-try.ts'

export default class ClosingLine implements Reporter {
  readonly #count = { passed: 0, failed: 0, skipped: 0, pending: 0 }

  onTestCaseResult(test: TestCase): void {
    this.#count[test.result().state]++
    if (test.diagnostic()?.flaky) console.log(`${secondTry}${test.module.relativeModuleId} ${test.fullName}`)
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    // A file that does not load, or an error outside of any test, is a failure like any other.
    const { passed, skipped } = this.#count
    const broken = modules.reduce((sum, module) => sum + module.errors().length, errors.length)
    const failed = this.#count.failed + broken + (passed + this.#count.failed + broken === 0 ? 1 : 0)
    console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
  }
}

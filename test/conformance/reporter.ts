// Prints failures as they come, the skips with their reasons, and one closing line that scripts can read.

import { writeFileSync } from 'node:fs'
import type { Reporter, TestCase, TestModule } from 'vitest/node'
import { skips } from './skips.ts'

export default class ConformanceReporter implements Reporter {
  readonly #failures: string[] = []
  readonly #times: { name: string; ms: number }[] = []
  readonly #names = new Set<string>()
  #passed = 0
  #skipped = 0

  onTestCaseResult(test: TestCase): void {
    const { state } = test.result()
    this.#names.add(test.name)
    if (state === 'passed') this.#passed++
    if (state === 'skipped') this.#skipped++
    this.#times.push({ name: test.fullName, ms: test.diagnostic()?.duration ?? 0 })
    if (state !== 'failed') return
    const errors = test.result().errors ?? []
    const text = errors.map(error => `${error.message}${error.diff ? `\n${error.diff}` : ''}`).join('\n')
    const line = errors[0]?.stacks?.find(frame => frame.file.includes('.conformance.'))
    const at = line ? `${line.file.replace(/^.*\/test\//, 'test/')}:${line.line}` : test.module.relativeModuleId
    this.#failures.push(`${test.fullName}\n    at ${at}\n${indented(text)}`)
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly { message: string }[]): void {
    for (const module of modules) {
      for (const error of module.errors()) this.#failures.push(`${module.relativeModuleId}\n${indented(error.message)}`)
    }
    for (const error of errors) this.#failures.push(indented(error.message))
    if (!process.env.MOORING_CONFORMANCE_PARTIAL) {
      for (const { name } of skips) if (!this.#names.has(name)) this.#failures.push(`skips.ts names no test: ${name}`)
    }
    const told = process.env.MOORING_CONFORMANCE_FAILURES
    if (told) writeFileSync(told, `${this.#failures.join('\n\n')}\n`)
    for (const failure of this.#failures) console.log(`\nFAILED ${failure}`)
    const server = process.env.MOORING_CONFORMANCE_SERVER ?? 'embedded'
    for (const skip of skips) {
      if (skip.server === server) console.log(`skipped: ${skip.name}, because ${skip.because}`)
    }
    if (process.env.MOORING_CONFORMANCE_SLOW) {
      const slowest = this.#times.toSorted((a, b) => b.ms - a.ms).slice(0, 15)
      for (const { name, ms } of slowest) console.log(`${Math.round(ms)} ms  ${name}`)
    }
    console.log(`${this.#passed} passed, ${this.#failures.length} failed, ${this.#skipped} skipped`)
  }
}

function indented(text: string): string {
  return text
    .split('\n')
    .slice(0, 40)
    .map(line => `    ${line}`)
    .join('\n')
}

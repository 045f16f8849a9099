import { defineConfig } from 'vitest/config'
import { longestFirst } from './test/longest-first.ts'
import { retry } from './test/second-try.ts'
import { program } from './vitest.program.config.ts'
import { robustness } from './vitest.robustness.config.ts'

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    exclude: [...robustness, ...program],
    reporters: ['default', './test/closing-line.ts'],
    pool: 'threads',
    isolate: false,
    // Vitest leaves one core to itself, but has next to nothing to do while tests run.
    maxWorkers: '100%',
    sequence: {
      sequencer: longestFirst(['controller/controller', 'controller/desks', 'behaviours/claims']),
    },
    retry,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})

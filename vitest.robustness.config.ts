// What takes long because it kills, floods and fills: beside `npm test`, which stays short enough to be run while one works.

import { defineConfig } from 'vitest/config'
import { longestFirst } from './test/longest-first.ts'
import { retry } from './test/second-try.ts'

export const robustness = ['test/robustness/**/*.test.ts', 'test/perturbation/perturbation.test.ts']

export default defineConfig({
  test: {
    include: robustness,
    globalSetup: ['test/builds.ts'],
    reporters: ['default', './test/closing-line.ts'],
    pool: 'threads',
    isolate: false,
    maxWorkers: '100%',
    sequence: {
      sequencer: longestFirst([
        'perturbation/perturbation',
        'robustness/cost',
        'robustness/api-crash',
        'robustness/canaries',
        'robustness/store-kill',
        'robustness/full-disk',
      ]),
    },
    retry,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})

// What is only seen of the built program: its command line, its files, its signals, the tutorials. Beside `npm test`, which stays
// short enough to be run while one works: each of these tests starts a process, and most start several.

import { defineConfig } from 'vitest/config'
import { longestFirst } from './test/longest-first.ts'
import { retry } from './test/second-try.ts'

export const program = ['src/cli/cli.test.ts', 'src/cli/private-data.test.ts', 'test/docs/**/*.test.ts']

export default defineConfig({
  test: {
    include: program,
    globalSetup: ['test/builds.ts'],
    reporters: ['default', './test/closing-line.ts'],
    pool: 'threads',
    isolate: false,
    maxWorkers: '100%',
    sequence: { sequencer: longestFirst(['cli/cli', 'docs/tutorials', 'cli/private-data']) },
    retry,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
})

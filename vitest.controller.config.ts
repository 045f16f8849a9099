import { defineConfig } from 'vitest/config'
import { retry } from './test/second-try.ts'

export default defineConfig({
  test: {
    include: ['test/controller/**/*.test.ts'],
    globalSetup: ['test/controller/server.ts'],
    reporters: ['default', './test/closing-line.ts'],
    pool: 'threads',
    isolate: false,
    // One lease and one set of roles at a time.
    fileParallelism: false,
    retry,
    testTimeout: 120_000,
    hookTimeout: 90_000,
  },
})

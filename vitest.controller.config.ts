import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/controller/**/*.test.ts'],
    globalSetup: ['test/controller/server.ts'],
    reporters: ['default', './test/closing-line.ts'],
    pool: 'threads',
    isolate: false,
    // One lease and one set of roles at a time.
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 90_000,
  },
})

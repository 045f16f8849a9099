import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/conformance/**/*.conformance.ts'],
    globalSetup: ['test/conformance/server.ts'],
    setupFiles: ['test/conformance/clean-up.ts'],
    reporters: ['./test/conformance/reporter.ts'],
    pool: 'threads',
    isolate: false,
    // The tests wait for a server far more than they compute.
    maxWorkers: 4,
    testTimeout: 200_000,
    hookTimeout: 90_000,
  },
})

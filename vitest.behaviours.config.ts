import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/behaviours/**/*.test.ts'],
    // About the page of behaviours, not on any server.
    exclude: ['test/behaviours/page.test.ts'],
    globalSetup: ['test/behaviours/server.ts'],
    reporters: ['default', './test/cluster/left-out.ts', './test/closing-line.ts'],
    pool: 'threads',
    isolate: false,
    // One desk at a time: several would serve each other's claims.
    fileParallelism: false,
    // A thousand claims on a machine that has much else to do.
    testTimeout: 300_000,
    hookTimeout: 90_000,
  },
})

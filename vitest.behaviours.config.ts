import { defineConfig } from 'vitest/config'
import LongestFirst from './test/cluster/longest-first.ts'

export default defineConfig({
  test: {
    include: ['test/behaviours/**/*.test.ts', 'test/toy-desk/toy.test.ts'],
    // About the page of behaviours, not on any server.
    exclude: ['test/behaviours/page.test.ts'],
    globalSetup: ['test/behaviours/server.ts'],
    reporters: ['default', './test/cluster/left-out.ts', './test/closing-line.ts'],
    pool: 'threads',
    isolate: false,
    // Each worker has a server of its own. Most of the time is spent waiting.
    maxWorkers: process.env.MOORING_TEST_KUBECONFIG ? 1 : 3,
    sequence: { sequencer: LongestFirst },
    // A thousand claims on a machine that has much else to do.
    testTimeout: 300_000,
    hookTimeout: 90_000,
  },
})

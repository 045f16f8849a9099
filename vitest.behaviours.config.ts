import { defineConfig } from 'vitest/config'
import { longestFirst } from './test/longest-first.ts'
import { retry } from './test/second-try.ts'

const isOlder = process.env.MOORING_BEHAVIOURS_CRDS === 'v1beta1'

export default defineConfig({
  test: {
    include: ['test/behaviours/**/*.test.ts', 'test/toy-desk/toy.test.ts'],
    // About the page of behaviours, not on any server. Virtual machines and networks know nothing of Cluster API's versions.
    exclude: [
      'test/behaviours/page.test.ts',
      ...(isOlder
        ? ['test/behaviours/{vm*,migration*,networks,ip-pools,udn-tenants,user-defined-networks,unread-kinds}.test.ts']
        : []),
    ],
    globalSetup: ['test/behaviours/server.ts'],
    reporters: ['default', './test/cluster/left-out.ts', './test/closing-line.ts'],
    pool: 'threads',
    isolate: false,
    // Each worker has a server of its own. Most of the time is spent waiting.
    maxWorkers: process.env.MOORING_TEST_KUBECONFIG ? 1 : 3,
    sequence: {
      sequencer: longestFirst(
        ['versions', 'pools', 'restarts', 'watched', 'claims', 'hands', 'pool-status', 'paused'],
        // There is one migration network in a cluster, and what is left of it would be served in every test that follows.
        [
          'migration-network',
          'node',
          'migration-network-command',
          'migration-addresses',
          'migration-webhooks',
          'migration-gate',
        ],
      ),
    },
    // A thousand claims on a machine that has much else to do.
    retry,
    testTimeout: 300_000,
    hookTimeout: 90_000,
  },
})

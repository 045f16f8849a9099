import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/kubectl/**/*.kubectl.ts'],
    globalSetup: ['test/kubectl/server.ts'],
    pool: 'threads',
    isolate: false,
    testTimeout: 90_000,
    hookTimeout: 90_000,
  },
})

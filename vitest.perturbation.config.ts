import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/perturbation/**/*.perturbation.ts'],
    reporters: ['default', './test/closing-line.ts'],
    pool: 'threads',
    isolate: false,
    testTimeout: 3_600_000,
    hookTimeout: 60_000,
  },
})

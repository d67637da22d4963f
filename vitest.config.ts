import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/postgres.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Twice the cores of the smallest machine it runs on: many wait for browsers, processes and PostgreSQL.
    maxWorkers: 4,
    // Nothing in the product is shared but by being passed on, so files may share the loaded modules.
    isolate: false,
  },
})

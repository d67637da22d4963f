import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/postgres.ts'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // One worker per core of the smallest machine it runs on; PostgreSQL and what tests spawn need the rest.
    maxWorkers: 4,
    // Nothing in the product is shared but by being passed on, so files may share the loaded modules.
    isolate: false,
  },
})

import { defineConfig } from 'vitest/config'

/** The tests with real hosts, which `npm run test:hosts` installs into this folder first. */
export default defineConfig({
  test: {
    include: ['test/hosts/**/*.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 60_000,
    // A host is a process of several hundred megabytes.
    maxWorkers: 1,
  },
})

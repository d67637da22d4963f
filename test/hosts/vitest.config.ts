import { defineConfig } from 'vitest/config'

/** Runs the tests with real hosts, which `npm run test:hosts` first installs into this folder. */
export default defineConfig({
  test: {
    include: ['test/hosts/**/*.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 60_000,
    // A host uses several hundred megabytes of memory, so only one test file runs at a time.
    maxWorkers: 1,
  },
})

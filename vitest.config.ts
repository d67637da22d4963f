import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // They need hosts that are installed by `npm run test:hosts`.
    exclude: ['test/hosts/**'],
    globalSetup: ['test/support/postgres.ts', 'test/support/bundled-cli.ts'],
    // Much longer than anything takes, also where the machine has other things to do: what hangs shows all the same.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 120_000 } },
    // Twice the cores of the smallest machine it runs on: many wait for browsers, processes and PostgreSQL.
    maxWorkers: 4,
    // Nothing in the product is shared but by being passed on, so files may share the loaded modules.
    isolate: false,
  },
})

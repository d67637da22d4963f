import { expect, test } from 'vitest'
import { postgres } from '../support/databases.ts'
import { runResource } from '../support/run-resources.ts'
import { callWhileKilling } from './killed-processes.ts'

const cli = await runResource('cli')

/**
 * The number of calls to send. For a longer test:
 * `KILLED_CALLS=100000 TEST_DEPTH=deep npx vitest run test/commands/killed-processes.test.ts`.
 */
const calls = Number(process.env.KILLED_CALLS ?? 1_500)
const killEveryMs = calls > 10_000 ? 10_000 : 5_000

test('every call takes effect exactly once while three processes behind one address are killed in turn', async () => {
  const { url, drop } = await postgres.createEmpty()
  try {
    const counts = await callWhileKilling({ cli, databaseUrl: url, calls, killEveryMs })
    console.log(JSON.stringify(counts))
    expect(counts.kills).toBeGreaterThan(0)
    expect(counts.repeats).toBeGreaterThan(calls / 8)
  } finally {
    await drop()
  }
})

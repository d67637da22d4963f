import pg from 'pg'
import { expect, test } from 'vitest'
import type { Served } from '../packaging/served.ts'
import { postgres } from '../support/databases.ts'
import { idleMachineMs } from '../support/slowdown.ts'
import { Clients } from './clients.ts'
import { serveOn } from './processes.ts'

test('if a process freezes during a transaction, another process can soon serve the same party', async () => {
  const database = await postgres.createEmpty()
  const [first, second] = [await serveOn(database.url), await serveOn(database.url)]
  try {
    const clients = new Clients('at the first', first.url)
    await clients.acknowledge(50)
    await freezeInTransaction(first, database.url)
    const startMs = performance.now()
    const others = new Clients('at the second', second.url, 4)
    await others.acknowledge(1)
    expect(idleMachineMs(performance.now() - startMs, 6_000)).toBeLessThan(6_000)
    await others.stop()
    first.process.kill('SIGCONT')
    await clients.acknowledge(50)
    await clients.stop()
    for (const { journal } of [clients, others]) {
      await journal.repeatAll(second.url)
      await journal.expectOneEffectEach(database.url)
    }
  } finally {
    first.process.kill('SIGCONT')
    await Promise.all([first.stop(), second.stop()])
    await database.drop()
  }
})

/** Freezes the process while it has a transaction open. */
async function freezeInTransaction({ process: child }: Served, databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    for (;;) {
      child.kill('SIGSTOP')
      const { rows } = await client.query('select clock_timestamp()::text as frozen')
      // Waits for the statements that the process sent before it was frozen.
      await expect.poll(() => count(client, "state = 'active' and pid <> pg_backend_pid()")).toBe(0)
      const inTransaction = "state = 'idle in transaction' and backend_xid is not null"
      if ((await count(client, `${inTransaction} and xact_start < '${rows[0].frozen}'`)) > 0) return
      child.kill('SIGCONT')
    }
  } finally {
    await client.end()
  }
}

async function count(client: pg.Client, condition: string): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::int from pg_stat_activity where datname = current_database() and ${condition}`,
  )
  return rows[0].count
}

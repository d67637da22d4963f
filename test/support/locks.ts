import pg from 'pg'
import { expect } from 'vitest'

/**
 * Runs a statement in a PostgreSQL transaction that stays open, so that requests have to wait for the locks of this
 * transaction. `waitUntilBlocked` resolves when `count` statements are waiting for a lock. `release` commits the
 * transaction. The waiting statements then continue in order.
 */
export async function holdLocks(url: string, statement: string) {
  const [holder, watcher] = [new pg.Client({ connectionString: url }), new pg.Client({ connectionString: url })]
  await Promise.all([holder.connect(), watcher.connect()])
  await holder.query('begin')
  await holder.query(statement)
  const waiting = `select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  return {
    waitUntilBlocked: (count: number) =>
      expect.poll(async () => (await watcher.query(waiting)).rows[0].count).toBe(count),
    release: async () => {
      await holder.query('commit')
      await Promise.all([holder.end(), watcher.end()])
    },
  }
}

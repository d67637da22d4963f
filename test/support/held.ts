import pg from 'pg'
import { expect } from 'vitest'

/**
 * Holds a statement's locks in a PostgreSQL database, so that requests block there and a test decides what happens
 * meanwhile. `stopped` waits until so many statements block; `release` lets them continue in order.
 */
export async function holding(url: string, statement: string) {
  const [holder, watcher] = [new pg.Client({ connectionString: url }), new pg.Client({ connectionString: url })]
  await Promise.all([holder.connect(), watcher.connect()])
  await holder.query('begin')
  await holder.query(statement)
  const waiting = `select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  return {
    stopped: (count: number) => expect.poll(async () => (await watcher.query(waiting)).rows[0].count).toBe(count),
    release: async () => {
      await holder.query('commit')
      await Promise.all([holder.end(), watcher.end()])
    },
  }
}

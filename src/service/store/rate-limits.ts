import { sql } from 'kysely'
import { realNow } from './clock.ts'
import type { Transaction } from './engine/store.ts'

/** The state of a credential's window. */
export interface Lease {
  /** How many of the reserved requests are within the limit. */
  granted: number
  /** The rest of the limit, which no process has taken yet. */
  beyond: number
  leftMs: number
}

/**
 * Reserves a number of requests in each credential's window. The first call after a window ends begins the next window.
 */
export async function takeLeases(
  tx: Transaction,
  requested: ReadonlyMap<string, number>,
  { limit, windowMs }: { limit: number; windowMs: number },
): Promise<Map<string, Lease>> {
  const nowMs = await realNow(tx)
  // Sorted, so that two processes do not deadlock on each other's rows.
  const rows = [...requested].map(([keyId, taken]) => ({ keyId, taken, endsAtMs: nowMs + windowMs }))
  rows.sort((a, b) => (a.keyId < b.keyId ? -1 : 1))
  const [taken, endsAtMs] = [sql.ref<number>('rateLimits.taken'), sql.ref<number>('rateLimits.endsAtMs')]
  // A window that ends later than a new one would end was begun by a wrong clock, so a new window replaces it.
  const isCurrent = sql`${endsAtMs} > ${nowMs} and ${endsAtMs} <= ${nowMs + windowMs}`
  const lease = await tx.db
    .insertInto('rateLimits')
    .values(rows)
    .onConflict((conflict) =>
      conflict.column('keyId').doUpdateSet((row) => ({
        taken: sql<number>`case when ${isCurrent} then ${taken} else 0 end + ${row.ref('excluded.taken')}`,
        endsAtMs: sql<number>`case when ${isCurrent} then ${endsAtMs} else ${row.ref('excluded.endsAtMs')} end`,
      })),
    )
    .returningAll()
    .execute()
  return new Map(
    lease.map((row) => {
      const points = requested.get(row.keyId) ?? 0
      const granted = Math.max(0, Math.min(points, limit - (row.taken - points)))
      return [row.keyId, { granted, beyond: Math.max(0, limit - row.taken), leftMs: row.endsAtMs - nowMs }]
    }),
  )
}

import { sql } from 'kysely'
import { realNow } from './clock.ts'
import type { Transaction } from './engine/store.ts'

/** A process's reservation of requests within a credential's rate limit, for the current window. */
export interface Lease {
  /** How many requests the process may accept: as many as it asked for, or fewer if the limit allows fewer. */
  granted: number
  /** How many more requests processes can still reserve in this window. */
  beyond: number
  /** The time until the window ends. */
  leftMs: number
}

/**
 * Reserves requests in the current window of each credential. If the window has ended, a new window begins.
 * @param requested How many requests to reserve, by the credential's id.
 */
export async function takeLeases(
  tx: Transaction,
  requested: ReadonlyMap<string, number>,
  { limit, windowMs }: { limit: number; windowMs: number },
): Promise<Map<string, Lease>> {
  const nowMs = await realNow(tx)
  // All processes lock rows in the same order, so that they do not deadlock.
  const rows = [...requested].map(([keyId, taken]) => ({ keyId, taken, endsAtMs: nowMs + windowMs }))
  rows.sort((a, b) => (a.keyId < b.keyId ? -1 : 1))
  const [taken, endsAtMs] = [sql.ref<number>('rateLimits.taken'), sql.ref<number>('rateLimits.endsAtMs')]
  // A stored window was begun with a wrong clock if it ends later than a window that begins now. It is then replaced.
  const isCurrent = sql`${endsAtMs} > ${nowMs} and ${endsAtMs} <= ${nowMs + windowMs}`
  const windows = await tx.db
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
    windows.map((row) => {
      const reserved = requested.get(row.keyId) ?? 0
      const granted = Math.max(0, Math.min(reserved, limit - (row.taken - reserved)))
      return [row.keyId, { granted, beyond: Math.max(0, limit - row.taken), leftMs: row.endsAtMs - nowMs }]
    }),
  )
}

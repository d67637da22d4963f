import { sql } from 'kysely'
import { realNow } from './clock.ts'
import type { Transaction } from './engine/store.ts'

/** What a credential's window has come to. */
export interface Lease {
  /** So many of the requests that were asked for may be sent. */
  granted: number
  /** How many of the limit nobody has taken yet. */
  beyond: number
  leftMs: number
}

/**
 * Takes requests out of the windows of credentials, a number for each; whoever is the first after a window begins the
 * next one.
 */
export async function takeLeases(
  tx: Transaction,
  wanted: ReadonlyMap<string, number>,
  { limit, windowMs }: { limit: number; windowMs: number },
): Promise<Map<string, Lease>> {
  const nowMs = await realNow(tx)
  // In one order, lest two processes wait for each other's rows.
  const rows = [...wanted].map(([keyId, taken]) => ({ keyId, taken, endsAtMs: nowMs + windowMs }))
  rows.sort((a, b) => (a.keyId < b.keyId ? -1 : 1))
  const [taken, endsAtMs] = [sql.ref<number>('rateLimits.taken'), sql.ref<number>('rateLimits.endsAtMs')]
  // One that ends later than a window which begins now was begun by a clock that was wrong.
  const goesOn = sql`${endsAtMs} > ${nowMs} and ${endsAtMs} <= ${nowMs + windowMs}`
  const kept = await tx.db
    .insertInto('rateLimits')
    .values(rows)
    .onConflict((conflict) =>
      conflict.column('keyId').doUpdateSet((row) => ({
        taken: sql<number>`case when ${goesOn} then ${taken} else 0 end + ${row.ref('excluded.taken')}`,
        endsAtMs: sql<number>`case when ${goesOn} then ${endsAtMs} else ${row.ref('excluded.endsAtMs')} end`,
      })),
    )
    .returningAll()
    .execute()
  return new Map(
    kept.map((row) => {
      const points = wanted.get(row.keyId) ?? 0
      const granted = Math.max(0, Math.min(points, limit - (row.taken - points)))
      return [row.keyId, { granted, beyond: Math.max(0, limit - row.taken), leftMs: row.endsAtMs - nowMs }]
    }),
  )
}

import { type Kysely, PostgresAdapter, sql } from 'kysely'
import { sha256 } from '../../../core/system.ts'

interface Recorded {
  idempotencyRecords: { partyId: string; key: string; body: string | null }
}

/**
 * Of the keys that the database remembers, only hashes are left; their answers are replayed as before. The client secret
 * was left out of answers in another way, which nothing fills in any more: until such an answer is forgotten it tells none.
 */
export async function hashIdempotencyKeys(db: Kysely<unknown>): Promise<void> {
  const records = db as Kysely<Recorded>
  const concealed = '"clientSecret":""'
  await records
    .updateTable('idempotencyRecords')
    .set({ body: sql<string>`replace(body, ${concealed}, '"clientSecret":null')` })
    .where('body', 'like', `%${concealed}%`)
    .execute()
  if (db.getExecutor().adapter instanceof PostgresAdapter) {
    const hash = sql<string>`encode(sha256(convert_to(key, 'UTF8')), 'hex')`
    await records.updateTable('idempotencyRecords').set({ key: hash }).execute()
    return
  }
  // SQLite has no function for it.
  for (const { partyId, key } of await records.selectFrom('idempotencyRecords').select(['partyId', 'key']).execute()) {
    const record = records.updateTable('idempotencyRecords').where('partyId', '=', partyId).where('key', '=', key)
    await record.set({ key: sha256(key) }).execute()
  }
}

import { sql } from 'kysely'
import type { Store } from '../../src/service/store/engine/store.ts'
import { worldTables } from '../../src/service/store/schema/belonging.ts'

/** What tells of the snapshots themselves: a restore is listed in the world that it restored. */
const isOfSnapshots = (row: Record<string, unknown>) => /_sandbox(_snapshot)?$/.test(String(row.operation))

/** Every row of the world, by table, but for the activity of saving and restoring it. */
export async function tablesOf(store: Store): Promise<Record<string, unknown[]>> {
  return store.transaction(async ({ db }) => {
    const tables: Record<string, unknown[]> = {}
    for (const name of worldTables) {
      const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(db)
      const kept = rows.filter((row) => !isOfSnapshots(row))
      if (!['activityHeads', 'activityKeys'].includes(name))
        tables[name] = kept.map((row) => JSON.stringify(row)).sort()
    }
    return tables
  })
}

/** The postings whose entries do not sum to zero, and the wallets whose balance is not that of their entries. */
export async function imbalances(store: Store): Promise<unknown[]> {
  return store.transaction(async ({ db }) => {
    const postings = await sql`
      select "postingId" from "ledgerEntries" group by "postingId" having sum("amountCents") <> 0`.execute(db)
    return postings.rows
  })
}

import { sql } from 'kysely'
import type { Store } from '../../src/service/store/engine/store.ts'
import { worldTables } from '../../src/service/store/schema/reset-scopes.ts'

/** Returns whether a row is about a snapshot. A restore adds such an entry to the world that it restored. */
const isOfSnapshots = (row: Record<string, unknown>) => /_sandbox(_snapshot)?$/.test(String(row.operation))
/**
 * The columns that describe the end of the activity, with fixed values. Their real values follow from the activity's
 * rows, as does the table `activityResources`.
 */
const ofActivity = { activitySequence: 0, hash: null, seal: null }

/** Returns every row of the world by table, except for the activity of saving and restoring it. */
export async function worldRows(store: Store): Promise<Record<string, string[]>> {
  return store.transaction(async ({ db }) => {
    const tables: Record<string, string[]> = {}
    for (const name of worldTables.filter((table) => table !== 'activityResources')) {
      const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(db)
      const comparedRows = rows
        .filter((row) => !isOfSnapshots(row))
        .map((row) => (name === 'partyHeads' ? { ...row, ...ofActivity } : row))
      tables[name] = comparedRows.map((row) => JSON.stringify(row)).sort()
    }
    return tables
  })
}

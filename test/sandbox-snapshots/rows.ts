import { sql } from 'kysely'
import type { Store } from '../../src/service/store/engine/store.ts'
import { worldTables } from '../../src/service/store/schema/reset-scopes.ts'

/** Returns whether a row records a reset of the sandbox, or a call that saved, restored or deleted a snapshot. */
const isSnapshotActivity = (row: Record<string, unknown>) => /_sandbox(_snapshot)?$/.test(String(row.operation))
/**
 * Fixed values for the columns of `partyHeads` that describe the latest activity. These columns change with every
 * restore, because the restored world also gets an activity for the restore itself.
 */
const latestActivity = { activitySequence: 0, hash: null, seal: null }

/** Returns the world's rows by table, without the activity of snapshot calls. */
export async function worldRows(store: Store): Promise<Record<string, string[]>> {
  return store.transaction(async ({ db }) => {
    const tables: Record<string, string[]> = {}
    for (const name of worldTables.filter((table) => table !== 'activityResources')) {
      const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(db)
      const comparedRows = rows
        .filter((row) => !isSnapshotActivity(row))
        .map((row) => (name === 'partyHeads' ? { ...row, ...latestActivity } : row))
      tables[name] = comparedRows.map((row) => JSON.stringify(row)).sort()
    }
    return tables
  })
}

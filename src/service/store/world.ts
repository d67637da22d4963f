import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { WorldRow } from './schema/world.ts'

/**
 * Finds the record of the world that the sandbox was filled with; undefined if the sandbox was never filled, or was
 * filled by an older version of the service that did not record worlds.
 */
export async function findWorld(tx: Transaction): Promise<WorldRow | undefined> {
  return (await selectWorld(tx, {})).rows[0]
}

const selectWorld = prepared((db, _none: object) => db.selectFrom('world').selectAll())

export async function putWorld(tx: Transaction, row: Omit<WorldRow, 'id'>): Promise<void> {
  await tx.db
    .insertInto('world')
    .values({ id: 1, ...row })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()
}

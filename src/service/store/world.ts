import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { WorldRow } from './schema/world.ts'

/**
 * Finds the world that the sandbox was filled with; undefined if it was never filled, or was filled before worlds were
 * recorded.
 */
export async function findWorld(tx: Transaction): Promise<WorldRow | undefined> {
  return (await theWorld(tx, {})).rows[0]
}

const theWorld = prepared((db, _none: object) => db.selectFrom('world').selectAll())

export async function putWorld(tx: Transaction, row: Omit<WorldRow, 'id'>): Promise<void> {
  await tx.db
    .insertInto('world')
    .values({ id: 1, ...row })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()
}

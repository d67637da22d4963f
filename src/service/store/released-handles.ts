import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { ReleasedHandleRow } from './schema/released-handles.ts'

/** How many handles are held for a party that gave them up. */
export async function countHeldHandles(tx: Transaction, partyId: string, nowMs: number): Promise<number> {
  return (await heldOf(tx, { partyId, nowMs })).rows.length
}

const heldOf = prepared((db, by: { partyId: string; nowMs: number }) =>
  db.selectFrom('releasedHandles').select('handle').where('partyId', '=', by.partyId).where('untilMs', '>', by.nowMs),
)

/** Whether one of these handles is held for another party, which gave it up. */
export async function areHeld(
  tx: Transaction,
  handles: readonly string[],
  { partyId, nowMs }: { partyId: string; nowMs: number },
): Promise<boolean> {
  const held = tx.db.selectFrom('releasedHandles').select('handle').where('handle', 'in', handles)
  return (await held.where('partyId', '!=', partyId).where('untilMs', '>', nowMs).limit(1).execute()).length > 0
}

/** Holds a handle for the party that gives it up, and forgets what is held no longer. */
export async function releaseHandle(tx: Transaction, row: ReleasedHandleRow, nowMs: number): Promise<void> {
  await tx.db.deleteFrom('releasedHandles').where('partyId', '=', row.partyId).where('untilMs', '<=', nowMs).execute()
  await tx.db
    .insertInto('releasedHandles')
    .values(row)
    .onConflict((conflict) => conflict.column('handle').doUpdateSet({ partyId: row.partyId, untilMs: row.untilMs }))
    .execute()
}

/** Nobody holds a handle that somebody has. */
export async function holdNoLonger(tx: Transaction, handle: string): Promise<void> {
  await tx.db.deleteFrom('releasedHandles').where('handle', '=', handle).execute()
}

import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { ReleasedHandleRow } from './schema/released-handles.ts'

/** Counts the handles that a party has given up and that are still reserved for it. */
export async function countReservedHandles(tx: Transaction, partyId: string, nowMs: number): Promise<number> {
  return (await reservedFor(tx, { partyId, nowMs })).rows.length
}

const reservedFor = prepared((db, by: { partyId: string; nowMs: number }) =>
  db.selectFrom('releasedHandles').select('handle').where('partyId', '=', by.partyId).where('untilMs', '>', by.nowMs),
)

/** Returns whether one of these handles is still reserved for a party other than `partyId`. */
export async function areHandlesReserved(
  tx: Transaction,
  handles: readonly string[],
  { partyId, nowMs }: { partyId: string; nowMs: number },
): Promise<boolean> {
  const reserved = tx.db.selectFrom('releasedHandles').select('handle').where('handle', 'in', handles)
  return (await reserved.where('partyId', '!=', partyId).where('untilMs', '>', nowMs).limit(1).execute()).length > 0
}

/** Reserves a handle for the party that gives it up, and deletes the party's expired reservations. */
export async function releaseHandle(tx: Transaction, row: ReleasedHandleRow, nowMs: number): Promise<void> {
  await tx.db.deleteFrom('releasedHandles').where('partyId', '=', row.partyId).where('untilMs', '<=', nowMs).execute()
  await tx.db
    .insertInto('releasedHandles')
    .values(row)
    .onConflict((conflict) => conflict.column('handle').doUpdateSet({ partyId: row.partyId, untilMs: row.untilMs }))
    .execute()
}

/** Deletes the reservation of a handle, after a party has taken the handle. */
export async function unreserve(tx: Transaction, handle: string): Promise<void> {
  await tx.db.deleteFrom('releasedHandles').where('handle', '=', handle).execute()
}

import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { ReleasedHandleRow } from './schema/released-handles.ts'

/** Returns how many handles are still reserved for the party that gave them up. */
export async function countReservedHandles(tx: Transaction, partyId: string, nowMs: number): Promise<number> {
  return (await reservedFor(tx, { partyId, nowMs })).rows.length
}

const reservedFor = prepared((db, by: { partyId: string; nowMs: number }) =>
  db.selectFrom('releasedHandles').select('handle').where('partyId', '=', by.partyId).where('untilMs', '>', by.nowMs),
)

/** Returns whether another party has given up one of these handles and the handle is still reserved for that party. */
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

/** Deletes the reservation of a handle that a party has taken. */
export async function unreserve(tx: Transaction, handle: string): Promise<void> {
  await tx.db.deleteFrom('releasedHandles').where('handle', '=', handle).execute()
}

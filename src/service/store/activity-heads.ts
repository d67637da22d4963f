import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { rootKeys } from './root-keys.ts'
import type { ActivityHeadRow } from './schema/activity-heads-schema.ts'

type Head = Omit<ActivityHeadRow, 'seal'>

/** Where a party's chain ends, as it was kept; undefined before its first row. */
export async function activityHead(tx: Transaction, partyId: string): Promise<ActivityHeadRow | undefined> {
  return (await headOf(tx, { partyId })).rows[0]
}

const headOf = prepared((db, by: { partyId: string }) =>
  db.selectFrom('activityHeads').selectAll().where('partyId', '=', by.partyId),
)

/** Keeps where the chain ends now, sealed: whoever changes the database only cannot seal another end. */
export async function sealActivityHead(tx: Transaction, { partyId, sequence, hash }: Head): Promise<void> {
  const seal = (await rootKeys(tx)).sign(sealedText({ partyId, sequence, hash }))
  await upsert(tx, { partyId, sequence, hash, seal })
}

const upsert = prepared((db, row: ActivityHeadRow) =>
  db
    .insertInto('activityHeads')
    .values(row)
    .onConflict((conflict) =>
      conflict.column('partyId').doUpdateSet({ sequence: row.sequence, hash: row.hash, seal: row.seal }),
    ),
)

/** Whether the head is as it was sealed. */
export async function headIsSealed(tx: Transaction, head: ActivityHeadRow): Promise<boolean> {
  return (await rootKeys(tx)).verify(sealedText(head), head.seal)
}

export function sealedText({ partyId, sequence, hash }: Head): string {
  return `activity ${partyId} ${sequence} ${hash}`
}

import { type SqlBool, sql } from 'kysely'
import { deletingOldest } from './engine/deleting.ts'
import type { Transaction } from './engine/store.ts'
import { grantsOfUser, grantsToClient } from './oauth-grants.ts'
import type { OAuthRecordRow } from './schema/oauth-records.ts'

export type RecordKey = Pick<OAuthRecordRow, 'model' | 'idHash'>

export async function saveRecord(tx: Transaction, row: OAuthRecordRow): Promise<void> {
  const { payload, grantId, uid, userCodeHash, expiresAtMs } = row
  await tx.db
    .insertInto('oauthRecords')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['model', 'idHash']).doUpdateSet({
        payload,
        grantId,
        uid,
        expiresAtMs,
        // A device code that was found by its id does not know its user code any more.
        ...(userCodeHash === null ? {} : { userCodeHash }),
      }),
    )
    .execute()
}

export async function findRecord(
  tx: Transaction,
  by: RecordKey | Pick<OAuthRecordRow, 'model' | 'uid'> | Pick<OAuthRecordRow, 'model' | 'userCodeHash'>,
): Promise<OAuthRecordRow | undefined> {
  let query = tx.db.selectFrom('oauthRecords').selectAll()
  for (const [column, value] of Object.entries(by)) query = query.where(column as 'model', '=', value)
  return query.executeTakeFirst()
}

/** Marks a code or token as used; false when it was before, so that of two who use it at once one is told. */
export async function consumeRecord(tx: Transaction, key: RecordKey, atSeconds: number): Promise<boolean> {
  // Where two processes ask at once, the second sees what the first wrote.
  await tx.lock(`oauth ${key.model} ${key.idHash}`)
  const row = await findRecord(tx, key)
  if (row === undefined) return false
  const payload = JSON.parse(row.payload) as { consumed?: number }
  if (payload.consumed !== undefined) return false
  await saveRecord(tx, { ...row, payload: JSON.stringify({ ...payload, consumed: atSeconds }) })
  return true
}

export async function deleteRecord(tx: Transaction, { model, idHash }: RecordKey): Promise<void> {
  await tx.db.deleteFrom('oauthRecords').where('model', '=', model).where('idHash', '=', idHash).execute()
}

export async function deleteRecordsOfGrant(tx: Transaction, grantId: string): Promise<void> {
  await tx.db.deleteFrom('oauthRecords').where('grantId', '=', grantId).execute()
}

/** Deletes all that came of the grants that a user gave. */
export async function deleteRecordsOfUser(tx: Transaction, userId: string): Promise<void> {
  await tx.db.deleteFrom('oauthRecords').where('grantId', 'in', grantsOfUser(userId)).execute()
}

/** Deletes what ended; gives how much it was. */
export const deleteRecords = deletingOldest('oauthRecords', ['model', 'idHash'], 'expiresAtMs')

/** Clients that registered, and documents by which clients describe themselves. The id of either stands as `uid`. */
type ClientModel = 'Client' | 'ClientDocument'

/** How long a client is kept that nobody connected. */
export const unusedClientKeptMs = 24 * 60 * 60 * 1000

const isUnused = (model: ClientModel) =>
  // A client that was connected is kept: its connection may be renewed.
  sql<SqlBool>`${sql.ref('expiresAtMs')} is null and ${sql.ref('model')} = ${sql.lit(model)} and not exists ${grantsToClient('oauthRecords.uid')}`

/** Delete clients that came first and that nobody connected; give their number. */
export const deleteUnusedClients = {
  Client: deletingOldest('oauthRecords', ['model', 'idHash'], 'createdAtMs', isUnused('Client')),
  ClientDocument: deletingOldest('oauthRecords', ['model', 'idHash'], 'createdAtMs', isUnused('ClientDocument')),
}

export async function countClients(tx: Transaction, model: ClientModel): Promise<number> {
  const { count } = await tx.db
    .selectFrom('oauthRecords')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('model', '=', model)
    .executeTakeFirstOrThrow()
  return Number(count)
}

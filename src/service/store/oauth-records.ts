import { type SqlBool, sql } from 'kysely'
import { deletingOldest } from './engine/deletions.ts'
import { preparedWrite } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { applicationsOfAgent, grantsOfUser, grantsToClient } from './oauth-grants.ts'
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
        // A device code that was found by its id comes without its user code. Saving it keeps the stored hash.
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

/** Marks a code or token as used. Returns false if it is missing or was used before, so only the first use succeeds. */
export async function consumeRecord(tx: Transaction, key: RecordKey, atSeconds: number): Promise<boolean> {
  // If two processes use the record at the same time, the second process waits here, and then sees that it is used.
  await tx.lock(`oauth ${key.model} ${key.idHash}`)
  const row = await findRecord(tx, key)
  if (row === undefined) return false
  const payload = JSON.parse(row.payload) as { consumed?: number }
  if (payload.consumed !== undefined) return false
  await saveRecord(tx, { ...row, payload: JSON.stringify({ ...payload, consumed: atSeconds }) })
  return true
}

/** Saves a record unless a record with the same key exists. Returns whether the record was saved. */
export async function saveRecordOnce(tx: Transaction, row: OAuthRecordRow): Promise<boolean> {
  await tx.lock(`oauth ${row.model} ${row.idHash}`)
  if ((await findRecord(tx, { model: row.model, idHash: row.idHash })) !== undefined) return false
  await saveRecord(tx, row)
  return true
}

export async function deleteRecord(tx: Transaction, { model, idHash }: RecordKey): Promise<void> {
  await tx.db.deleteFrom('oauthRecords').where('model', '=', model).where('idHash', '=', idHash).execute()
}

export async function deleteRecordsOfGrant(tx: Transaction, grantId: string): Promise<void> {
  await tx.db.deleteFrom('oauthRecords').where('grantId', '=', grantId).execute()
}

/** Deletes the clients of an agent's applications, and everything that was issued to them. */
export const deleteRecordsOfAgent = preparedWrite((db, agent: { partyId: string; agentId: string }) =>
  db.deleteFrom('oauthRecords').where('grantId', 'in', applicationsOfAgent(agent)),
)

/** Deletes all records that belong to a user's grants. */
export async function deleteRecordsOfUser(tx: Transaction, userId: string): Promise<void> {
  await tx.db.deleteFrom('oauthRecords').where('grantId', 'in', grantsOfUser(userId)).execute()
}

/** Deletes expired records and returns how many it deleted. */
export const deleteRecords = deletingOldest('oauthRecords', ['model', 'idHash'], 'expiresAtMs')

/**
 * The values of `model` for clients: `Client` for registered clients, and `ClientDocument` for clients that publish
 * their metadata in a document. In these records, the column `uid` contains the client's id.
 */
type ClientModel = 'Client' | 'ClientDocument'

/** How long the service stores a client that nobody has connected. */
export const unusedClientKeptMs = 24 * 60 * 60 * 1000

const isUnused = (model: ClientModel) =>
  // A client that was ever connected stays stored, because the user may connect it again. A client with a `grantId` is
  // an application that a party registered. Such a client is deleted only with its grant.
  sql<SqlBool>`${sql.ref('expiresAtMs')} is null and ${sql.ref('grantId')} is null and ${sql.ref('model')} = ${sql.lit(model)} and not exists ${grantsToClient('oauthRecords.uid')}`

/** For each kind of client, a function that deletes the oldest unused clients and returns how many it deleted. */
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

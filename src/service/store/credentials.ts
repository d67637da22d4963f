import type { Kysely } from 'kysely'
import type { New } from './engine/insert.ts'
import { type PageOf, type PageRequest, readPage } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import { mustChangeOne, type Transaction } from './engine/store.ts'
import type { AgentRow } from './schema/agents.ts'
import type { CredentialRow } from './schema/credentials.ts'
import type { Tables } from './schema/tables.ts'

type Kind = CredentialRow['kind']

/** A key of that kind of the party's, revoked or not. */
export async function findKey(
  tx: Transaction,
  partyId: string,
  kind: Kind,
  id: string,
): Promise<CredentialRow | undefined> {
  return (await keyById(tx, { id, partyId, kind })).rows[0]
}

const keyById = prepared((db, by: { id: string; partyId: string; kind: Kind }) =>
  db
    .selectFrom('credentials')
    .selectAll()
    .where('id', '=', by.id)
    .where('partyId', '=', by.partyId)
    .where('kind', '=', by.kind),
)

export interface KeyScope {
  partyId: string
  kind: Kind
  agentId?: string | undefined
  revoked?: boolean | undefined
}

export async function listKeys(tx: Transaction, scope: KeyScope, page: PageRequest): Promise<PageOf<CredentialRow>> {
  let query = tx.db
    .selectFrom('credentials')
    .selectAll()
    .where('partyId', '=', scope.partyId)
    .where('kind', '=', scope.kind)
  if (scope.agentId !== undefined) query = query.where('agentId', '=', scope.agentId)
  if (scope.revoked !== undefined) query = query.where('revokedAtMs', scope.revoked ? 'is not' : 'is', null)
  return readPage(query, page)
}

/** How a key ends: now, or by itself later. */
type Ending = Pick<CredentialRow, 'revokedAtMs' | 'revokedBy' | 'expiresAtMs'>

/** @throws StaleWriteError when the key was ended otherwise since it was read. */
export async function endKey(tx: Transaction, key: CredentialRow, ending: Ending): Promise<void> {
  const result = await tx.db
    .updateTable('credentials')
    .set(ending)
    .where('id', '=', key.id)
    .where('revokedAtMs', key.revokedAtMs === null ? 'is' : '=', key.revokedAtMs)
    .where('expiresAtMs', key.expiresAtMs === null ? 'is' : '=', key.expiresAtMs)
    .executeTakeFirstOrThrow()
  mustChangeOne(result, `key ${key.id}`)
}

/** Ends every key of an agent that still works. */
export async function revokeKeysOfAgent(
  tx: Transaction,
  agentId: string,
  revocation: { revokedAtMs: number; revokedBy: string | null },
): Promise<void> {
  await tx.db
    .updateTable('credentials')
    .set(revocation)
    .where('agentId', '=', agentId)
    .where('revokedAtMs', 'is', null)
    .execute()
}

/** The credential with that hash or id, with the status of the agent it acts as. */
export async function findCredential(
  tx: Transaction,
  by: { secretHash: string } | { id: string },
): Promise<(CredentialRow & { agentStatus: AgentRow['status'] | null }) | undefined> {
  return (await ('id' in by ? credentialById(tx, by) : credentialByHash(tx, by))).rows[0]
}

const credentialById = prepared((db, by: { id: string }) => credentials(db).where('credentials.id', '=', by.id))

const credentialByHash = prepared((db, by: { secretHash: string }) =>
  credentials(db).where('secretHash', '=', by.secretHash),
)

function credentials(db: Kysely<Tables>) {
  return db
    .selectFrom('credentials')
    .leftJoin('agents', 'agents.id', 'credentials.agentId')
    .selectAll('credentials')
    .select('agents.status as agentStatus')
}

export type NewCredential = New<CredentialRow, 'userId' | 'tags' | 'createdBy' | 'revokedBy' | 'lastUsedAtMs'>

const newCredential = { userId: null, createdBy: null, revokedBy: null, lastUsedAtMs: null } as const

export async function createCredential(tx: Transaction, credential: NewCredential): Promise<CredentialRow> {
  const row: CredentialRow = { ...newCredential, tags: '{}', ...credential }
  await tx.db.insertInto('credentials').values(row).execute()
  return row
}

export async function seededCredentials(tx: Transaction): Promise<CredentialRow[]> {
  return tx.db.selectFrom('credentials').selectAll().where('seeded', '=', 1).execute()
}

/** Gives a credential another secret; the one it had stops working. */
export async function replaceSecret(
  tx: Transaction,
  id: string,
  { secretHash, displayPrefix }: Pick<CredentialRow, 'secretHash' | 'displayPrefix'>,
): Promise<void> {
  await tx.db.updateTable('credentials').set({ secretHash, displayPrefix }).where('id', '=', id).execute()
}

/** Notes the last use of a key; a later one that is already noted stays. */
export async function noteKeyUse(tx: Transaction, id: string, usedAtMs: number): Promise<void> {
  await noteUse(tx, { id, usedAtMs })
}

const noteUse = prepared((db, use: { id: string; usedAtMs: number }) =>
  db
    .updateTable('credentials')
    .set({ lastUsedAtMs: use.usedAtMs })
    .where('id', '=', use.id)
    .where((row) => row.or([row('lastUsedAtMs', 'is', null), row('lastUsedAtMs', '<', use.usedAtMs)])),
)

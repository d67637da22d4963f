import { type Kysely, type SqlBool, sql } from 'kysely'
import { findAgent } from './agents.ts'
import { finderOf } from './engine/find.ts'
import type { New } from './engine/insert.ts'
import { type PageOf, type PageRequest, pageOf, readPage } from './engine/page.ts'
import { prepared, preparedWrite } from './engine/prepared.ts'
import { mustChangeOne, type Transaction } from './engine/store.ts'
import type { AgentRow } from './schema/agents.ts'
import type { CredentialRow } from './schema/credentials.ts'
import type { Tables } from './schema/tables.ts'

type Kind = CredentialRow['kind']

/** Finds a party's key by the key's kind and id, even if the key is revoked. */
export const findKey = finderOf('credentials', 'partyId', 'kind', 'id')

export interface KeyScope {
  partyId: string
  kind: Kind
  agentId?: string | undefined
  revoked?: boolean | undefined
}

export async function listKeys(tx: Transaction, scope: KeyScope, page: PageRequest): Promise<PageOf<CredentialRow>> {
  const { partyId, kind, agentId, revoked } = scope
  if (agentId !== undefined) {
    // The query filters only by the agent's id, so this code must check that the agent belongs to the party.
    const agent = await findAgent(tx, partyId, agentId)
    const agentKeys = tx.db.selectFrom('credentials').selectAll().where('agentId', '=', agentId)
    return agent === undefined ? { rows: [], lastId: null } : readPage(agentKeys, page)
  }
  const nullChecks = revoked === undefined ? (['is', 'is not'] as const) : ([revoked ? 'is not' : 'is'] as const)
  const more = { ...page, limit: page.limit + 1 }
  const partyKeys = tx.db.selectFrom('credentials').selectAll().where('partyId', '=', partyId).where('kind', '=', kind)
  const found = await Promise.all(nullChecks.map((is) => readPage(partyKeys.where('revokedAtMs', is, null), more)))
  const rows = found.flatMap((part) => part.rows).sort((a, b) => (a.id < b.id ? 1 : -1))
  return pageOf(rows.slice(0, more.limit), page.limit, (row) => row.id)
}

/** Returns whether a party has ever had an API key, an agent key or a user token. Such a party is self-managed. */
export async function hasKeys(tx: Transaction, partyId: string): Promise<boolean> {
  return (await anyCredential(tx, { partyId })).rows.length > 0
}

const anyCredential = prepared((db, by: { partyId: string }) =>
  db.selectFrom('credentials').select('id').where('partyId', '=', by.partyId).limit(1),
)

/** The end of a key: its revocation (`revokedAtMs`), or the time when it will expire (`expiresAtMs`). */
type Ending = Pick<CredentialRow, 'revokedAtMs' | 'revokedBy' | 'expiresAtMs'>

/**
 * Revokes a key or sets its expiry.
 * @throws StaleWriteError if the key's revocation or expiry has changed since the key was read.
 */
export async function endKey(tx: Transaction, key: CredentialRow, ending: Ending): Promise<void> {
  const result = await tx.db
    .updateTable('credentials')
    .set(ending)
    .where('partyId', '=', key.partyId)
    .where('id', '=', key.id)
    .where('revokedAtMs', key.revokedAtMs === null ? 'is' : '=', key.revokedAtMs)
    .where('expiresAtMs', key.expiresAtMs === null ? 'is' : '=', key.expiresAtMs)
    .executeTakeFirstOrThrow()
  mustChangeOne(result, `key ${key.id}`)
}

/** Revokes all keys of an agent. Keys that are already revoked stay unchanged. */
export async function revokeKeysOfAgent(
  tx: Transaction,
  agent: Pick<AgentRow, 'partyId' | 'id'>,
  revocation: { revokedAtMs: number; revokedBy: string | null },
): Promise<void> {
  await tx.db
    .updateTable('credentials')
    .set(revocation)
    .where('partyId', '=', agent.partyId)
    .where('agentId', '=', agent.id)
    .where('revokedAtMs', 'is', null)
    .execute()
}

/** Revokes all tokens of a user. Tokens that are already revoked stay unchanged. */
export async function revokeTokensOfUser(
  tx: Transaction,
  user: { partyId: string; id: string },
  revocation: { revokedAtMs: number; revokedBy: string | null },
): Promise<void> {
  await tx.db
    .updateTable('credentials')
    .set(revocation)
    .where('partyId', '=', user.partyId)
    .where('userId', '=', user.id)
    .where('revokedAtMs', 'is', null)
    .execute()
}

/** The value by which a credential is looked up: the hash of its secret, or its id. */
export type CredentialLookup = { secretHash: string } | { id: string }

/** A credential with its agent's status; the status is null if the credential belongs to no agent. */
export type CredentialWithAgent = CredentialRow & { agentStatus: AgentRow['status'] | null }

/** Finds a credential by the hash of its secret or by its id, even if the credential is revoked. */
export async function findCredential(tx: Transaction, by: CredentialLookup): Promise<CredentialWithAgent | undefined> {
  return (await ('id' in by ? credentialById(tx, by) : credentialByHash(tx, by))).rows[0]
}

const credentialById = prepared((db, by: { id: string }) => credentials(db).where('credentials.id', '=', by.id))

const credentialByHash = prepared((db, by: { secretHash: string }) =>
  credentials(db).where('secretHash', '=', by.secretHash),
)

function credentials(db: Kysely<Tables>) {
  return db
    .selectFrom('credentials')
    .leftJoin('agents', (join) =>
      join.onRef('agents.partyId', '=', 'credentials.partyId').onRef('agents.id', '=', 'credentials.agentId'),
    )
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
  return tx.db.selectFrom('credentials').selectAll().where(sql<SqlBool>`"seeded" = 1`).execute()
}

/** A key that has no secret yet has a placeholder with this prefix as its `secretHash`. No secret has such a hash. */
export const unsetHashPrefix = 'unset'

/** Gives a credential a new secret. The previous secret stops working. */
export async function replaceSecret(
  tx: Transaction,
  { partyId, id }: CredentialRow,
  { secretHash, displayPrefix }: Pick<CredentialRow, 'secretHash' | 'displayPrefix'>,
): Promise<void> {
  const keys = tx.db.updateTable('credentials').set({ secretHash, displayPrefix })
  await keys.where('partyId', '=', partyId).where('id', '=', id).execute()
}

/** Records when a key was used, unless a later time is already recorded. */
export async function noteKeyUse(tx: Transaction, id: string, usedAtMs: number): Promise<void> {
  await noteUse(tx, { id, usedAtMs })
}

const noteUse = preparedWrite((db, use: { id: string; usedAtMs: number }) =>
  db
    .updateTable('credentials')
    .set({ lastUsedAtMs: use.usedAtMs })
    .where('id', '=', use.id)
    .where((row) => row.or([row('lastUsedAtMs', 'is', null), row('lastUsedAtMs', '<', use.usedAtMs)])),
)

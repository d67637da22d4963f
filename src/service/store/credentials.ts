import { type PageOf, type PageRequest, pageOf } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import { StaleWriteError, type Transaction } from './engine/store.ts'
import { noteGrantUse } from './oauth-grants.ts'
import type { CredentialRow } from './schema/tables.ts'

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
  if (page.beforeId !== null) query = query.where('id', '<', page.beforeId)
  const rows = await query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(rows, page.limit, (row) => row.id)
}

/** How a key ends: now, or by itself later. */
type Ending = Pick<CredentialRow, 'revokedAtMs' | 'revokedBy' | 'expiresAtMs'>

/** @throws StaleWriteError when the key was ended otherwise since it was read. */
export async function endKey(tx: Transaction, key: CredentialRow, ending: Ending): Promise<void> {
  const { numUpdatedRows } = await tx.db
    .updateTable('credentials')
    .set(ending)
    .where('id', '=', key.id)
    .where('revokedAtMs', key.revokedAtMs === null ? 'is' : '=', key.revokedAtMs)
    .where('expiresAtMs', key.expiresAtMs === null ? 'is' : '=', key.expiresAtMs)
    .executeTakeFirst()
  if (numUpdatedRows !== 1n) throw new StaleWriteError(`key ${key.id}`)
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

/** Notes the last use of a key or a grant, and of the agent that it acts as; a later one that is already noted stays. */
export async function noteLastUse(
  tx: Transaction,
  { keyId, agentId, usedAtMs }: { keyId: string; agentId: string | null; usedAtMs: number },
): Promise<void> {
  if (keyId.startsWith('ogr_')) await noteGrantUse(tx, keyId, usedAtMs)
  else await noteKey(tx, { keyId, usedAtMs })
  if (agentId !== null) await noteAgent(tx, { agentId, usedAtMs })
}

const noteKey = prepared((db, use: { keyId: string; usedAtMs: number }) =>
  db
    .updateTable('credentials')
    .set({ lastUsedAtMs: use.usedAtMs })
    .where('id', '=', use.keyId)
    .where((row) => row.or([row('lastUsedAtMs', 'is', null), row('lastUsedAtMs', '<', use.usedAtMs)])),
)

const noteAgent = prepared((db, use: { agentId: string; usedAtMs: number }) =>
  db
    .updateTable('agents')
    .set({ lastActiveAtMs: use.usedAtMs })
    .where('id', '=', use.agentId)
    .where((row) => row.or([row('lastActiveAtMs', 'is', null), row('lastActiveAtMs', '<', use.usedAtMs)])),
)

import { type Kysely, sql } from 'kysely'
import { clockColumns, type Moments, type TimesAndNext, timesIn } from './clock.ts'
import type { CredentialLookup, CredentialWithAgent } from './credentials.ts'
import { joinedRows, rowIn } from './engine/joined-rows.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { type RequestHashes, shortHash } from './idempotency-records.ts'
import type { AgentRow } from './schema/agents.ts'
import type { IdempotencyRecordRow } from './schema/idempotency-records.ts'
import type { PartyRow } from './schema/parties.ts'
import type { PartyHeadRow } from './schema/party-heads.ts'
import type { Tables } from './schema/tables.ts'

/** The rows that every command on a party needs. */
export interface CommandRows {
  /** The party's status; undefined if the party does not exist. */
  status: PartyRow['status'] | undefined
  /** The record of the request's idempotency key. It may belong to a different request that used the same key. */
  record: IdempotencyRecordRow | undefined
  head: PartyHeadRow | undefined
  /** The credential that was looked up; undefined if there is no such credential. */
  credential: CredentialWithAgent | undefined
}

/**
 * The values that select a command's rows: the party, the hash of the idempotency key, and the credential to look up.
 */
export interface RowLookup extends Omit<RequestHashes, 'fingerprint'> {
  credential: CredentialLookup | undefined
}

/** Reads the rows for a command in one statement. */
export async function commandRows(tx: Transaction, lookup: RowLookup): Promise<CommandRows> {
  const { rows } = await ('id' in (lookup.credential ?? {}) ? readById : readByHash)(tx, lookupValues(lookup))
  return rowsIn(rows[0])
}

/**
 * Makes a function that reads the rows for a command and, in the same statement, the times that `timesAndNext` returns.
 * The function is used only on SQLite. On PostgreSQL, several commands can share a transaction, and then the clock is
 * read only once for all of them.
 */
export function timesAndRows(moments: readonly Moments[]) {
  const rowsBy = (column: 'id' | 'secretHash') =>
    prepared((db, by: LookupValues) => commandQuery(db, by, column).select(clockColumns(db, sql<null>`null`, moments)))
  const [byId, byHash] = [rowsBy('id'), rowsBy('secretHash')]
  return (tx: Transaction, lookup: RowLookup): { times: Promise<TimesAndNext>; rows: Promise<CommandRows> } => {
    const found = ('id' in (lookup.credential ?? {}) ? byId : byHash)(tx, lookupValues(lookup))
    return { times: timesIn(tx, found), rows: found.then(({ rows }) => rowsIn(rows[0])) }
  }
}

interface LookupValues {
  partyId: string
  key: string
  /** The credential's id or the hash of the credential's secret. If the value is null, no credential is found. */
  credential: string | null
}

function lookupValues({ partyId, key, credential }: RowLookup): LookupValues {
  const by = credential === undefined ? null : 'id' in credential ? credential.id : credential.secretHash
  return { partyId, key: shortHash(key), credential: by }
}

/**
 * Creates the query for a command's rows. The query joins these rows to the single row of the table `clock`. So the
 * query always returns one row, even if none of the joined rows exists.
 */
function commandQuery(db: Kysely<Tables>, by: LookupValues, column: 'id' | 'secretHash') {
  return db
    .selectFrom('clock')
    .leftJoin('parties', (join) => join.on('parties.id', '=', by.partyId))
    .leftJoin('partyHeads', (join) => join.on('partyHeads.partyId', '=', by.partyId))
    .leftJoin('idempotencyRecords', (join) =>
      join.on('idempotencyRecords.partyId', '=', by.partyId).on('idempotencyRecords.key', '=', by.key),
    )
    .leftJoin('credentials', (join) => join.on(`credentials.${column}`, '=', by.credential))
    .leftJoin('agents', (join) =>
      join.onRef('agents.partyId', '=', 'credentials.partyId').onRef('agents.id', '=', 'credentials.agentId'),
    )
    .select(['parties.status as partyStatus', 'agents.status as agentStatus'])
    .select([...joinedRows('partyHeads'), ...joinedRows('idempotencyRecords'), ...joinedRows('credentials')])
}

const readById = prepared((db, by: LookupValues) => commandQuery(db, by, 'id'))
const readByHash = prepared((db, by: LookupValues) => commandQuery(db, by, 'secretHash'))

function rowsIn(
  row: { partyStatus: PartyRow['status'] | null; agentStatus: AgentRow['status'] | null } | undefined,
): CommandRows {
  if (row === undefined) throw new Error('Bug: the clock has no row.')
  const credential = rowIn('credentials', row)
  return {
    status: row.partyStatus ?? undefined,
    head: rowIn('partyHeads', row),
    record: rowIn('idempotencyRecords', row),
    credential: credential && { ...credential, agentStatus: row.agentStatus },
  }
}

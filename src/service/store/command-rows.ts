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

/** The rows that every command on a party needs, whatever other records it reads or changes. */
export interface CommandRows {
  /** The party's status; undefined if the party does not exist. */
  status: PartyRow['status'] | undefined
  /** The record of the request's idempotency key, even if a different request has used the key. */
  record: IdempotencyRecordRow | undefined
  head: PartyHeadRow | undefined
  /** The credential that was looked up; undefined if it does not exist. */
  credential: CredentialWithAgent | undefined
}

/** The values that select a command's rows: its party, the hash of its idempotency key, and its credential. */
export interface RowLookup extends Omit<RequestHashes, 'fingerprint'> {
  credential: CredentialLookup | undefined
}

/** Reads the rows for a command in one statement. */
export async function commandRows(tx: Transaction, lookup: RowLookup): Promise<CommandRows> {
  const { rows } = await ('id' in (lookup.credential ?? {}) ? readById : readByHash)(tx, lookupValues(lookup))
  return rowsIn(rows[0])
}

/**
 * Makes a function that reads the time, as `timesAndNext` does, together with the rows for a command, in one statement.
 * Only SQLite uses it. On PostgreSQL, several commands can share a transaction and one reading of the clock.
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
  /** The credential's id or the hash of its secret. If this is null, no credential is found. */
  credential: string | null
}

function lookupValues({ partyId, key, credential }: RowLookup): LookupValues {
  const by = credential === undefined ? null : 'id' in credential ? credential.id : credential.secretHash
  return { partyId, key: shortHash(key), credential: by }
}

/** Creates the query for a command's rows. It starts from the clock's single row, so it returns a row in every case. */
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

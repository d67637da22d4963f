import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { type RequestHashes, shortHash } from './idempotency-records.ts'
import type { IdempotencyRecordRow } from './schema/idempotency-records.ts'
import type { PartyRow } from './schema/parties.ts'
import type { PartyHeadRow } from './schema/party-heads.ts'

/** The rows that every command on a party needs besides its own records. */
export interface CommandRows {
  /** The party's status; undefined if there is no such party. */
  status: PartyRow['status'] | undefined
  /** The record of the request's idempotency key, even if another request used the key. */
  record: IdempotencyRecordRow | undefined
  head: PartyHeadRow | undefined
}

/** Reads the rows for a command in one statement. */
export async function commandRows(
  tx: Transaction,
  { partyId, key }: Omit<RequestHashes, 'fingerprint'>,
): Promise<CommandRows> {
  const keyHash = shortHash(key)
  const [row] = (await read(tx, { partyId, key: keyHash })).rows
  if (row === undefined) return { status: undefined, record: undefined, head: undefined }
  const { status, activitySequence, hash, seal, eventSequence } = row
  const head =
    activitySequence === null || eventSequence === null
      ? undefined
      : { partyId, activitySequence, hash, seal, eventSequence }
  const { fingerprint, state, answerStatus, answer, finishedAtMs } = row
  const record =
    fingerprint === null || state === null
      ? undefined
      : { partyId, key: keyHash, fingerprint, state, status: answerStatus, answer, finishedAtMs }
  return { status, record, head }
}

const read = prepared((db, by: { partyId: string; key: string }) =>
  db
    .selectFrom('parties')
    .leftJoin('partyHeads', 'partyHeads.partyId', 'parties.id')
    .leftJoin('idempotencyRecords', (join) =>
      join.onRef('idempotencyRecords.partyId', '=', 'parties.id').on('idempotencyRecords.key', '=', by.key),
    )
    .where('parties.id', '=', by.partyId)
    .select([
      'parties.status',
      'partyHeads.activitySequence',
      'partyHeads.hash',
      'partyHeads.seal',
      'partyHeads.eventSequence',
      'idempotencyRecords.fingerprint',
      'idempotencyRecords.state',
      'idempotencyRecords.status as answerStatus',
      'idempotencyRecords.answer',
      'idempotencyRecords.finishedAtMs',
    ]),
)

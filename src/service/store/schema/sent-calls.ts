import { bigint, type RowOf, table, text } from './table.ts'

/** Tool calls that MCP servers sent, so that any process recognizes a repeated call. */
export const sentCalls = table({
  /** The party that owns the credential with which the call was sent. */
  partyId: text,
  /** A keyed hash of the credential, the run and the request. */
  id: text,
  /** The Idempotency-Key of the call, sealed so that only a process that knows the whole call can open it. */
  sealed: text,
  /** In real time, since a model repeats a call soon or not at all. */
  sentAtMs: bigint,
  $key: ['partyId', 'id'],
  $indexes: ['sentAtMs'],
})

export type SentCallRow = RowOf<typeof sentCalls>

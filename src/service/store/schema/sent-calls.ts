import { bigint, type RowOf, table, text } from './table.ts'

/** Tool calls that MCP servers sent to the API. They let any process recognize a repeated call. */
export const sentCalls = table({
  /** The party that owns the credential with which the call was sent. */
  partyId: text,
  /** A keyed hash of the credential, the run and the request. */
  id: text,
  /** The call's Idempotency-Key, encrypted so that only a process that has the whole call can decrypt it. */
  sealed: text,
  /** On the real clock, so that moving the sandbox clock does not change which calls count as repeated. */
  sentAtMs: bigint,
  $key: ['partyId', 'id'],
  $indexes: ['sentAtMs'],
})

export type SentCallRow = RowOf<typeof sentCalls>

import { bigint, type RowOf, table, text } from './table.ts'

/** Tool calls that MCP servers sent to the API. With these rows, every process can recognize a repeated call. */
export const sentCalls = table({
  /** The party that owns the credential with which the call was sent. */
  partyId: text,
  /** A keyed hash of the credential, the run that the call belongs to, and the request. */
  id: text,
  /** The call's Idempotency-Key, encrypted. Only a process that knows the whole call can decrypt the key. */
  sealed: text,
  /** On the real clock, so that moving the sandbox clock does not change which calls count as repeated. */
  sentAtMs: bigint,
  $key: ['partyId', 'id'],
  $indexes: ['sentAtMs'],
})

export type SentCallRow = RowOf<typeof sentCalls>

import { bigint, type RowOf, table, text } from './table.ts'

/** Tool calls that MCP servers sent, so that a repeat of one is known by whichever process gets it. */
export const sentCalls = table({
  /** Whose credential it was sent with. */
  partyId: text,
  /** A keyed hash of the credential, the run and the request. */
  id: text,
  /** The Idempotency-Key that it was sent under: only who knows the whole call opens it. */
  sealed: text,
  /** On real time: what a model repeats, it repeats soon. */
  sentAtMs: bigint,
  $key: ['partyId', 'id'],
  $indexes: ['sentAtMs'],
})

export type SentCallRow = RowOf<typeof sentCalls>

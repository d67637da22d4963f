import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** A model's call that waits for a person's decision. Its times are real time. */
export const pendingDecisions = table({
  id: text,
  /** The party that owns the credential. Its users decide. */
  partyId: text,
  /** The key or grant that called. */
  principalId: text,
  /** The sealed call, prefixed with the id of the root key that sealed it. */
  call: text,
  status: text as Column<'pending' | 'yes' | 'no'>,
  /** How often it was refused because the second factor was missing. */
  tries: integer,
  /** The response to the executed call, sealed like the call; null if no execution is known. */
  answer: nullable(text),
  decidedBy: nullable(text),
  createdAtMs: bigint,
  /** The deadline of the decision. An approval extends it and is valid until the new deadline. */
  expiresAtMs: bigint,
  $key: ['partyId', 'id'],
  $indexes: ['expiresAtMs', 'partyId status expiresAtMs', 'partyId principalId status'],
})

export type PendingDecisionRow = RowOf<typeof pendingDecisions>

import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** A model's call that waits for a person's decision. Its times are real time. */
export const pendingDecisions = table({
  id: text,
  /** The party that owns the credential. Its users decide. */
  partyId: text,
  /** The key or grant that made the call. */
  principalId: text,
  /** The sealed call, prefixed with the id of the root key that sealed it. */
  call: text,
  status: text as Column<'pending' | 'yes' | 'no'>,
  /** How many times the approved call was refused because the second factor was missing. */
  tries: integer,
  /** The response to the executed call, sealed like the call; null if the call is not known to have been executed. */
  answer: nullable(text),
  decidedBy: nullable(text),
  createdAtMs: bigint,
  /** The deadline for the decision. An approval extends this deadline, and is valid until the new one. */
  expiresAtMs: bigint,
  $key: ['partyId', 'id'],
  $indexes: ['expiresAtMs', 'partyId status expiresAtMs', 'partyId principalId status'],
})

export type PendingDecisionRow = RowOf<typeof pendingDecisions>

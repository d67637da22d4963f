import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** A tool call by a model that waits for a person's decision. All times are on the real clock. */
export const pendingDecisions = table({
  id: text,
  /** The party that owns the key or grant. The party's users decide. */
  partyId: text,
  /** The key or grant that made the call. */
  principalId: text,
  /** The call, encrypted with a root key and prefixed with the key's id. */
  call: text,
  status: text as Column<'pending' | 'yes' | 'no'>,
  /** How many times the approved call was refused because the second factor was missing. */
  tries: integer,
  /** The response to the executed call, encrypted like `call`; null until a response has been stored. */
  answer: nullable(text),
  decidedBy: nullable(text),
  createdAtMs: bigint,
  /** The deadline for the decision. An approval replaces it with the time until which the approval is valid. */
  expiresAtMs: bigint,
  $key: ['partyId', 'id'],
  $indexes: ['expiresAtMs', 'partyId status expiresAtMs', 'partyId principalId status'],
})

export type PendingDecisionRow = RowOf<typeof pendingDecisions>

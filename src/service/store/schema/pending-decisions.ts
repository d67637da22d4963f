import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** A model's tool call that waits for a person's decision. All times are on the real clock. */
export const pendingDecisions = table({
  id: text,
  /** The party that owns the key or grant. Users of this party decide whether the call is carried out. */
  partyId: text,
  /** The key or grant with which the call was made. */
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
  /** The deadline for the decision. After an approval, the time until which the approval is valid. */
  expiresAtMs: bigint,
  $key: ['partyId', 'id'],
  $indexes: ['expiresAtMs', 'partyId status expiresAtMs', 'partyId principalId status'],
})

export type PendingDecisionRow = RowOf<typeof pendingDecisions>

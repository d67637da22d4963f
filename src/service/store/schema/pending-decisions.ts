import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** A call of a model that waits for a person's decision. Its instants are real time. */
export const pendingDecisions = table({
  id: text,
  /** The party that owns the credential: its users decide. */
  partyId: text,
  /** The key or grant that called. */
  principalId: text,
  /** The call, sealed; in front stands which root key sealed it. */
  call: text,
  status: text as Column<'pending' | 'yes' | 'no'>,
  /** How often it was refused for want of a second factor. */
  tries: integer,
  /** What it was answered when it was carried out, sealed like the call; null: it was not, as far as is known. */
  answer: nullable(text),
  decidedBy: nullable(text),
  createdAtMs: bigint,
  /** Until when it can be decided; a yes counts until then too, which it moves on. */
  expiresAtMs: bigint,
  $key: ['partyId', 'id'],
  $indexes: ['expiresAtMs', 'partyId status expiresAtMs', 'partyId principalId status'],
})

export type PendingDecisionRow = RowOf<typeof pendingDecisions>

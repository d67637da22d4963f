import { bigint, type Column, nullable, type RowOf, table, text } from './table.ts'

export const agents = table({
  id: text,
  partyId: text,
  name: text,
  description: nullable(text),
  /** `@<party handle>-<slug>`. */
  handle: nullable(text),
  status: text as Column<'ACTIVE' | 'REVOKED'>,
  createdBy: nullable(text),
  createdAtMs: bigint,
  /** JSON object of strings. */
  tags: text,
  /** The agent's part of its handle. */
  slug: nullable(text),
  /** JSON of `AgentLimits`: caps on the payments that the agent makes from its owner's wallets; null if it has none. */
  limits: nullable(text),
  updatedBy: nullable(text),
  /** Null until its first change. */
  updatedAtMs: nullable(bigint),
  /** The last use of one of its credentials, up to a minute late. */
  lastActiveAtMs: nullable(bigint),
  $tenant: 'partyId',
  $indexes: ['partyId status id', 'id'],
  $uniqueIndexes: ['handle'],
})

export type AgentRow = RowOf<typeof agents>

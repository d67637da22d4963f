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
  /** JSON object of texts. */
  tags: text,
  /** The agent's part of its handle. */
  slug: nullable(text),
  /** JSON of `AgentLimits`: caps on what it starts on its owner's party; null without any. */
  limits: nullable(text),
  updatedBy: nullable(text),
  /** Null until its first change. */
  updatedAtMs: nullable(bigint),
  /** When a credential of it was last used, up to a minute late. */
  lastActiveAtMs: nullable(bigint),
  $tenant: 'partyId',
  $indexes: ['partyId status id', 'id'],
  $uniqueIndexes: ['handle'],
})

export type AgentRow = RowOf<typeof agents>

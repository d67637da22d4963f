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
  /** The part of the handle that names the agent. */
  slug: nullable(text),
  /** JSON of `AgentLimits`: caps on the agent's payments from the wallets of its own party; null if it has none. */
  limits: nullable(text),
  updatedBy: nullable(text),
  /** Null until the agent is changed for the first time. */
  updatedAtMs: nullable(bigint),
  /** When one of its credentials was last used. The recorded time may be up to a minute late. */
  lastActiveAtMs: nullable(bigint),
  $tenant: 'partyId',
  $indexes: ['partyId status id', 'id'],
  $uniqueIndexes: ['handle'],
})

export type AgentRow = RowOf<typeof agents>

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
  slug: nullable(text),
  /** JSON of `AgentLimits`: caps on the agent's payments from its own party's wallets; null if there are no caps. */
  limits: nullable(text),
  updatedBy: nullable(text),
  /** Null until the agent is changed for the first time. */
  updatedAtMs: nullable(bigint),
  /** When one of the agent's credentials was last used. A use may be recorded with a delay of up to a minute. */
  lastActiveAtMs: nullable(bigint),
  $tenant: 'partyId',
  $indexes: ['partyId status id', 'id'],
  $uniqueIndexes: ['handle'],
})

export type AgentRow = RowOf<typeof agents>

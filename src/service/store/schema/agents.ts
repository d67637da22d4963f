import { bigint, type Column, filled, nullable, type RowOf, table, text } from './table.ts'

export const agents = table({
  '0001_first_schema': {
    id: text,
    partyId: text,
    name: text,
    description: nullable(text),
    /** `@<party handle>-<slug>`. */
    handle: nullable(text),
    status: text as Column<'ACTIVE' | 'REVOKED'>,
    createdBy: nullable(text),
    createdAtMs: bigint,
  },
  '0004_credentials': {
    /** JSON object of texts. */
    tags: filled(text, '{}'),
    /** The agent's part of its handle. */
    slug: nullable(text),
    /** JSON of `AgentLimits`: caps on what it starts on its owner's party; null without any. */
    limits: nullable(text),
    updatedBy: nullable(text),
    /** Null until its first change. */
    updatedAtMs: nullable(bigint),
    /** When a credential of it was last used, up to a minute late. */
    lastActiveAtMs: nullable(bigint),
    $indexes: ['partyId id'],
    $uniqueIndexes: ['handle'],
  },
  '0020_lists': {
    $indexes: ['partyId status id'],
    $droppedIndexes: ['partyId id'],
  },
  '0024_tenants': {
    $tenantKey: ['partyId', 'id'],
    $postgresIndexes: ['id'],
  },
})

export type AgentRow = RowOf<typeof agents>

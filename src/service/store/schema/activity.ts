import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** One thing that was done, or recorded as refused. Rows are only added; each names the hash of the one before. */
export const activity = table({
  id: text,
  /** The party whose credential did it: each has a chain of its own. */
  partyId: text,
  operation: text,
  /** `visitor`: somebody without a credential, whom the link of a page let in. */
  actorType: text as Column<'user' | 'party' | 'agent' | 'visitor'>,
  agentId: nullable(text),
  userId: nullable(text),
  keyId: text,
  instanceId: nullable(text),
  /** The customer it was done for. */
  customerPartyId: nullable(text),
  /** JSON array. */
  resourceIds: text,
  /** The error it answered, if it did. */
  code: nullable(text),
  previousHash: text,
  hash: text,
  /** The HTTP status it answered. */
  status: integer,
  /** 1 is the chain's first row. */
  sequence: bigint,
  createdAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['partyId agentId sequence', 'partyId instanceId sequence'],
  $uniqueIndexes: ['partyId sequence'],
})

export type ActivityRow = RowOf<typeof activity>

/** The resources that each row of a party's chain names. */
export const activityResources = table({
  partyId: text,
  resourceId: text,
  sequence: bigint,
  $key: ['partyId', 'resourceId', 'sequence'],
  $keyOnly: true,
})

import { bigint, type Column, integer, nullable, type RowOf, table, text } from './table.ts'

/** A logged action or refused attempt. Rows never change. Each row contains the hash of the party's previous row. */
export const activity = table({
  id: text,
  /**
   * The party of the actor. For a visitor, the party of the record that the link leads to. The rows of each party form
   * a separate chain.
   */
  partyId: text,
  operation: text,
  /** A `visitor` is a person without a credential who opened a page through a link. */
  actorType: text as Column<'user' | 'party' | 'agent' | 'visitor'>,
  agentId: nullable(text),
  userId: nullable(text),
  keyId: text,
  instanceId: nullable(text),
  /** The customer that the actor acted for. */
  customerPartyId: nullable(text),
  /** JSON array. */
  resourceIds: text,
  /** The code of the error response; null if the response was not an error. */
  code: nullable(text),
  previousHash: text,
  hash: text,
  /** The HTTP status of the response. */
  status: integer,
  /** The row's number in its party's chain. The first row has the number 1. */
  sequence: bigint,
  createdAtMs: bigint,
  $tenant: 'partyId',
  $indexes: ['partyId agentId sequence', 'partyId instanceId sequence'],
  $uniqueIndexes: ['partyId sequence'],
})

export type ActivityRow = RowOf<typeof activity>

/** The ids in `activity.resourceIds`, with one id per row, for lookups by resource. */
export const activityResources = table({
  partyId: text,
  resourceId: text,
  sequence: bigint,
  $key: ['partyId', 'resourceId', 'sequence'],
  $keyOnly: true,
})

/**
 * The SQLite trigger that inserts the resources of a new `activity` row into `activityResources`. It ignores resources
 * that already exist, because the restore of a snapshot inserts them before the row. PostgreSQL needs no trigger,
 * because one statement inserts the row and its resources.
 */
export const resourcesTrigger = `create trigger "activity_resources" after insert on "activity" begin
  insert or ignore into "activityResources" ("partyId", "resourceId", "sequence")
    select new."partyId", "value", new."sequence" from json_each(new."resourceIds");
end`

import type { EventType } from '../../rules/event-types.ts'
import { bigint, type Column, nullable, type RowOf, table, text } from './table.ts'

/**
 * The outbox: the events of each party's records in commit order (docs/service.md#events). The party and the number
 * identify an event.
 */
export const events = table({
  partyId: text,
  /**
   * The number of the event, which starts at 1 for each party. Events become visible in the order of their numbers, so
   * a reader that has read up to a number has missed no event.
   */
  sequence: bigint,
  type: text as Column<EventType>,
  /** The record that changed. The event's type implies the kind of record. */
  resourceId: text,
  /**
   * The agent that the changed record belongs to, for example as the holder of a card. The party's other agents do not
   * see the event.
   */
  agentId: nullable(text),
  /** On the service's clock, which the sandbox moves. */
  createdAtMs: bigint,
  /** In real time; decides when the event is deleted. */
  recordedAtMs: bigint,
  /** The values of the record's changing columns at that time, as JSON; null if the event is older than this column. */
  state: nullable(text),
  $key: ['partyId', 'sequence'],
  $keyOnly: true,
  $indexes: ['recordedAtMs'],
})

export type EventRow = RowOf<typeof events>

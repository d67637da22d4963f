import type { EventType } from '../../rules/event-types.ts'
import { bigint, type Column, nullable, type RowOf, table, text } from './table.ts'

/**
 * The outbox: events about each party's records, in commit order (docs/service.md#events). The party and the sequence
 * number identify an event.
 */
export const events = table({
  partyId: text,
  /**
   * The sequence number, which starts at 1 for each party. Events become visible in this order: when a reader sees an
   * event, all earlier events of the party are already visible.
   */
  sequence: bigint,
  type: text as Column<EventType>,
  /** The id of the record that changed. The event's type implies the kind of record. */
  resourceId: text,
  /** The agent that the changed record belongs to, such as the holder of a card. Other agents do not see the event. */
  agentId: nullable(text),
  /** On the sandbox clock. */
  createdAtMs: bigint,
  /** The real time of recording, which decides when the event is deleted. */
  recordedAtMs: bigint,
  /**
   * The values of the record's mutable columns after the change, as JSON; null in events from before this column
   * existed.
   */
  state: nullable(text),
  $key: ['partyId', 'sequence'],
  $keyOnly: true,
  $indexes: ['recordedAtMs'],
})

export type EventRow = RowOf<typeof events>

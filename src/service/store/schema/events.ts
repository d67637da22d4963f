import type { EventType } from '../../rules/event-types.ts'
import { bigint, type Column, nullable, type RowOf, table, text } from './table.ts'

/**
 * The outbox: the events of a party's records in commit order (docs/service.md#events). A party and a number identify
 * an event.
 */
export const events = table({
  partyId: text,
  /**
   * 1 is the party's first. No smaller number ever appears later, so a reader that has read up to one has missed none.
   */
  sequence: bigint,
  type: text as Column<EventType>,
  /** The record that changed. The event's type implies the kind of record. */
  resourceId: text,
  /** The agent whose card or request it concerns. The party's other agents do not see the event. */
  agentId: nullable(text),
  /** On the service's clock, which the sandbox moves. */
  createdAtMs: bigint,
  /** In real time, by which old events are deleted. */
  recordedAtMs: bigint,
  /** The changing columns of the record at that time, as JSON; null if the event is older than this column. */
  state: nullable(text),
  $key: ['partyId', 'sequence'],
  $keyOnly: true,
  $indexes: ['recordedAtMs'],
})

export type EventRow = RowOf<typeof events>

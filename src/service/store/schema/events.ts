import type { EventType } from '../../rules/event-types.ts'
import { bigint, type Column, nullable, type RowOf, table, text } from './table.ts'

/**
 * The outbox: what happened to a party's records, in the order in which it was committed (docs/service.md#events). An event
 * is known by its party and its number.
 */
export const events = table({
  partyId: text,
  /** 1 is the party's first. Whoever has read up to one misses none: a smaller one never comes later. */
  sequence: bigint,
  type: text as Column<EventType>,
  /** What it happened to; what kind of record that is, the type tells. */
  resourceId: text,
  /** Whose card or request it is about: what other agents of the party are not told of. */
  agentId: nullable(text),
  /** On the service's clock, which the sandbox moves. */
  createdAtMs: bigint,
  /** In real time, by which old ones are deleted. */
  recordedAtMs: bigint,
  /** What changes of the record, as it was then, as JSON; null: the event is older than this column. */
  state: nullable(text),
  $key: ['partyId', 'sequence'],
  $keyOnly: true,
  $indexes: ['recordedAtMs'],
})

export type EventRow = RowOf<typeof events>

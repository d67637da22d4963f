import type { Transaction } from '../../store/engine/store.ts'
import { eventsByNumber } from '../../store/events.ts'
import { eventViews, loadEventRecords } from './event-views.ts'

/** Returns the webhook bodies of a party's events, by event number. Events that are no longer stored are left out. */
export async function eventBodies(
  tx: Transaction,
  partyId: string,
  numbers: readonly number[],
): Promise<Map<number, string>> {
  if (numbers.length === 0) return new Map()
  const events = await eventsByNumber(tx, partyId, numbers)
  const views = await eventViews(tx, await loadEventRecords(tx, events))
  return new Map(
    views.map(({ id, attributes }, at) => {
      const { eventType: type, resourceId, resourceType, createdAt, payload: data } = attributes
      const event = { id, object: 'event', type, resourceId, resourceType, createdAt, data }
      return [events[at]?.sequence ?? 0, JSON.stringify(event)]
    }),
  )
}

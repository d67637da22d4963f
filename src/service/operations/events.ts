import type { events } from '../../../tools/events.ts'
import { fail, show } from '../../core/errors.ts'
import { parseTimestamp } from '../../core/system.ts'
import type { Context, HandlersOf } from '../request/handler.ts'
import { page, pageRequest } from '../request/pagination.ts'
import { requirePermission } from '../request/permission-checks.ts'
import { type EventType, eventKinds, isEventType } from '../rules/event-types.ts'
import { eventViews } from './steps/event-views.ts'
import { readableTypes, readEvent, readEvents, requireReadable } from './steps/read-events.ts'
import { sendAgain } from './steps/send-event.ts'

export const eventHandlers = {
  listEvents: async (input, context) => {
    const { tx, actor, partyId } = context
    const { eventType, createdAfter, createdBefore } = input
    const types = await wantedTypes(context, eventType)
    const filters = { eventType, createdAfter, createdBefore }
    const list = { list: 'events', partyId, agentId: actor.agentId, ...filters }
    const createdAfterMs = createdAfter === undefined ? undefined : parseTimestamp(createdAfter)
    const createdBeforeMs = createdBefore === undefined ? undefined : parseTimestamp(createdBefore)
    const found = await readEvents(context, { types, createdAfterMs, createdBeforeMs }, pageRequest(input, list))
    const rows = await eventViews(tx, found.rows)
    return page({ rows, lastId: found.lastId }, list, (view) => view)
  },

  getEvent: async ({ eventId }, context) => {
    requireReadableTypes(context)
    const found = await readEvent(context, eventId)
    const [view] = await eventViews(context.tx, found === undefined ? [] : [found])
    return view ?? fail('not_found', { detail: `There is no event ${eventId}.` })
  },

  resendEvent: async ({ eventId }, context) => {
    const found = await readEvent(context, eventId)
    if (found === undefined) fail('not_found', { detail: `There is no event ${eventId}.` })
    await sendAgain(context, found.event)
    const [view] = await eventViews(context.tx, [found])
    return view ?? fail('not_found')
  },
} satisfies HandlersOf<typeof events>

/** Returns the event types that the caller may receive. @throws 403 `forbidden` if there are none. */
function requireReadableTypes({ actor, operation }: Context): readonly EventType[] {
  const types = readableTypes({ actor })
  if (types.length === 0) requirePermission(actor, { ...operation, permission: 'payments.read' })
  return types
}

/**
 * Returns the event types to list.
 * @throws 400 for an unknown type, or if a request on behalf of a customer has no type; 403 for a type that the caller
 * may not receive.
 */
async function wantedTypes(context: Context, eventType: string | undefined): Promise<readonly EventType[]> {
  const source = { parameter: 'eventType' }
  if (eventType === undefined) {
    if (context.partyId === context.actor.partyId) return requireReadableTypes(context)
    const detail =
      "eventType is required, because a customer's events are listed one type at a time. Send a type such as payment.completed."
    fail('invalid_value', { detail, source })
  }
  if (!isEventType(eventType)) {
    const prefixes = Object.keys(eventKinds).join(', ')
    const detail = `eventType must be an event type, got ${show(eventType)}. Event types begin with one of: ${prefixes}. docs/events.md lists all types.`
    fail('invalid_value', { detail, source })
  }
  await requireReadable(context, eventType)
  return [eventType]
}

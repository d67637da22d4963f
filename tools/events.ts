import { z } from 'zod'
import { defineOperation } from '../src/core/operation.ts'
import { readOperation, writeOperation } from './kinds.ts'
import { actingParty } from './payments.ts'
import { ArgumentId, Id, listQuery, resource, Timestamp, toOne } from './schemas.ts'

/** A change to a record, with the state of the record after the change. */
export const Event = resource(
  'event',
  Id('evt'),
  {
    eventType: z.string(),
    resourceId: z.string().nullable(),
    resourceType: z.string().nullable(),
    payload: z.object({ object: z.looseObject({}).nullable() }),
    createdAt: Timestamp,
  },
  { party: toOne('party', 'pty') },
)

const EventType = z.string().max(100)

const shared = {
  output: Event,
  toolsets: ['events'],
  extension: false,
} as const

const params = z.strictObject({ eventId: ArgumentId('evt') })

export const events = {
  listEvents: defineOperation({
    ...shared,
    ...readOperation,
    result: 'page',
    name: 'list_events',
    title: 'List events',
    description:
      'Lists changes to your records, newest first. To wait for a change to one record, read it with waitSeconds.',
    path: '/events',
    query: listQuery({
      ...actingParty,
      eventType: EventType.describe('Such as payment.completed; required with customerPartyId').optional(),
      createdAfter: Timestamp.describe('Only events after this time').optional(),
      createdBefore: Timestamp.describe('Only events before this time').optional(),
    }),
    permission: 'events.read',
    errors: [],
  }),

  getEvent: defineOperation({
    ...shared,
    ...readOperation,
    name: 'get_event',
    title: 'Read an event',
    description: 'Reads one event, with the record as it was then.',
    path: '/events/{eventId}',
    params,
    query: z.strictObject(actingParty),
    permission: 'events.read',
    errors: ['not_found'],
  }),

  resendEvent: defineOperation({
    ...shared,
    ...writeOperation,
    idempotency: 'ignored',
    name: 'resend_event',
    title: 'Send an event again',
    description: 'Delivers an event again to every webhook that subscribes to its type.',
    path: '/events/{eventId}/resend',
    params,
    permission: 'webhooks.manage',
    errors: ['not_found', 'conflict'],
    extension: true,
  }),
} as const

import { deliveryStatuses } from '../../../tools/webhooks.ts'
import { newId, type System } from '../../core/system.ts'
import { deletingOldest } from './engine/deletions.ts'
import { combinations, createIndexWalk } from './engine/index-walk.ts'
import { preparedBulkInsert } from './engine/insert.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import { prepared, preparedWrite } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { EventRow } from './schema/events.ts'
import type { WebhookDeliveryRow } from './schema/webhook-deliveries.ts'
import type { WebhookRow } from './schema/webhooks.ts'

interface NewDelivery {
  event: Pick<EventRow, 'sequence' | 'type'>
  eventId: string
  /** The time by the real clock, not the sandbox clock. */
  nowMs: number
}

/** Creates a row for the delivery of an event to a webhook. The delivery is due immediately. */
export function newDelivery(
  system: Pick<System, 'randomBytes'>,
  { partyId, id: webhookId }: Pick<WebhookRow, 'partyId' | 'id'>,
  { event, eventId, nowMs }: NewDelivery,
): WebhookDeliveryRow {
  return {
    id: newId('whd', system, nowMs),
    partyId,
    webhookId,
    eventSequence: event.sequence,
    eventId,
    eventType: event.type,
    status: 'pending',
    attempts: 0,
    lastResponseStatus: null,
    lastError: null,
    dueAtMs: nowMs,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  }
}

export const insertDeliveries = preparedBulkInsert('webhookDeliveries')

/**
 * Returns a page of the deliveries to a webhook, newest first. If `status` is given, returns only deliveries with this
 * status.
 */
export function listDeliveries(
  tx: Transaction,
  {
    partyId,
    webhookId,
    status,
  }: Pick<WebhookDeliveryRow, 'partyId' | 'webhookId'> & {
    status?: WebhookDeliveryRow['status'] | undefined
  },
  page: PageRequest,
): Promise<PageOf<WebhookDeliveryRow>> {
  const statuses = status === undefined ? deliveryStatuses : [status]
  return walk(tx, combinations({ partyId: [partyId], webhookId: [webhookId], status: statuses }), page, partyId)
}

const walk = createIndexWalk('webhookDeliveries', (db) => db.selectFrom('webhookDeliveries').selectAll())

interface DueDeliveries {
  partyId: string
  webhookId: string
  nowMs: number
  limit: number
}

/**
 * Returns the due deliveries to a webhook, the most overdue first. Deliveries that are due at the same time are in the
 * order of their events.
 */
export async function dueDeliveries(tx: Transaction, by: DueDeliveries): Promise<WebhookDeliveryRow[]> {
  return (await due(tx, by)).rows
}

const due = prepared((db, { partyId, webhookId, nowMs, limit }: DueDeliveries) =>
  db
    .selectFrom('webhookDeliveries')
    .selectAll()
    .where('partyId', '=', partyId)
    .where('webhookId', '=', webhookId)
    .where('dueAtMs', '<=', nowMs)
    .orderBy('dueAtMs')
    .orderBy('eventSequence')
    .limit(limit),
)

type Attempt = Pick<
  WebhookDeliveryRow,
  Exclude<keyof WebhookDeliveryRow, 'webhookId' | 'createdAtMs' | `event${string}`>
>

/** Stores the outcome of an attempt to send a delivery. Does nothing if the delivery is no longer pending. */
export const saveAttempt = preparedWrite((db, { partyId, id, ...attempt }: Attempt) =>
  db
    .updateTable('webhookDeliveries')
    .set(attempt)
    .where('partyId', '=', partyId)
    .where('id', '=', id)
    .where('status', '=', 'pending'),
)

/**
 * Marks all pending deliveries as failed. For use when the sandbox is reset or restored, because the events of these
 * deliveries are then replaced.
 */
export const failPendingDeliveries = preparedWrite((db, { lastError, nowMs }: { lastError: string; nowMs: number }) =>
  db
    .updateTable('webhookDeliveries')
    .set({ status: 'failed', dueAtMs: null, lastError, updatedAtMs: nowMs })
    .where('dueAtMs', 'is not', null),
)

/** How long a delivery is stored, measured by the real clock. Events are stored for the same time (`eventKeptMs`). */
export const deliveryKeptMs = 30 * 24 * 60 * 60_000

export const deleteDeliveries = deletingOldest('webhookDeliveries', ['partyId', 'id'], 'createdAtMs')

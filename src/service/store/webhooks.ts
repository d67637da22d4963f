import { sql } from 'kysely'
import { webhookStatuses } from '../../../tools/webhooks.ts'
import { combinations, createIndexWalk } from './engine/index-walk.ts'
import { preparedInsert } from './engine/insert.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import { changingOne, prepared, preparedWrite } from './engine/prepared.ts'
import { mustChangeOne, type Transaction } from './engine/store.ts'
import type { WebhookRow } from './schema/webhooks.ts'

export type WebhookKey = Pick<WebhookRow, 'partyId' | 'id'>

export const insertWebhook = preparedInsert('webhooks')

export async function findWebhook(tx: Transaction, key: WebhookKey): Promise<WebhookRow | undefined> {
  return (await webhookById(tx, { partyId: key.partyId, id: key.id })).rows[0]
}

const webhookById = prepared((db, { partyId, id }: WebhookKey) =>
  db.selectFrom('webhooks').selectAll().where('partyId', '=', partyId).where('id', '=', id),
)

/** Returns a page of a party's webhooks, newest first. */
export function listWebhooks(
  tx: Transaction,
  { partyId, status }: { partyId: string; status?: WebhookRow['status'] | undefined },
  page: PageRequest,
): Promise<PageOf<WebhookRow>> {
  const statuses = status === undefined ? webhookStatuses : [status]
  return walk(tx, combinations({ partyId: [partyId], status: statuses }), page, partyId)
}

const walk = createIndexWalk('webhooks', (db) => db.selectFrom('webhooks').selectAll())

/** Updates a webhook. @throws StaleWriteError if the webhook has been changed since `before` was read. */
export async function changeWebhook(
  tx: Transaction,
  before: WebhookRow,
  changed: Partial<WebhookRow>,
): Promise<WebhookRow> {
  const change = { ...changed, version: before.version + 1 }
  const result = await tx.db
    .updateTable('webhooks')
    .set(change)
    .where('partyId', '=', before.partyId)
    .where('id', '=', before.id)
    .where('version', '=', before.version)
    .executeTakeFirstOrThrow()
  mustChangeOne(result, `webhook ${before.id}`)
  return { ...before, ...change }
}

/** Deletes a webhook. Its pending deliveries remain stored for a while, but they are never sent. */
export const deleteWebhook = preparedWrite((db, { partyId, id }: WebhookKey) =>
  db.deleteFrom('webhooks').where('partyId', '=', partyId).where('id', '=', id),
)

/** Returns enabled webhooks whose party has events that have not been processed for the webhook yet. */
export async function webhooksWithNewEvents(tx: Transaction, limit: number): Promise<WebhookKey[]> {
  return (await withNewEvents(tx, { limit })).rows
}

const withNewEvents = prepared((db, { limit }: { limit: number }) =>
  db
    .selectFrom('webhooks')
    .innerJoin('partyHeads', 'partyHeads.partyId', 'webhooks.partyId')
    .select(['webhooks.partyId', 'webhooks.id'])
    .where('webhooks.status', '=', 'ENABLED')
    .where('partyHeads.eventSequence', '>', sql.ref<number>('webhooks.toldUpTo'))
    .limit(limit),
)

/** A webhook with a due delivery. */
export type DueWebhook = WebhookKey & Pick<WebhookRow, 'failingSinceMs'>

/**
 * Returns enabled webhooks with due deliveries. Working webhooks come first, so that failing webhooks do not delay
 * them.
 */
export async function dueWebhooks(tx: Transaction, by: { nowMs: number; limit: number }): Promise<DueWebhook[]> {
  return (await due(tx, by)).rows
}

const due = prepared((db, { nowMs, limit }: { nowMs: number; limit: number }) =>
  db
    .selectFrom('webhooks')
    .select(['partyId', 'id', 'failingSinceMs'])
    .where('status', '=', 'ENABLED')
    .where('nextDueAtMs', '<=', nowMs)
    .orderBy(sql`case when ${sql.ref('failingSinceMs')} is null then 0 else 1 end`)
    .orderBy('nextDueAtMs')
    .limit(limit),
)

/**
 * Marks a party's events up to the sequence number `upTo` as processed for a webhook. `dueAtMs` is the time at which to
 * send the new deliveries; null if there are none. The statement uses the current value of `nextDueAtMs`, not a value
 * read earlier, because other transactions also write this column. If the webhook is failing and its next attempt is
 * already scheduled, the time of this attempt stays the same.
 * @throws StaleWriteError if another process has already marked these events.
 */
export const markProcessed = changingOne(
  (db, values: WebhookKey & { before: number; upTo: number; dueAtMs: number | null }) =>
    db
      .updateTable('webhooks')
      .set({
        toldUpTo: values.upTo,
        nextDueAtMs: sql<number>`case when cast(${values.dueAtMs} as bigint) is null
            or ("failingSinceMs" is not null and "nextDueAtMs" is not null)
          then "nextDueAtMs" else cast(${values.dueAtMs} as bigint) end`,
      })
      .where('partyId', '=', values.partyId)
      .where('id', '=', values.id)
      .where('toldUpTo', '=', values.before),
  ({ id }) => `webhook ${id}`,
)

type Turn = WebhookKey & Pick<WebhookRow, 'failingSinceMs'> & { restUntilMs: number }

/**
 * Ends a webhook's turn to send deliveries. Stores since when the webhook has been failing, and the time of its next
 * turn: the due time of its next delivery, but not before `restUntilMs`. If another transaction has added deliveries
 * and updated the webhook's row, the first statement waits until that transaction ends. The second statement then sees
 * the added deliveries. On PostgreSQL, a statement sees only rows committed before the statement began. A single
 * statement could therefore wait and still miss the added deliveries.
 */
export async function endTurn(tx: Transaction, turn: Turn): Promise<void> {
  await saveHealth(tx, turn)
  await setNextTurn(tx, turn)
}

const saveHealth = preparedWrite((db, { partyId, id, failingSinceMs }: Turn) =>
  db.updateTable('webhooks').set({ failingSinceMs }).where('partyId', '=', partyId).where('id', '=', id),
)

const setNextTurn = preparedWrite((db, turn: Turn) =>
  db
    .updateTable('webhooks')
    .set({
      nextDueAtMs: sql<number>`(select case when min(d."dueAtMs") < cast(${turn.restUntilMs} as bigint)
          then cast(${turn.restUntilMs} as bigint) else min(d."dueAtMs") end from "webhookDeliveries" d
          where d."partyId" = "webhooks"."partyId" and d."webhookId" = "webhooks"."id" and d."dueAtMs" is not null)`,
    })
    .where('partyId', '=', turn.partyId)
    .where('id', '=', turn.id),
)

/** Makes a webhook's next turn to send deliveries due now. */
export const makeDue = preparedWrite((db, { partyId, id, nowMs }: WebhookKey & { nowMs: number }) =>
  db.updateTable('webhooks').set({ nextDueAtMs: nowMs }).where('partyId', '=', partyId).where('id', '=', id),
)

/**
 * Marks all current events as processed for all webhooks. For use after the sandbox is reset or restored, so that the
 * events already in the sandbox are not sent.
 */
export const skipCurrentEvents = (tx: Transaction) => skipToHeads(tx, {})

const skipToHeads = preparedWrite((db, _none: object) =>
  db.updateTable('webhooks').set({
    toldUpTo: sql<number>`coalesce((select "eventSequence" from "partyHeads" where "partyHeads"."partyId" = "webhooks"."partyId"), 0)`,
    nextDueAtMs: null,
  }),
)

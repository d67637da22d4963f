import type { paymentRequestStatuses } from '../../../tools/payment-requests.ts'
import { paymentRequestEvent } from '../rules/events.ts'
import {
  eventOfPayment,
  nextRequestStatus,
  type PaymentRequestEvent,
  requireOnlyPayment,
} from '../rules/payment-requests.ts'
import type { CardTries } from '../rules/request-cards.ts'
import type { DueOf, Moments } from './clock.ts'
import { inBatches } from './engine/batches.ts'
import { finderOf } from './engine/find.ts'
import { combinations, createIndexWalk } from './engine/index-walk.ts'
import { preparedInsert } from './engine/insert.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import { changingOne, prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { recordEvents } from './events.ts'
import type { PaymentRequestRow } from './schema/payment-requests.ts'
import type { PaymentRow } from './schema/payments.ts'
import { type ListScope, permittedWallets } from './wallet-permissions.ts'

type Status = (typeof paymentRequestStatuses)[number]

/** Adds a request, and writes events for the requester and, if the payer has a party, for the payer too. */
export async function insertPaymentRequest(tx: Transaction, row: PaymentRequestRow): Promise<void> {
  await insert(tx, row)
  recordForBoth(tx, undefined, row)
}

const insert = preparedInsert('paymentRequests')

/** Finds a request that a party sent. */
export const findPaymentRequest = finderOf('paymentRequests', 'partyId', 'id')

/** Finds a request by its id alone. The caller must decide who may see it. */
export const findPaymentRequestOfAnyParty = finderOf('paymentRequests', 'id')

/** Finds a request by the hash of the token in its page's URL. */
export const findPaymentRequestByToken = finderOf('paymentRequests', 'tokenHash')

const walk = createIndexWalk('paymentRequests', (db) => db.selectFrom('paymentRequests').selectAll())

/** Returns the requests that a party sent and that have one of these statuses, newest first. */
export async function listSentRequests(
  tx: Transaction,
  scope: ListScope,
  statuses: readonly Status[],
  page: PageRequest,
): Promise<PageOf<PaymentRequestRow>> {
  const walletId = await permittedWallets(tx, scope)
  const by = { partyId: [scope.partyId], status: statuses }
  return walk(tx, walletId === undefined ? combinations(by) : combinations({ ...by, walletId }), page, scope.partyId)
}

/** Returns the requests that a party or agent is asked to pay and that have one of these statuses, newest first. */
export function listReceivedRequests(
  tx: Transaction,
  payer: { payerPartyId: string } | { payerAgentId: string },
  statuses: readonly Status[],
  page: PageRequest,
): Promise<PageOf<PaymentRequestRow>> {
  const [[column, id] = []] = Object.entries(payer) as ['payerPartyId' | 'payerAgentId', string][]
  return walk(tx, combinations({ [column ?? 'payerPartyId']: [id], status: statuses }), page)
}

/**
 * Writes events about a new or changed request for both parties. The payer gets an `incoming` event if the request is
 * new, or if the payer had no party until now.
 */
function recordForBoth(tx: Transaction, before: PaymentRequestRow | undefined, after: PaymentRequestRow): void {
  const { payerPartyId, payerAgentId, updatedAtMs } = after
  const type = paymentRequestEvent(before?.status, after.status)
  if (type !== undefined) recordEvents(tx, after, [type], updatedAtMs)
  if (payerPartyId === null) return
  // Other API requests must not share a database transaction that writes rows of two parties.
  tx.runAlone()
  const isAsked = before === undefined || before.payerPartyId === null
  const types = [...(isAsked ? (['payment_request.incoming'] as const) : []), ...(before && type ? [type] : [])]
  recordEvents(tx, { ...after, partyId: payerPartyId, agentId: payerAgentId }, types, updatedAtMs)
}

type Changes = Partial<Pick<PaymentRequestRow, 'payerPartyId' | 'paymentId' | 'transactionId'>>

/** Applies an event to a request. @throws 409 `conflict` if the request's state does not allow the event. */
export function changePaymentRequest(
  tx: Transaction,
  before: PaymentRequestRow,
  event: PaymentRequestEvent,
  atMs: number,
  changes: Changes = {},
): Promise<PaymentRequestRow> {
  const status = nextRequestStatus(before.status, event)
  return write(tx, before, { ...before, ...changes, status, updatedAtMs: atMs })
}

/** Writes a request's new state. @throws StaleWriteError if the request has changed since it was read. */
async function write(tx: Transaction, before: PaymentRequestRow, after: PaymentRequestRow): Promise<PaymentRequestRow> {
  const { status, payerPartyId, paymentId, transactionId, expiresAtMs, updatedAtMs } = after
  const openUntilMs = status === 'OPEN' ? expiresAtMs : null
  const { partyId, id, version } = before
  const change = { status, payerPartyId, paymentId, transactionId, openUntilMs, updatedAtMs }
  await update(tx, { ...change, partyId, id, version, next: version + 1 })
  const written = { ...after, openUntilMs, version: version + 1 }
  recordForBoth(tx, before, written)
  return written
}

type Written = Pick<
  PaymentRequestRow,
  'partyId' | 'id' | 'version' | 'status' | 'openUntilMs' | 'updatedAtMs' | keyof Changes
> & { next: number }

const update = changingOne(
  (db, { partyId, id, version, next, ...change }: Written) =>
    db
      .updateTable('paymentRequests')
      .set({ ...change, version: next })
      .where('partyId', '=', partyId)
      .where('id', '=', id)
      .where('version', '=', version),
  ({ id }) => `payment request ${id}`,
)

/** Saves a request's card declines so far. Writes no event, because the request's status does not change. */
export async function saveCardTries(tx: Transaction, before: PaymentRequestRow, tries: CardTries): Promise<void> {
  const { partyId, id, version } = before
  await updateTries(tx, { partyId, id, version, next: version + 1, cardTries: JSON.stringify(tries) })
}

const updateTries = changingOne(
  (
    db,
    {
      partyId,
      id,
      version,
      next,
      cardTries,
    }: { cardTries: string } & Omit<Written, 'status' | 'openUntilMs' | 'updatedAtMs' | keyof Changes>,
  ) =>
    db
      .updateTable('paymentRequests')
      .set({ cardTries, version: next })
      .where('partyId', '=', partyId)
      .where('id', '=', id)
      .where('version', '=', version),
  ({ id }) => `payment request ${id}`,
)

/** Updates the request that a new or changed payment fulfills. Does nothing if the payment fulfills no request. */
export async function followPayment(tx: Transaction, payment: PaymentRow): Promise<void> {
  const { paymentRequestId, recipientPartyId, updatedAtMs } = payment
  if (paymentRequestId === null) return
  const request = await findPaymentRequest(tx, recipientPartyId ?? '', paymentRequestId)
  if (request === undefined) throw new Error(`Bug: the payment ${payment.id} fulfills a request that does not exist.`)
  requireOnlyPayment(request, payment.id)
  const event = eventOfPayment(request.status, payment.status)
  if (event === null) return
  const changes =
    event === 'reopen'
      ? { paymentId: null, transactionId: null }
      : { paymentId: payment.id, transactionId: payment.transactionId }
  await changePaymentRequest(tx, request, event, updatedAtMs, changes)
}

/** Makes a new party the payer of all open requests to the party's email address or phone number. */
export async function assignToNewParty(
  tx: Transaction,
  { id: payerPartyId, email, phone }: { id: string; email: string | null; phone: string | null },
  atMs: number,
): Promise<void> {
  for (const address of [email?.toLowerCase(), phone]) {
    if (typeof address !== 'string') continue
    for (const before of (await openRequestsTo(tx, { address })).rows) {
      await write(tx, before, { ...before, payerPartyId, updatedAtMs: Math.max(before.updatedAtMs, atMs) })
    }
  }
}

const openRequestsTo = prepared((db, { address }: { address: string }) =>
  db
    .selectFrom('paymentRequests')
    .selectAll()
    .where('payerValue', '=', address)
    .where('status', '=', 'OPEN')
    .where('payerPartyId', 'is', null)
    .orderBy('id'),
)

/** Selects the open requests, with the time at which each one expires. */
export const requestExpiries: Moments = (db, partyId) => {
  const all = db
    .selectFrom('paymentRequests')
    .select(['id', 'partyId', 'openUntilMs as atMs'])
    .where('openUntilMs', 'is not', null)
  return partyId === undefined ? all : all.where('partyId', '=', partyId)
}

/** Returns the open requests that a party sent and whose expiry time has passed, the earliest expiry first. */
export async function expiredRequests(tx: Transaction, due: DueOf): Promise<PaymentRequestRow[]> {
  return (await expired(tx, due)).rows
}

const expired = prepared((db, by: DueOf) =>
  db
    .selectFrom('paymentRequests')
    .selectAll()
    .where('partyId', '=', by.partyId)
    .where('openUntilMs', '<=', by.nowMs)
    .orderBy('openUntilMs')
    .orderBy('id')
    .limit(by.limit),
)

export function requestsById(tx: Transaction, partyId: string, ids: readonly string[]): Promise<PaymentRequestRow[]> {
  return inBatches(ids, (batch) =>
    tx.db.selectFrom('paymentRequests').selectAll().where('partyId', '=', partyId).where('id', 'in', batch).execute(),
  )
}

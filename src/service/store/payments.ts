import { sql } from 'kysely'
import { paymentEvents } from '../rules/events.ts'
import { paymentSpendingCents } from '../rules/limits.ts'
import type { DueOf, Moments } from './clock.ts'
import { inBatches } from './engine/batches.ts'
import { finderOf } from './engine/find.ts'
import { createIndexWalk } from './engine/index-walk.ts'
import { preparedInsert } from './engine/insert.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import { changingOne, prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { recordEvents } from './events.ts'
import { followPayment } from './payment-requests.ts'
import type { PaymentRow } from './schema/payments.ts'
import { addSpending } from './spending.ts'
import { type ListScope, permittedWallets } from './wallet-permissions.ts'

/** The bank columns and `paymentRequestId` of a payment that involves no bank and fulfills no request. */
export const withoutBank = {
  externalAccountId: null,
  method: null,
  paymentRequestId: null,
  bankDueAtMs: null,
  submittedAtMs: null,
  settledAtMs: null,
  failure: null,
  returned: null,
} as const satisfies Partial<PaymentRow>

/** Finds a payment or transfer that a party made. */
export const findPayment = finderOf('payments', 'partyId', 'id')

/** Finds a payment or transfer by its id alone. The caller must decide who may see it. */
export async function findPaymentOfAnyParty(tx: Transaction, id: string): Promise<PaymentRow | undefined> {
  return (await paymentById(tx, { id })).rows[0]
}

/** Finds a payment by the hash of the token in its claim link. */
export const findClaimablePayment = finderOf('payments', 'claimTokenHash')

const paymentById = prepared((db, by: { id: string }) => db.selectFrom('payments').selectAll().where('id', '=', by.id))

/** Returns the payments that a party sent, newest first. */
export function listPayments(tx: Transaction, scope: ListScope, page: PageRequest): Promise<PageOf<PaymentRow>> {
  return list(walkPayments, tx, scope, page)
}

/** Returns a party's deposits, withdrawals, wires and transfers between its wallets, newest first. */
export function listTransfers(tx: Transaction, scope: ListScope, page: PageRequest): Promise<PageOf<PaymentRow>> {
  return list(walkTransfers, tx, scope, page)
}

/**
 * Reads pages of payments. The same table also contains transfers, whose ids have a different prefix. `walkTransfers`
 * reads pages of transfers.
 */
const walkPayments = createIndexWalk('payments', (db) => db.selectFrom('payments').selectAll(), 'pay')
const walkTransfers = createIndexWalk('payments', (db) => db.selectFrom('payments').selectAll(), 'tfr')

async function list(walk: typeof walkPayments, tx: Transaction, scope: ListScope, page: PageRequest) {
  const { partyId } = scope
  const held = await permittedWallets(tx, scope)
  return walk(tx, held === undefined ? [{ partyId }] : held.map((walletId) => ({ partyId, walletId })), page, partyId)
}

/** Adds a payment, writes its events, counts it toward spending limits, and updates the request that it fulfills. */
export async function insertPayment(tx: Transaction, row: PaymentRow): Promise<void> {
  await insert(tx, row)
  recordForBoth(tx, undefined, row)
  await followPayment(tx, row)
  await addSpending(tx, row, { cents: paymentSpendingCents(row), atMs: row.createdAtMs, nowMs: row.createdAtMs })
}

const insert = preparedInsert('payments')

/**
 * Writes events for the party that made the payment. If the recipient is a different party, it gets an event only when
 * the payment arrives or when a bank takes the payment back.
 */
function recordForBoth(tx: Transaction, before: PaymentRow | undefined, after: PaymentRow): void {
  const { recipientPartyId, recipientAgentId, status, updatedAtMs } = after
  const types = paymentEvents(before, after)
  recordEvents(tx, after, types, updatedAtMs)
  if ((status !== 'COMPLETED' && status !== 'RETURNED') || before?.status === status) return
  if (recipientPartyId === null || recipientPartyId === after.partyId) return
  recordEvents(tx, { ...after, partyId: recipientPartyId, agentId: recipientAgentId }, types.slice(-1), updatedAtMs)
}

type Bank = Pick<PaymentRow, 'bankDueAtMs' | 'submittedAtMs' | 'settledAtMs' | 'failure' | 'returned'>
type PaymentChange = Bank &
  Pick<PaymentRow, 'status' | 'heldCents' | 'recipientPartyId' | 'recipientAgentId' | 'transactionId' | 'updatedAtMs'>

/** Writes a payment's new state. @throws StaleWriteError if the payment has changed since it was read. */
export async function replacePayment(tx: Transaction, before: PaymentRow, after: PaymentRow): Promise<PaymentRow> {
  const { status, heldCents, recipientPartyId, recipientAgentId, transactionId, updatedAtMs } = after
  const { bankDueAtMs, submittedAtMs, settledAtMs, failure, returned } = after
  const change = {
    status,
    heldCents,
    recipientPartyId,
    recipientAgentId,
    transactionId,
    updatedAtMs,
    bankDueAtMs,
    submittedAtMs,
    settledAtMs,
    failure,
    returned,
  }
  const { partyId, id } = before
  const version = before.version + 1
  await update(tx, { ...change, partyId, id, version: before.version, next: version })
  recordForBoth(tx, before, after)
  if (before.status !== after.status) await followPayment(tx, after)
  const cents = paymentSpendingCents(after) - paymentSpendingCents(before)
  await addSpending(tx, before, { cents, atMs: before.createdAtMs, nowMs: updatedAtMs })
  return { ...after, version }
}

const update = changingOne(
  (db, { partyId, id, version, next, ...change }: PaymentChange & Key) =>
    db
      .updateTable('payments')
      .set({ ...change, version: next })
      .where('partyId', '=', partyId)
      .where('id', '=', id)
      .where('version', '=', version),
  ({ id }) => `payment ${id}`,
)

interface Key {
  partyId: string
  id: string
  version: number
  next: number
}

/** Selects the payments and transfers that wait for a bank's next step, with the time of that step. */
export const bankMoments: Moments = (db, partyId) => {
  const all = db
    .selectFrom('payments')
    .select(['id', 'partyId', 'bankDueAtMs as atMs'])
    .where('bankDueAtMs', 'is not', null)
  return partyId === undefined ? all : all.where('partyId', '=', partyId)
}

/** Returns a party's payments and transfers whose next bank step is due, the longest overdue first. */
export async function dueAtBanks(tx: Transaction, due: DueOf): Promise<PaymentRow[]> {
  return (await overdue(tx, due)).rows
}

const overdue = prepared((db, by: DueOf) =>
  db
    .selectFrom('payments')
    .selectAll()
    .where('partyId', '=', by.partyId)
    .where('bankDueAtMs', '<=', by.nowMs)
    .orderBy('bankDueAtMs')
    .orderBy('id')
    .limit(by.limit),
)

/** Returns the payments to or from one of a party's bank accounts that are still waiting for approval. */
export async function paymentsInReview(
  tx: Transaction,
  by: { partyId: string; externalAccountId: string },
): Promise<PaymentRow[]> {
  return (await inReviewByAccount(tx, by)).rows
}

const inReviewByAccount = prepared((db, by: { partyId: string; externalAccountId: string }) =>
  db
    .selectFrom('payments')
    .selectAll()
    .where('partyId', '=', by.partyId)
    .where('externalAccountId', '=', by.externalAccountId)
    .where('status', '=', sql.lit('IN_REVIEW'))
    .orderBy('id'),
)

export interface Claims {
  amount: number
  count: number
}

/** Counts the unclaimed payments to these email addresses or phone numbers. `amount` is the total amount in cents. */
export async function claimsFor(tx: Transaction, claimants: readonly string[]): Promise<Claims> {
  if (claimants.length === 0) return { amount: 0, count: 0 }
  const row = await tx.db
    .selectFrom('payments')
    .select((row) => [row.fn.sum('heldCents').as('amount'), row.fn.countAll().as('count')])
    .where('claimant', 'in', claimants)
    .where('status', '=', 'PENDING_CLAIM')
    .executeTakeFirstOrThrow()
  return { amount: Number(row.amount ?? 0), count: Number(row.count) }
}

export function paymentsById(tx: Transaction, partyId: string, ids: readonly string[]): Promise<PaymentRow[]> {
  return inBatches(ids, (batch) =>
    tx.db.selectFrom('payments').selectAll().where('partyId', '=', partyId).where('id', 'in', batch).execute(),
  )
}

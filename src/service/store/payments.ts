import type { Kysely } from 'kysely'
import { inserting } from './engine/insert.ts'
import { type PageOf, type PageRequest, readPage } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import { mustChangeOne, type Transaction } from './engine/store.ts'
import type { PaymentRow } from './schema/payments.ts'
import type { Tables } from './schema/tables.ts'
import { heldBy, type ListScope } from './wallet-permissions.ts'

/** A payment or transfer by its id alone: who may see it is for the caller to decide. */
export async function findPaymentOfAnyParty(tx: Transaction, id: string): Promise<PaymentRow | undefined> {
  return (await paymentById(tx, { id })).rows[0]
}

/** The payment whose claim link has a token of that hash. */
export async function findClaimablePayment(tx: Transaction, claimTokenHash: string): Promise<PaymentRow | undefined> {
  return (await paymentByClaim(tx, { claimTokenHash })).rows[0]
}

const paymentByClaim = prepared((db, by: { claimTokenHash: string }) =>
  db.selectFrom('payments').selectAll().where('claimTokenHash', '=', by.claimTokenHash),
)

const paymentById = prepared((db, by: { id: string }) => db.selectFrom('payments').selectAll().where('id', '=', by.id))

/** The payments that a party sent, newest first. */
export function listPayments(tx: Transaction, scope: ListScope, page: PageRequest): Promise<PageOf<PaymentRow>> {
  return listOfKinds(tx, ['payment'], scope, page)
}

/** A party's deposits, wires and transfers between its wallets, newest first. */
export function listTransfers(tx: Transaction, scope: ListScope, page: PageRequest): Promise<PageOf<PaymentRow>> {
  return listOfKinds(tx, ['wire', 'deposit', 'internal'], scope, page)
}

async function listOfKinds(
  tx: Transaction,
  kinds: PaymentRow['kind'][],
  scope: ListScope,
  page: PageRequest,
): Promise<PageOf<PaymentRow>> {
  let query = tx.db.selectFrom('payments').selectAll().where('partyId', '=', scope.partyId).where('kind', 'in', kinds)
  query = heldBy(query, scope)
  return readPage(query, page)
}

export const insertPayment = inserting('payments')

type PaymentChange = Pick<
  PaymentRow,
  'status' | 'heldCents' | 'recipientPartyId' | 'recipientAgentId' | 'transactionId' | 'updatedAtMs'
>

/** Writes a payment's new state. @throws StaleWriteError when it changed since it was read. */
export async function replacePayment(tx: Transaction, before: PaymentRow, after: PaymentRow): Promise<PaymentRow> {
  const { status, heldCents, recipientPartyId, recipientAgentId, transactionId, updatedAtMs } = after
  const change = { status, heldCents, recipientPartyId, recipientAgentId, transactionId, updatedAtMs }
  const version = before.version + 1
  mustChangeOne(
    await update(tx, { ...change, id: before.id, version: before.version, next: version }),
    `payment ${before.id}`,
  )
  return { ...after, version }
}

const update = prepared((db, { id, version, next, ...change }: PaymentChange & Key) =>
  db
    .updateTable('payments')
    .set({ ...change, version: next })
    .where('id', '=', id)
    .where('version', '=', version),
)

interface Key {
  id: string
  version: number
  next: number
}

export interface Claims {
  amount: number
  count: number
}

/** What waits for somebody with one of these addresses (e-mail, phone) to claim it. */
export async function claimsFor(tx: Transaction, claimants: readonly string[]): Promise<Claims> {
  if (claimants.length === 0) return { amount: 0, count: 0 }
  const row = await tx.db
    .selectFrom('payments')
    .select((of) => [of.fn.sum('heldCents').as('amount'), of.fn.countAll().as('count')])
    .where('claimant', 'in', claimants)
    .where('status', '=', 'PENDING_CLAIM')
    .executeTakeFirstOrThrow()
  return { amount: Number(row.amount ?? 0), count: Number(row.count) }
}

/** What a party, or one agent of it, paid since then: a part of the query that sums what was spent. */
export function paidSince(db: Kysely<Tables>, partyId: string, agentId: string | null, sinceMs: number) {
  const ofParty = db
    .selectFrom('payments')
    .select((row) => row.fn.sum('amountCents').as('cents'))
    .where('partyId', '=', partyId)
    .where('createdAtMs', '>=', sinceMs)
    // The kinds whose money leaves the party.
    .where('kind', 'in', ['payment', 'wire'])
    .where('status', 'not in', ['FAILED', 'CANCELED', 'APPROVAL_DENIED', 'IN_REVIEW'])
  return agentId === null ? ofParty : ofParty.where('agentId', '=', agentId)
}

import type { Kysely } from 'kysely'
import { sha256 } from '../../core/system.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { addColumns } from './schema/schema.ts'
import type { SubscriptionPaymentRow, Tables } from './schema/tables.ts'
import { transactionsOfPayments } from './transactions.ts'

/** What a transaction of a charge names as its payment: the database allows one transaction for each. */
export function chargeKey(subscriptionId: string, paymentNumber: number): string {
  return `${subscriptionId}/${paymentNumber}`
}

/** A payment that was charged, with the transaction that its money arrived by. */
export interface ChargedPayment extends SubscriptionPaymentRow {
  transactionId: string
}

/** The charges of a subscription for the payments from `first` to `last`. */
export async function chargedPayments(
  tx: Transaction,
  of: { subscriptionId: string; first: number; last: number },
): Promise<ChargedPayment[]> {
  const { rows: charges } = await chargesBetween(tx, of)
  if (charges.length === 0) return []
  const keys = charges.map(({ paymentNumber }) => chargeKey(of.subscriptionId, paymentNumber))
  const arrivals = await transactionsOfPayments(tx, keys)
  const idOf = new Map(arrivals.map(({ id, paymentId }) => [paymentId, id]))
  return charges.map((charge) => {
    const key = chargeKey(of.subscriptionId, charge.paymentNumber)
    const transactionId = idOf.get(key)
    if (transactionId === undefined) throw new Error(`Bug: the charge ${key} has no transaction.`)
    return { ...charge, transactionId }
  })
}

const chargesBetween = prepared((db, of: { subscriptionId: string; first: number; last: number }) =>
  db
    .selectFrom('subscriptionPayments')
    .selectAll()
    .where('subscriptionId', '=', of.subscriptionId)
    .where('paymentNumber', '>=', of.first)
    .where('paymentNumber', '<=', of.last),
)

const batch = 500

/** Transactions tell of which subscription they are; charges that were made before get theirs. */
export async function createSubscriptionTransactions(db: Kysely<Tables>): Promise<void> {
  await addColumns(db as Kysely<unknown>, 'transactions', { text: 'subscriptionId?' })
  for (let offset = 0; ; offset += batch) {
    const charges = await db
      .selectFrom('subscriptionPayments as charge')
      .innerJoin('subscriptions as of', 'of.id', 'charge.subscriptionId')
      .select(['charge.subscriptionId', 'charge.paymentNumber', 'charge.amountCents', 'charge.chargedAtMs'])
      .select(['of.partyId', 'of.walletId', 'of.currency', 'of.terms'])
      .orderBy('charge.subscriptionId')
      .orderBy('charge.paymentNumber')
      .limit(batch)
      .offset(offset)
      .execute()
    if (charges.length === 0) return
    const rows = charges.map(({ subscriptionId, paymentNumber, ...charge }) => {
      const paymentId = chargeKey(subscriptionId, paymentNumber)
      return {
        // Its time, so that it stands where it belongs among the others, and digits that are its own.
        id: `txn_${charge.chargedAtMs.toString(16).padStart(12, '0')}${sha256(paymentId).slice(0, 20)}`,
        transactionType: 'payment' as const,
        paymentId,
        subscriptionId,
        sourcePartyId: null,
        sourceWalletId: null,
        destinationPartyId: charge.partyId,
        destinationWalletId: charge.walletId,
        delegated: 0 as const,
        amountCents: charge.amountCents,
        currency: charge.currency,
        description: (JSON.parse(charge.terms) as { description: string }).description,
        createdAtMs: charge.chargedAtMs,
      }
    })
    await db.insertInto('transactions').values(rows).execute()
  }
}

export const insertCharge = prepared((db, row: SubscriptionPaymentRow) =>
  db.insertInto('subscriptionPayments').values(row),
)

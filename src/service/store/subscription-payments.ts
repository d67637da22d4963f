import { chargeKey } from '../rules/subscription-payments.ts'
import { inBatches } from './engine/batches.ts'
import { preparedInsert } from './engine/insert.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { SubscriptionPaymentRow } from './schema/subscription-payments.ts'
import { transactionsOfPayments } from './transactions.ts'

/** A charged payment, with the id of the transaction that moved the money. */
export interface ChargedPayment extends SubscriptionPaymentRow {
  transactionId: string
}

interface PaymentRange {
  partyId: string
  subscriptionId: string
  first: number
  last: number
}

/** Returns a subscription's charged payments with numbers from `first` to `last`, inclusive. */
export async function chargedPayments(tx: Transaction, range: PaymentRange): Promise<ChargedPayment[]> {
  const { rows: charges } = await chargesBetween(tx, range)
  if (charges.length === 0) return []
  const keys = charges.map(({ paymentNumber }) => chargeKey(range.subscriptionId, paymentNumber))
  const transactions = await transactionsOfPayments(tx, range.partyId, keys)
  const transactionIds = new Map(transactions.map(({ id, paymentId }) => [paymentId, id]))
  return charges.map((charge) => {
    const key = chargeKey(range.subscriptionId, charge.paymentNumber)
    const transactionId = transactionIds.get(key)
    if (transactionId === undefined) throw new Error(`Bug: the charge ${key} has no transaction.`)
    return { ...charge, transactionId }
  })
}

const chargesBetween = prepared((db, range: PaymentRange) =>
  db
    .selectFrom('subscriptionPayments')
    .selectAll()
    .where('partyId', '=', range.partyId)
    .where('subscriptionId', '=', range.subscriptionId)
    .where('paymentNumber', '>=', range.first)
    .where('paymentNumber', '<=', range.last),
)

export const insertCharge = preparedInsert('subscriptionPayments')

/** Returns the total amount charged for each of the given subscriptions of a party, keyed by subscription id. */
export async function chargedCents(
  tx: Transaction,
  partyId: string,
  subscriptionIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await inBatches(subscriptionIds, (batch) =>
    tx.db
      .selectFrom('subscriptionPayments')
      .select(({ fn }) => ['subscriptionId', fn.sum('amountCents').as('cents')])
      .where('partyId', '=', partyId)
      .where('subscriptionId', 'in', batch)
      .groupBy('subscriptionId')
      .execute(),
  )
  return new Map(rows.map(({ subscriptionId, cents }) => [subscriptionId, Number(cents)]))
}

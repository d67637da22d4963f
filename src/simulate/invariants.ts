import type { PartyName } from './action.ts'
import type { Facts, PaymentFacts, TransactionFacts } from './facts.ts'
import type { Model } from './model/model.ts'
import type { Balance } from './model/state.ts'

/** What was read of a party at the end. */
export interface Found {
  party: PartyName
  records: Map<string, Facts>
  /** What the payers of its subscriptions were charged, cents. */
  charged: number
  balance?: Balance
}

type Broken = [what: string, expected: string, actual: string]

/** What must hold of the service's own records of a party, whatever the model says. */
export function brokenInvariant(
  party: PartyName,
  all: readonly Found[],
  { start, model }: { start: Balance; model: Model },
): Broken | undefined {
  const found = all.find((one) => one.party === party)
  if (found?.balance === undefined) return undefined
  const { records, balance, charged } = found
  const transactions = [...records.values()].filter((facts) => facts.type === 'cardTransaction')
  const purchases = transactions.filter(({ kind, decline }) => kind === 'purchase' && decline === null)
  const wrong = brokenPurchase(purchases, transactions)
  if (wrong !== undefined) return wrong
  const payments = paymentsOf(all, model)
  const paid = payments.filter(
    ({ sender, status, name }) => sender === party && status === 'COMPLETED' && model.payment(name)?.wallet !== null,
  )
  const got = payments.filter(({ recipient, status }) => recipient === party && status === 'COMPLETED')
  const transfers = [...records.values()].filter((facts) => facts.type === 'transfer')
  const moved = (kind: string, status: string) =>
    sum(
      transfers.filter((one) => one.kind === kind && one.status === status),
      'amount',
    )
  const fromBanks = moved('deposit', 'COMPLETED') - moved('withdrawal', 'COMPLETED')
  const bought = sum(purchases, 'captured') - sum(purchases, 'refunded')
  const total = start.total - bought - sum(paid, 'amount') + sum(got, 'amount') + charged + fromBanks
  if (balance.total !== total) return ['Money is not conserved.', `total ${total}`, `total ${balance.total}`]
  const waiting = payments.filter(({ sender, status }) => sender === party && status === 'PENDING_CLAIM')
  const leaving = moved('withdrawal', 'PROCESSING')
  const held = start.total - start.available + sum(purchases, 'held') + sum(waiting, 'amount') + leaving
  if (balance.total - balance.available === held) return undefined
  return ['The holds do not add up.', `held ${held}`, `held ${balance.total - balance.available}`]
}

/** As the service tells them; of customers that ended their grant, and of whoever is no customer, as the model does. */
function paymentsOf(
  all: readonly Found[],
  model: Model,
): Pick<PaymentFacts, 'name' | 'sender' | 'recipient' | 'status' | 'amount'>[] {
  const read = all.flatMap(({ records }) => [...records.values()].filter((facts) => facts.type === 'payment'))
  const isRead = (sender: string) => all.some(({ party }) => party === sender && model.allows('list_payments', party))
  const unread = model.payments().filter(({ sender }) => !isRead(sender))
  return [...read, ...unread]
}

function brokenPurchase(purchases: TransactionFacts[], transactions: TransactionFacts[]): Broken | undefined {
  const refunds = Map.groupBy(
    transactions.filter(({ kind }) => kind === 'refund'),
    ({ purchase }) => purchase,
  )
  for (const purchase of purchases) {
    const { name, amount, captured, refunded, held } = purchase
    if (captured + held > amount)
      return [`More is captured than authorized of ${name}.`, `<= ${amount}`, `${captured + held}`]
    if (refunded > captured) return [`More is refunded than captured of ${name}.`, `<= ${captured}`, `${refunded}`]
    const returned = sum(refunds.get(name) ?? [], 'amount')
    if (returned !== refunded) return [`The refunds of ${name} do not add up.`, `${refunded}`, `${returned}`]
  }
  const cards = new Set(purchases.map(({ card }) => card))
  if (cards.size === purchases.length) return undefined
  return ['A card has made more than one purchase.', `${cards.size}`, `${purchases.length}`]
}

function sum<F extends string>(list: readonly Record<F, number>[], field: F): number {
  return list.reduce((total, one) => total + one[field], 0)
}

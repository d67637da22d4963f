import type { Facts, TransactionFacts } from './facts.ts'
import type { Balance } from './model/state.ts'

type Violation = [what: string, expected: string, actual: string]

/** Checks whether a party's records and balance in the service are consistent. Returns the first violation, if any. */
export function brokenInvariant(
  records: ReadonlyMap<string, Facts>,
  balance: Balance,
  start: Balance,
): Violation | undefined {
  const transactions = [...records.values()].filter((facts) => facts.type === 'cardTransaction')
  const purchases = transactions.filter(({ kind, decline }) => kind === 'purchase' && decline === null)
  const wrong = purchaseViolation(purchases, transactions)
  if (wrong !== undefined) return wrong
  const total = start.total - sum(purchases, 'captured') + sum(purchases, 'refunded')
  if (balance.total !== total) return ['Money is not conserved.', `total ${total}`, `total ${balance.total}`]
  const held = start.total - start.available + sum(purchases, 'held')
  if (balance.total - balance.available === held) return undefined
  return ['The holds do not add up.', `held ${held}`, `held ${balance.total - balance.available}`]
}

function purchaseViolation(purchases: TransactionFacts[], transactions: TransactionFacts[]): Violation | undefined {
  const refunds = Map.groupBy(
    transactions.filter(({ kind }) => kind === 'refund'),
    ({ purchase }) => purchase,
  )
  for (const purchase of purchases) {
    const { name, amount, captured, refunded, held } = purchase
    if (captured + held > amount)
      return [`${name}: more was captured and held than authorized.`, `<= ${amount}`, `${captured + held}`]
    if (refunded > captured) return [`${name}: more was refunded than captured.`, `<= ${captured}`, `${refunded}`]
    const returned = sum(refunds.get(name) ?? [], 'amount')
    if (returned !== refunded) return [`${name}: the refunds do not add up.`, `${refunded}`, `${returned}`]
  }
  const cards = new Set(purchases.map(({ card }) => card))
  if (cards.size === purchases.length) return undefined
  return ['A card has made more than one approved purchase.', `${cards.size}`, `${purchases.length}`]
}

function sum(list: readonly TransactionFacts[], field: 'amount' | 'held' | 'captured' | 'refunded'): number {
  return list.reduce((total, one) => total + one[field], 0)
}

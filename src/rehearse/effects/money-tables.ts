import { money } from '../../core/money.ts'
import type { ShopOrderState } from '../../service/rules/shop-orders.ts'
import type { Terms } from '../../service/rules/subscription-terms.ts'
import type { Effect } from '../results.ts'
import { type Description, type TableRow, type Telling, type Told, told } from './descriptions.ts'

type Purchase = TableRow<'cardTransactions'>
type Payment = TableRow<'payments'>

const aboutPurchase = ({ merchantName, partyId, amountCents }: Purchase, { names }: Telling) => ({
  ...{ at: merchantName, of: names.party(partyId), cents: amountCents },
})

const cardTransactions: Description<Purchase> = {
  what: 'purchase',
  about: aboutPurchase,
  noun: ({ merchantName, amountCents }) => `the purchase of ${money(amountCents)} at ${merchantName}`,
  added: (row, telling) => {
    const { kind, merchantName, amountCents, declineCode } = row
    // The purchase that it returns tells of it.
    if (kind === 'refund') return []
    const about = aboutPurchase(row, telling)
    if (declineCode === null)
      return [told('purchase', 'given', `${money(amountCents)} spent at ${merchantName}`, about)]
    const says = `${money(amountCents)} tried at ${merchantName} and declined (${declineCode})`
    return [told('decline', 'clutter', says, about)]
  },
  changed: (before, after, telling) => {
    const { merchantName: at } = after
    const captured = after.capturedCents - before.capturedCents
    const refunded = after.refundedCents - before.refundedCents
    const released = before.heldCents - after.heldCents - captured
    const of = telling.names.party(after.partyId)
    const moved = (what: Told['what'], weight: Effect['weight'], cents: number, says: string, byShop?: true): Told[] =>
      cents === 0
        ? []
        : [{ what, weight, says: `${money(cents)} ${says} ${at}`, at, of, cents, ...(byShop && { byShop }) }]
    return [
      ...moved('capture', 'given', captured, 'captured by', true),
      ...moved('release', 'undone', released, 'released by'),
      ...moved('refund', 'undone', refunded, 'refunded by', true),
    ]
  },
}

/** To whom a payment goes: a handle, or what it was paid by where nobody known is to be paid. */
function payeeOf({ recipientPartyId, claimant, beneficiary, kind }: Payment, { names, rows }: Telling): string {
  if (recipientPartyId !== null) return names.payee(recipientPartyId)
  if (claimant !== null) return claimant
  const given = beneficiary === null ? {} : (JSON.parse(beneficiary) as { name?: string; walletId?: string })
  if (kind === 'wire') return given.name ?? ''
  return given.walletId === undefined
    ? ''
    : String(rows.get('wallets')?.get(given.walletId)?.displayName ?? given.walletId)
}

const aboutPayment = (row: Payment, telling: Telling) => {
  const to = payeeOf(row, telling)
  return { ...(to === '' ? {} : { to }), of: telling.names.party(row.partyId), cents: row.amountCents }
}

const paymentKinds = {
  payment: 'payment',
  wire: 'wire',
  deposit: 'transfer',
  withdrawal: 'transfer',
  internal: 'transfer',
} as const

function moneyMoved(row: Payment, telling: Telling): string {
  const amount = money(row.amountCents)
  const to = payeeOf(row, telling)
  if (row.kind === 'deposit') return `${amount} drawn from a bank account`
  if (row.kind === 'withdrawal') return `${amount} withdrawn to a bank account`
  if (row.kind === 'internal') return `${amount} moved to the wallet ${to}`
  if (row.status === 'IN_REVIEW') return `${amount} to ${to}, which waits for approval`
  if (row.status === 'PENDING_CLAIM') return `${amount} set aside for ${to}`
  return `${amount} ${row.kind === 'wire' ? 'wired' : 'paid'} to ${to}`
}

/** Statuses at which the money is back, or never left. */
const undone: ReadonlySet<string> = new Set(['CANCELED', 'APPROVAL_DENIED', 'FAILED', 'RETURNED', 'EXPIRED'])

const payments: Description<Payment> = {
  what: 'payment',
  ignored: ['heldCents', 'bankDueAtMs', 'submittedAtMs', 'settledAtMs', 'transactionId', 'claimTokenHash'],
  about: aboutPayment,
  noun: (row, telling) => `the payment of ${money(row.amountCents)} to ${payeeOf(row, telling)}`,
  added: (row, telling) => [
    told(paymentKinds[row.kind], 'given', moneyMoved(row, telling), aboutPayment(row, telling)),
  ],
  changed: (before, after, telling) => {
    const what = paymentKinds[after.kind]
    const about = aboutPayment(after, telling)
    if (before.status === after.status) return undefined
    if (!undone.has(after.status)) return [told(what, 'given', moneyMoved(after, telling), about)]
    const says = `${payments.noun(after, telling)} ${after.status.toLowerCase().replaceAll('_', ' ')}`
    return [told(what, 'undone', says, about)]
  },
}

const approvals: Description<TableRow<'approvals'>> = {
  what: 'approval',
  ignored: ['resolvedAtMs', 'denialReason'],
  about: ({ partyId, paymentId }, telling) => {
    const payment = telling.rows.get('payments')?.get(paymentId) as Payment | undefined
    return { of: telling.names.party(partyId), ...(payment === undefined ? {} : aboutPayment(payment, telling)) }
  },
  noun: ({ paymentId }, telling) => {
    const payment = telling.rows.get('payments')?.get(paymentId) as Payment | undefined
    return `approval of ${payment === undefined ? paymentId : `${money(payment.amountCents)} to ${payeeOf(payment, telling)}`}`
  },
  changed: (before, after, telling) => {
    if (before.status === after.status) return undefined
    const weight = after.status === 'approved' ? 'given' : 'undone'
    return [
      told('approval', weight, `${approvals.noun(after, telling)}: ${after.status}`, approvals.about?.(after, telling)),
    ]
  },
}

const merchantOf = (cardTransactionId: string, { rows }: Telling) =>
  String(rows.get('cardTransactions')?.get(cardTransactionId)?.merchantName ?? '')

const aboutOrder = ({ partyId, cardTransactionId }: TableRow<'shopOrders'>, telling: Telling) => ({
  at: merchantOf(cardTransactionId, telling),
  of: telling.names.party(partyId),
})

const shopOrders: Description<TableRow<'shopOrders'>> = {
  what: 'order',
  ignored: ['state', 'nextEventAtMs'],
  about: aboutOrder,
  noun: (row, telling) => `the order at ${merchantOf(row.cardTransactionId, telling)}`,
  added: (row, telling) => {
    const about = aboutOrder(row, telling)
    const { subscription } = JSON.parse(row.state) as ShopOrderState
    const order = told('order', 'given', `an order at ${about.at}`, about)
    if (subscription === null) return [order]
    const { amountCents: cents } = subscription
    return [
      order,
      told('subscription', 'given', `a subscription of ${money(cents)} at ${about.at}`, { ...about, cents }),
    ]
  },
  changed: (before, after, telling) => {
    if (before.status === after.status) return undefined
    const about = aboutOrder(after, telling)
    if (after.status === 'returning') return [told('return', 'undone', `the order at ${about.at} sent back`, about)]
    const says = `the order at ${about.at} ${after.status.replaceAll('_', ' ')}`
    const weight = after.status === 'canceled' || after.status === 'returned' ? 'undone' : 'given'
    return [{ ...told('order', weight, says, about), byShop: true }]
  },
}

const shopCheckouts: Description<TableRow<'shopCheckouts'>> = {
  what: 'checkout',
  ignored: ['cart', 'totalCents', 'note', 'decline', 'expiresAtMs'],
  about: ({ shopId, partyId, totalCents }, { names }) => {
    return { at: names.shop(shopId), of: names.party(partyId), cents: totalCents }
  },
  noun: ({ shopId, totalCents }, { names }) => `a cart of ${money(totalCents)} at ${names.shop(shopId)}`,
  added: (row, telling) => [
    told('checkout', 'clutter', shopCheckouts.noun(row, telling), shopCheckouts.about?.(row, telling)),
  ],
  changed: (_before, after, telling) => [
    told('checkout', 'given', `${shopCheckouts.noun(after, telling)}: paid`, shopCheckouts.about?.(after, telling)),
  ],
}

const paymentRequests: Description<TableRow<'paymentRequests'>> = {
  what: 'request',
  ignored: ['openUntilMs', 'transactionId', 'cardTries', 'paymentId', 'payerPartyId', 'payerAgentId'],
  about: ({ payerValue, partyId, amountCents }, { names }) => {
    return { to: payerValue, of: names.party(partyId), cents: amountCents }
  },
  noun: ({ amountCents, payerName, payerValue }) => `${money(amountCents)} asked of ${payerName ?? payerValue}`,
  changed: (before, after, telling) => {
    if (before.status === after.status) return undefined
    // How it is paid, the payment tells.
    if (!['CANCELED', 'DECLINED'].includes(after.status)) return []
    const says = `${paymentRequests.noun(after, telling)}: ${after.status.toLowerCase()}`
    return [told('request', 'undone', says, paymentRequests.about?.(after, telling))]
  },
}

/** A request of a merchant for recurring payments. */
const subscriptions: Description<TableRow<'subscriptions'>> = {
  what: 'request',
  ignored: ['nextEventAtMs', 'paymentIntentId', 'mandateId'],
  about: ({ partyId, terms }, { names }) => ({ of: names.party(partyId), cents: centsOf(terms) }),
  noun: ({ terms }) => {
    const { description } = JSON.parse(terms) as Terms
    return `a subscription of ${money(centsOf(terms))} asked for (${description})`
  },
  changed: (before, after, telling) => {
    if (before.status === after.status) return undefined
    const weight = after.status === 'canceled' ? 'undone' : 'given'
    const says = `${subscriptions.noun(after, telling)}: ${after.status.replaceAll('_', ' ')}`
    return [told('request', weight, says, subscriptions.about?.(after, telling))]
  },
}

function centsOf(terms: string): number {
  const read = JSON.parse(terms) as Terms
  return read.paymentCount === null ? read.amount : read.totalAmount
}

const externalAccounts: Description<TableRow<'externalAccounts'>> = {
  what: 'account',
  about: ({ partyId }, { names }) => ({ of: names.party(partyId) }),
  noun: ({ bankName, lastFour }) => `the bank account at ${bankName}, …${lastFour}`,
}

const wallets: Description<TableRow<'wallets'>> = {
  what: 'wallet',
  ignored: ['availableCents', 'heldCents', 'returnedCents'],
  about: ({ partyId }, { names }) => ({ of: names.party(partyId) }),
  noun: ({ displayName, partyId }, { names }) => `the wallet ${displayName ?? ''} of ${names.party(partyId)}`,
  changed: (before, after, telling) => {
    if (before.status === after.status) return undefined
    const weight = after.status === 'active' ? 'given' : 'undone'
    return [told('wallet', weight, `${wallets.noun(after, telling)}: ${after.status}`, wallets.about?.(after, telling))]
  },
}

/** Tables in which money moves, or is asked for. */
export const moneyTables = {
  ...{ cardTransactions, payments, approvals, shopOrders, shopCheckouts, paymentRequests, subscriptions },
  ...{ externalAccounts, wallets },
}

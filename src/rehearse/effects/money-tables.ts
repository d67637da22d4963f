import { money } from '../../core/money.ts'
import type { ShopOrderState } from '../../service/rules/shop-orders.ts'
import type { Terms } from '../../service/rules/subscription-terms.ts'
import {
  type Description,
  type DescriptionContext,
  inWords,
  type RowEffect,
  rowIn,
  type TableRow,
} from './descriptions.ts'

type Payment = TableRow<'payments'>

/** Describes an amount that moved, both as an effect ("$1.00 paid to …") and as an act ("paid $1.00 to …"). */
const moved = (past: string, amount: string, rest: string, participle = past) => {
  return { says: `${amount} ${participle} ${rest}`, did: `${past} ${amount} ${rest}` }
}

const cardTransactions: Description<TableRow<'cardTransactions'>> = {
  what: 'purchase',
  about: ({ merchantName, amountCents }) => ({ at: merchantName, cents: amountCents }),
  noun: ({ merchantName, amountCents }) => `the purchase of ${money(amountCents)} at ${merchantName}`,
  added: ({ kind, merchantName, amountCents, declineCode }) => {
    // A refund also changes the row of its purchase. Only the change of that row is reported.
    if (kind === 'refund') return []
    const amount = money(amountCents)
    if (declineCode === null) return [{ weight: 'given', ...moved('spent', amount, `at ${merchantName}`) }]
    const purchase = `a purchase of ${amount} at ${merchantName}`
    const says = `${purchase} was declined (${declineCode})`
    return [{ what: 'decline', weight: 'clutter', says, did: `tried ${purchase}, which was declined (${declineCode})` }]
  },
  changed: (before, after) => {
    const captured = after.capturedCents - before.capturedCents
    const refunded = after.refundedCents - before.refundedCents
    const released = before.heldCents - after.heldCents - captured
    const moneyEffect = (
      cents: number,
      words: string,
      more: Pick<RowEffect, 'what' | 'weight' | 'byShop'>,
    ): RowEffect[] => (cents === 0 ? [] : [{ ...more, cents, says: `${money(cents)} ${words} ${after.merchantName}` }])
    return [
      ...moneyEffect(captured, 'captured by', { what: 'capture', weight: 'given', byShop: true }),
      ...moneyEffect(released, 'released by', { what: 'release', weight: 'undone' }),
      ...moneyEffect(refunded, 'refunded by', { what: 'refund', weight: 'undone', byShop: true }),
    ]
  },
}

/** Returns the payee: a handle, email address, phone number, name or wallet; "" for deposits and withdrawals. */
function payeeOf({ recipientPartyId, claimant, beneficiary, kind }: Payment, context: DescriptionContext): string {
  if (recipientPartyId !== null) return context.names.payee(recipientPartyId)
  if (claimant !== null) return claimant
  const { name, walletId } = JSON.parse(beneficiary ?? '{}') as { name?: string; walletId?: string }
  if (kind === 'wire') return name ?? ''
  return walletId === undefined ? '' : (rowIn(context, 'wallets', walletId)?.displayName ?? walletId)
}

const aboutPayment = (row: Payment, context: DescriptionContext) => {
  const to = payeeOf(row, context)
  return { ...(to === '' ? {} : { to }), cents: row.amountCents }
}

const paymentKinds = {
  payment: 'payment',
  wire: 'wire',
  deposit: 'transfer',
  withdrawal: 'transfer',
  internal: 'transfer',
} as const

function moneyMoved(row: Payment, context: DescriptionContext): Pick<RowEffect, 'says' | 'did'> {
  const amount = money(row.amountCents)
  const to = payeeOf(row, context)
  if (row.kind === 'deposit') return moved('deposited', amount, 'from a bank account')
  if (row.kind === 'withdrawal') return moved('withdrew', amount, 'to a bank account', 'withdrawn')
  if (row.kind === 'internal') return moved('moved', amount, `to the wallet ${to}`)
  if (row.status === 'IN_REVIEW') {
    return { says: `${amount} to ${to}, pending approval`, did: `asked for approval to pay ${amount} to ${to}` }
  }
  if (row.status === 'PENDING_CLAIM') return moved('reserved', amount, `for ${to} until it is claimed`)
  return moved(row.kind === 'wire' ? 'wired' : 'paid', amount, `to ${to}`)
}

/** Statuses of payments whose money came back or never left the wallet. */
const undoneStatuses: ReadonlySet<string> = new Set(['CANCELED', 'APPROVAL_DENIED', 'FAILED', 'RETURNED', 'EXPIRED'])

const payments: Description<Payment> = {
  what: 'payment',
  ignored: ['heldCents', 'bankDueAtMs', 'submittedAtMs', 'settledAtMs', 'transactionId', 'claimTokenHash'],
  about: aboutPayment,
  noun: (row, context) => {
    const parts = [`the ${paymentKinds[row.kind]} of ${money(row.amountCents)}`, payeeOf(row, context)]
    return parts.filter((part) => part !== '').join(' to ')
  },
  added: (row, context) => [{ what: paymentKinds[row.kind], weight: 'given', ...moneyMoved(row, context) }],
  status: (row, context) => {
    const what = paymentKinds[row.kind]
    if (!undoneStatuses.has(row.status)) return { what, weight: 'given', ...moneyMoved(row, context) }
    const noun = payments.noun(row, context)
    const did = row.status === 'CANCELED' ? { did: `canceled ${noun}` } : {}
    return { what, weight: 'undone', says: `${noun}: ${inWords(row.status)}`, ...did }
  },
}

const approvals: Description<TableRow<'approvals'>> = {
  what: 'approval',
  ignored: ['resolvedAtMs', 'denialReason'],
  about: ({ paymentId }, context) => {
    const payment = rowIn(context, 'payments', paymentId)
    return payment === undefined ? {} : aboutPayment(payment, context)
  },
  noun: ({ paymentId }, context) => {
    const payment = rowIn(context, 'payments', paymentId)
    return `approval of ${payment === undefined ? paymentId : `${money(payment.amountCents)} to ${payeeOf(payment, context)}`}`
  },
  status: (row, context) => {
    const noun = `the ${approvals.noun(row, context)}`
    return row.status === 'approved'
      ? { weight: 'given', did: `gave ${noun}` }
      : { weight: 'undone', did: `${row.status} ${noun}` }
  },
}

const merchantOf = ({ cardTransactionId }: TableRow<'shopOrders'>, context: DescriptionContext) =>
  rowIn(context, 'cardTransactions', cardTransactionId)?.merchantName ?? ''

const shopOrders: Description<TableRow<'shopOrders'>> = {
  what: 'order',
  ignored: ['state', 'nextEventAtMs'],
  about: (row, context) => ({ at: merchantOf(row, context) }),
  noun: (row, context) => `the order at ${merchantOf(row, context)}`,
  added: (row, context) => {
    const at = merchantOf(row, context)
    const { subscription } = JSON.parse(row.state) as ShopOrderState
    const order: RowEffect = { weight: 'given', says: `an order at ${at}` }
    if (subscription === null) return [order]
    const { amountCents: cents } = subscription
    const says = `a subscription of ${money(cents)} at ${at}`
    return [order, { what: 'subscription', weight: 'given', says, cents }]
  },
  status: ({ status, ...row }, context) => {
    const noun = shopOrders.noun({ status, ...row }, context)
    if (status === 'returning') {
      return { what: 'return', weight: 'undone', says: `${noun} returned by the customer`, did: `returned ${noun}` }
    }
    const weight = status === 'canceled' || status === 'returned' ? 'undone' : 'given'
    return { weight, says: `${noun} ${inWords(status)}`, byShop: true }
  },
}

const shopCheckouts: Description<TableRow<'shopCheckouts'>> = {
  what: 'checkout',
  ignored: ['cart', 'totalCents', 'note', 'decline', 'expiresAtMs'],
  about: ({ shopId, totalCents }, { names }) => ({ at: names.shop(shopId), cents: totalCents }),
  noun: ({ shopId, totalCents }, { names }) => `a cart of ${money(totalCents)} at ${names.shop(shopId)}`,
  added: (row, context) => [{ weight: 'clutter', says: shopCheckouts.noun(row, context) }],
  changed: (_before, after, context) => [{ weight: 'given', says: `${shopCheckouts.noun(after, context)}: paid` }],
}

const requested = ({ amountCents, payerName, payerValue }: TableRow<'paymentRequests'>) =>
  moved('requested', money(amountCents), `from ${payerName ?? payerValue}`)

const paymentRequests: Description<TableRow<'paymentRequests'>> = {
  what: 'request',
  ignored: ['openUntilMs', 'transactionId', 'cardTries', 'paymentId', 'payerPartyId', 'payerAgentId'],
  about: ({ payerValue, amountCents }) => ({ to: payerValue, cents: amountCents }),
  noun: (row) => requested(row).says,
  added: (row) => [{ weight: 'given', ...requested(row) }],
  status: () => ({ weight: 'undone' }),
  // If the request is paid, the payment has its own effect.
  changed: ({ status }, after) =>
    status === after.status || ['CANCELED', 'DECLINED'].includes(after.status) ? undefined : [],
}

/** A merchant's request for recurring payments. */
const subscriptions: Description<TableRow<'subscriptions'>> = {
  what: 'request',
  ignored: ['nextEventAtMs', 'paymentIntentId', 'mandateId'],
  about: ({ terms }) => ({ cents: centsOf(terms) }),
  noun: ({ terms }) => {
    const { description } = JSON.parse(terms) as Terms
    return `a request for a subscription of ${money(centsOf(terms))} (${description})`
  },
  status: ({ status }) => ({ weight: status === 'canceled' ? 'undone' : 'given' }),
}

function centsOf(terms: string): number {
  const parsed = JSON.parse(terms) as Terms
  return parsed.paymentCount === null ? parsed.amount : parsed.totalAmount
}

const externalAccounts: Description<TableRow<'externalAccounts'>> = {
  what: 'account',
  noun: ({ bankName, lastFour }) => `the bank account at ${bankName}, …${lastFour}`,
}

const wallets: Description<TableRow<'wallets'>> = {
  what: 'wallet',
  ignored: ['availableCents', 'heldCents', 'returnedCents'],
  noun: ({ displayName, partyId }, { names }) => `the wallet ${displayName ?? ''} of ${names.party(partyId)}`,
  status: ({ status }) => ({ weight: status === 'active' ? 'given' : 'undone' }),
}

/** The descriptions of the tables in which money moves or is requested. */
export const moneyTables = {
  ...{ cardTransactions, payments, approvals, shopOrders, shopCheckouts, paymentRequests, subscriptions },
  ...{ externalAccounts, wallets },
}

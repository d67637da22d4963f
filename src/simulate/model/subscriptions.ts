import type { Action } from '../action.ts'
import type { Facts, SubscriptionFacts } from '../facts.ts'
import {
  amountOf,
  completeWhenOver,
  dateOf,
  dueMs,
  end,
  hasEnded,
  isApproved,
  nextOf,
  passTime,
  resumePlan,
} from './billing.ts'
import { refusedAtTheGate } from './customers.ts'
import {
  conflict,
  type ModelSubscription,
  madeBy,
  move,
  notFound,
  pageOf,
  type Rule,
  type State,
  walletOf,
  wrongValue,
} from './state.ts'

/** A card payment is at least so many cents (docs/service.md#subscription-terms). */
const leastCents = 50
const longest = { week: 25, month: 5, year: 0 } as const
/** The checkout of `create_subscription` ends after a day unless it is said. */
const usualMinutes = 1440

export const subscriptionRules: Readonly<Record<string, Rule>> = {
  create_subscription: create,
  get_subscription: (state, action) => onSubscription(state, action, (found) => subscriptionFacts(state, found)),
  list_subscription_payments: (state, action) => onSubscription(state, action, paymentsPage),
  list_subscriptions: (state, { party }) => {
    const found = [...state.subscriptions.values()].filter((one) => one.party === party)
    return pageOf(found.map((one) => subscriptionFacts(state, one)))
  },
  cancel_subscription: (state, action) =>
    onSubscription(state, action, (found) => {
      if (found.status === 'completed') return conflict
      end(found, 'canceled')
      return subscriptionFacts(state, found)
    }),
  resume_subscription: (state, action) =>
    onSubscription(state, action, (found) => {
      if (found.status !== 'needs_attention') return conflict
      resumePlan(found, state.nowMs, paidInto(state, found))
      return subscriptionFacts(state, found)
    }),
  mark_subscription_payment_paid: (state, action) =>
    onSubscription(state, action, (found) => markPaid(state, found, action)),
  simulate_subscription_checkout: (state, action) =>
    onSubscription(state, action, (found) => checkout(state, found, action)),
  simulate_subscription_card: (state, action) =>
    onSubscription(state, action, (found) => changeCard(state, found, action)),
}

function create(state: State, action: Action): Facts {
  const { unit = 'month', count = 1, amount, total, parts = 0, tax = 0, minutes = usualMinutes, party } = action
  if (unit === 'year') return wrongValue('every/unit')
  if (count > longest[unit]) return wrongValue('every/count')
  if (tax > (amount ?? total ?? 0)) return wrongValue('taxAmount')
  if (amount !== undefined && amount < leastCents) return wrongValue('amount')
  if (total !== undefined && total < leastCents * parts) return wrongValue('totalAmount')
  const made: ModelSubscription = {
    ...{ name: madeBy(action), party, unit, count, minutes, endless: total === undefined },
    amounts: amount === undefined ? partsOf(total ?? 0, tax, parts) : [{ amount, tax }],
    status: 'pending',
    checkoutEndsAtMs: state.nowMs + minutes * 60_000,
    ...{ paidAtMs: null, declined: 0, attention: null },
    ...{ charged: new Map(), markedPaid: new Set(), missed: [], behaviors: [], tries: new Map() },
  }
  state.subscriptions.set(made.name, made)
  return subscriptionFacts(state, made)
}

/** Parts that add up exactly; the cents that remain are in the first ones. */
function partsOf(total: number, tax: number, parts: number) {
  const part = (cents: number, index: number) => Math.floor(cents / parts) + (index < cents % parts ? 1 : 0)
  return Array.from({ length: parts }, (_, index) => ({ amount: part(total, index), tax: part(tax, index) }))
}

/** The payer agrees and pays payment 1, unless the card is declined (docs/service.md#checkout). */
function checkout(state: State, found: ModelSubscription, { card = 'approves' }: Action): Facts {
  if (found.status !== 'pending') return conflict
  if (card === 'agreement_fails') end(found, 'canceled')
  else if (!isApproved(card, found.declined)) found.declined++
  else {
    found.status = 'active'
    found.paidAtMs = state.nowMs
    found.checkoutEndsAtMs = null
    found.behaviors = [{ from: 1, behavior: card }]
    found.charged.set(1, state.nowMs)
    paidInto(state, found)(amountOf(found, 1).amount)
    completeWhenOver(found)
  }
  return subscriptionFacts(state, found)
}

function changeCard(state: State, found: ModelSubscription, { card = 'approves', number }: Action): Facts {
  if (found.status === 'pending' || hasEnded(found)) return conflict
  // Where all payments are settled, the next number is the one after them.
  const next = nextOf(found) ?? found.amounts.length + 1
  const from = number ?? next
  if (from < next) return wrongValue('fromPaymentNumber')
  found.behaviors = [...found.behaviors.filter((one) => one.from < from), { from, behavior: card }]
  return subscriptionFacts(state, found)
}

/** A missed payment, or the next one (docs/service.md#marking-paid). */
function markPaid(state: State, found: ModelSubscription, { number = 0 }: Action): Facts {
  if (!found.endless && number > found.amounts.length) return notFound
  if (found.status === 'pending' || hasEnded(found)) return conflict
  if (!found.missed.includes(number) && number !== nextOf(found)) return conflict
  found.missed = found.missed.filter((one) => one !== number)
  found.markedPaid.add(number)
  completeWhenOver(found)
  return subscriptionFacts(state, found)
}

/** Each charge is a transaction into the merchant's wallet (docs/service.md#money-of-subscriptions). */
function paidInto(state: State, { party }: ModelSubscription) {
  return (cents: number) => move(walletOf(state, party), cents)
}

export function billAll(state: State, fromMs: number): void {
  for (const found of state.subscriptions.values()) passTime(found, fromMs, state.nowMs, paidInto(state, found))
}

function onSubscription(state: State, action: Action, rule: (found: ModelSubscription) => Facts): Facts {
  const found = state.subscriptions.get(action.subject ?? '')
  return found === undefined || found.party !== action.party ? notFound : rule(found)
}

export function subscriptionFacts(state: State, found: ModelSubscription): SubscriptionFacts {
  const { name, status, unit, count, amounts, endless, missed, attention, paidAtMs, minutes } = found
  const pending = status === 'pending'
  // Who could not have asked for the payment is not told where it is paid (docs/service.md#client-secret).
  const mayAsk = refusedAtTheGate(state, { tool: 'create_subscription', party: found.party }) === undefined
  const next = hasEnded(found) ? null : nextOf(found)
  return {
    type: 'subscription',
    name,
    status,
    every: `${count} ${unit}`,
    amounts: `${amounts.map(({ amount, tax }) => `${amount} (${tax} tax)`).join(', ')}${endless ? ' each' : ''}`,
    next: next === null ? null : `${next} of ${amountOf(found, next).amount}, due ${dayOf(dueMs(found, next))}`,
    missed: missed.toSorted((one, other) => one - other).join(),
    attention: attention === null ? null : `${attention.reason} since ${dateOf(attention.sinceMs)}`,
    agreed: paidAtMs !== null,
    payable: pending && mayAsk,
    minutes: pending ? minutes : null,
  }
}

/** What was settled, what comes next and, of terms with an end, what comes after it. */
function paymentsPage(found: ModelSubscription): Facts {
  const next = hasEnded(found) ? null : nextOf(found)
  const settled = found.charged.size + found.markedPaid.size + found.missed.length
  const last = next === null ? settled : found.endless ? next : found.amounts.length
  return pageOf(
    Array.from({ length: last }, (_, index) => {
      const number = index + 1
      const status = found.charged.has(number)
        ? 'paid'
        : found.markedPaid.has(number)
          ? 'marked_paid'
          : found.missed.includes(number)
            ? 'missed'
            : 'scheduled'
      const { amount, tax } = amountOf(found, number)
      const name = `payment ${number} of ${found.name}`
      const due = dayOf(dueMs(found, number))
      return { type: 'subscriptionPayment', name, status, amount, tax, due, charged: status === 'paid' }
    }),
  )
}

function dayOf(ms: number | null): string {
  return ms === null ? 'at checkout' : dateOf(ms)
}

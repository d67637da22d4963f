import { foreignName } from '../../../core/foreign-text.ts'
import { parseTimestamp } from '../../../core/system.ts'
import type { Interval } from '../../rules/calendar.ts'
import type { CardBehavior } from '../../rules/card-behaviors.ts'
import { dueAtMs, type Terms } from '../../rules/subscription-terms.ts'
import { dollars, isolatedText, utcFormat } from '../frame/texts.ts'
import type { CheckoutSession } from './checkout.ts'

/** The text of a checkout, used by both the page and the framed form. Plain text, not HTML. */
export interface CheckoutWords {
  state: 'open' | 'paid' | 'over'
  title: string
  merchant: string
  description: string
  /** The price of the first payment. */
  price: string
  /** The tax included in the first payment; null if there is none. */
  tax: string | null
  /** The schedule of the payments: amount, interval, end and total. */
  schedule: string
  /** The agreement that the payer accepts by paying. */
  agreement: string
  expires: string | null
  button: string
  /** The outcome; null while the payer can pay. */
  outcome: { heading: string; lines: string[] } | null
  /** Whether there are future payments that the payer can stop. */
  mayStop: boolean
}

/**
 * Returns the text of a checkout. For an unpaid checkout, the dates assume that the payer pays now.
 * @param nowMs The current time of the sandbox clock.
 */
export function checkoutWords(session: CheckoutSession, nowMs: number): CheckoutWords {
  const { status, terms } = session
  const merchant = foreignName(session.merchant, 'A merchant without a name', 200)
  const description = foreignName(terms.description, 'A subscription without a description', 200)
  const price = dollars(session.amount)
  const state = status === 'pending' ? 'open' : status === 'canceled' || status === 'completed' ? 'over' : 'paid'
  const outcome = outcomes[status](session, isolatedText(merchant))
  return {
    state,
    title: outcome === null ? `Pay ${merchant}` : `${outcome.heading} – ${merchant}`,
    merchant,
    description,
    price,
    tax: session.taxAmount === 0 ? null : `includes ${dollars(session.taxAmount)} tax`,
    schedule: scheduleWords(terms, state === 'open' ? nowMs : null),
    agreement: `By paying, you agree that ${isolatedText(merchant)} may charge this card ${futureCharges(terms, nowMs)}`,
    expires: session.expiresAt === null ? null : momentOf(parseTimestamp(session.expiresAt)),
    button: `Agree and pay ${price}`,
    outcome,
    mayStop: state === 'paid',
  }
}

/** A description of each sandbox test card for people who try the checkout. */
export const testCardWords = {
  approves: 'Approved, every time',
  declines_once: 'Declined at first, approved on the next try',
  declines: 'Declined, every time',
  blocked: 'Declined: the bank has blocked the card',
  needs_update: 'Declined: the card needs new details',
  removed: 'Declined: the bank says the card cannot be used',
  processor_error: 'Not charged: the processor fails',
  agreement_fails: 'Future payments are refused: the checkout ends',
} as const satisfies Record<CardBehavior, string>

type Outcome = (session: CheckoutSession, merchant: string) => CheckoutWords['outcome']

const outcomes = {
  pending: () => null,
  active: (session, merchant) => ({
    heading: 'Paid. Thank you.',
    lines: [`You paid ${merchant} ${dollars(session.amount)}.`, nextPaymentLine(session)],
  }),
  past_due: (session, merchant) => ({
    heading: 'A payment was missed',
    lines: [`Your card could not be charged for a payment. ${merchant} may contact you.`, nextPaymentLine(session)],
  }),
  needs_attention: (_, merchant) => ({
    heading: 'Payments are on hold',
    lines: [`Your card could not be charged. Nothing is charged until ${merchant} starts the payments again.`],
  }),
  canceled: (_, merchant) => ({
    heading: 'This subscription has ended',
    lines: [
      'It was canceled, or the first payment was not made in time. No more payments will be taken.',
      `To subscribe after all, ask ${merchant} for a new link.`,
    ],
  }),
  completed: (_, merchant) => ({
    heading: 'All paid. Thank you.',
    lines: [`Every payment to ${merchant} has been made. Nothing more will be charged.`],
  }),
} as const satisfies Record<CheckoutSession['status'], Outcome>

function nextPaymentLine({ terms, nextDueAt }: CheckoutSession): string {
  if (nextDueAt === null) return 'No more payments are scheduled.'
  const amount = terms.paymentCount === null ? ` of ${dollars(terms.amount)}` : ''
  return `The next payment${amount} is on ${dayOf(parseTimestamp(nextDueAt))}.`
}

/**
 * Describes the amounts and the interval of the payments.
 * @param firstMs The time of the first payment; null to leave out the day of the last payment.
 */
function scheduleWords(terms: Terms, firstMs: number | null): string {
  const every = intervalWords(terms.every)
  if (terms.paymentCount === null) return `${dollars(terms.amount)} ${every} until you cancel`
  const { paymentCount: count, payments, totalAmount } = terms
  const amounts = payments.map(({ amount }) => dollars(amount))
  const each = new Set(amounts).size === 1 ? amounts[0] : amounts.join(', ')
  const last = firstMs === null ? '' : `, the last on ${dayOf(dueAtMs(terms, firstMs, count))}`
  return `${count} payments of ${each}, one ${every}: ${dollars(totalAmount)} in all${last}`
}

const freeToStop = 'You can stop future payments at any time.'

function futureCharges(terms: Terms, firstMs: number): string {
  if (terms.paymentCount === null) {
    const amount = dollars(terms.amount)
    const second = dayOf(dueAtMs(terms, firstMs, 2))
    return `${amount} now and ${amount} ${intervalWords(terms.every)} from ${second} on, until you cancel. ${freeToStop}`
  }
  const [now, ...later] = terms.payments.map(({ amount }) => dollars(amount))
  const charges = later.map((amount, index) => `${amount} on ${dayOf(dueAtMs(terms, firstMs, index + 2))}`)
  return `${now} now, ${new Intl.ListFormat('en-US').format(charges)}. ${freeToStop}`
}

function intervalWords({ unit, count }: Interval): string {
  return count === 1 ? `every ${unit}` : `every ${count} ${unit}s`
}

const dayOf = utcFormat({ dateStyle: 'long' })
const timeOf = utcFormat({ timeStyle: 'short' })

const momentOf = (ms: number) => `${dayOf(ms)}, ${timeOf(ms)} UTC`

import { failAttribute } from '../../core/errors.ts'
import { money, withMoney } from '../../core/money.ts'
import { dayMs, type Interval, startOfDayAfter } from './calendar.ts'

/** The amounts of a payment, in cents. The tax is part of `amount`. */
export interface PaymentAmount {
  amount: number
  taxAmount: number
}

interface CommonTerms {
  description: string
  every: Interval
  taxAmount: number
}

/** The terms of a subscription as the API shows them. They never change (docs/service.md#subscription-terms). */
export type Terms =
  | (CommonTerms & { amount: number; paymentCount: null })
  | (CommonTerms & { totalAmount: number; paymentCount: number; payments: readonly PaymentAmount[] })

/**
 * The terms that a merchant proposes. With `amount`, each payment has this amount, and the subscription has no end.
 * With `totalAmount`, this total is split into `paymentCount` payments.
 */
export interface ProposedTerms {
  description: string
  every: { unit: 'week' | 'month' | 'year'; count: number }
  amount?: number | undefined
  totalAmount?: number | undefined
  taxAmount: number
  paymentCount?: number | null | undefined
}

/** The smallest card payment (docs/service.md#subscription-terms). */
const minPaymentCents = 50
/** The largest card payment. */
const maxPaymentCents = 99_999_999
const longestCount = { week: 25, month: 5 } as const

/** Validates proposed terms, and returns the terms of the subscription. @throws 422 for an invalid field. */
export function freezeTerms({
  description,
  every,
  amount,
  totalAmount,
  taxAmount,
  paymentCount,
}: ProposedTerms): Terms {
  const common = { description, every: interval(every), taxAmount }
  if ((amount === undefined) === (totalAmount === undefined)) {
    failAttribute(
      'amount',
      'Exactly one is required: amount (for each payment, without an end) or totalAmount (with paymentCount).',
    )
  }
  const taxedCents = amount ?? totalAmount ?? 0
  if (taxAmount > taxedCents) {
    const detail = `taxAmount must be at most ${taxedCents}, got ${taxAmount}. The tax is part of the amount.`
    failAttribute('taxAmount', detail, { maximum: taxedCents })
  }
  if (totalAmount === undefined) {
    if (typeof paymentCount === 'number') {
      failAttribute(
        'paymentCount',
        'paymentCount is only allowed with totalAmount; with amount, the subscription has no end.',
      )
    }
    requireWithinLimits('amount', taxedCents, 1)
    return { ...common, amount: taxedCents, paymentCount: null }
  }
  if (typeof paymentCount !== 'number') {
    failAttribute('paymentCount', 'paymentCount is required with totalAmount: 2 to 4.')
  }
  requireWithinLimits('totalAmount', totalAmount, paymentCount)
  const [amounts, taxes] = [split(totalAmount, paymentCount), split(taxAmount, paymentCount)]
  const payments = amounts.map((cents, index) => ({ amount: cents, taxAmount: taxes[index] ?? 0 }))
  return { ...common, totalAmount, paymentCount, payments }
}

/** Returns the number of the last payment; infinity if the subscription never ends. */
export function lastPaymentNumber(terms: Terms): number {
  return terms.paymentCount ?? Number.POSITIVE_INFINITY
}

export function paymentAmount(terms: Terms, paymentNumber: number): PaymentAmount {
  if (terms.paymentCount === null) return { amount: terms.amount, taxAmount: terms.taxAmount }
  const payment = terms.payments[paymentNumber - 1]
  if (payment === undefined) throw new Error(`Bug: there is no payment ${paymentNumber}.`)
  return payment
}

/** Returns the start of the UTC day when payment n is due. This day is n - 1 intervals after the day of payment 1. */
export function dueAtMs(terms: Terms, anchorMs: number, paymentNumber: number): number {
  return startOfDayAfter(anchorMs, terms.every, paymentNumber - 1)
}

/** How long a payment can be charged, from the start of its due day: one week, which is also the shortest interval. */
export const windowMs = 7 * dayMs

/** The times of the attempts to charge a payment, from the start of its due day: 0, 1, 3 and 5 days. */
export const attemptOffsetsMs = [0, dayMs, 3 * dayMs, 5 * dayMs] as const

function interval({ unit, count }: ProposedTerms['every']): Interval {
  if (unit === 'year') {
    failAttribute(
      'every/unit',
      'every.unit must be week or month: yearly subscriptions are not yet available, because payments must be under 180 days apart.',
    )
  }
  if (count > longestCount[unit]) {
    failAttribute(
      'every/count',
      `every.count must be 1 to ${longestCount[unit]} for a ${unit}, so that payments are under 180 days apart, got ${count}.`,
      { minimum: 1, maximum: longestCount[unit] },
    )
  }
  return { unit, count }
}

function requireWithinLimits(field: string, cents: number, payments: number): void {
  const [minTotal, maxTotal] = [minPaymentCents * payments, maxPaymentCents * payments]
  if (cents >= minTotal && cents <= maxTotal) return
  const why = `a card payment is ${money(minPaymentCents)} to ${money(maxPaymentCents)}`
  const detail = `${field} must be ${minTotal} to ${maxTotal} cents (${why}), got ${withMoney(cents)}.`
  failAttribute(field, detail, { minimum: minTotal, maximum: maxTotal })
}

/** Splits a total into parts that differ by at most one cent. The larger parts come first. */
function split(totalCents: number, parts: number): number[] {
  const smallest = Math.floor(totalCents / parts)
  return Array.from({ length: parts }, (_, index) => smallest + (index < totalCents % parts ? 1 : 0))
}

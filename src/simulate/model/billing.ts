import { parseTimestamp, timestamp } from '../../core/system.ts'
import type { CardBehavior, Unit } from '../action.ts'

/** Terms of a subscription and how its collection stands. A payment is named by its number, from 1. Cents, and ms. */
export interface Plan {
  unit: Unit
  count: number
  /** What each payment costs: of terms without end the same for all. */
  amounts: readonly { amount: number; tax: number }[]
  endless: boolean
  status: 'pending' | 'active' | 'past_due' | 'needs_attention' | 'canceled' | 'completed'
  checkoutEndsAtMs: number | null
  /** When payment 1 was paid. */
  paidAtMs: number | null
  /** Cards that its checkout declined. */
  declined: number
  /** The payments that are paid by card, with the moment. */
  charged: Map<number, number>
  markedPaid: Set<number>
  missed: number[]
  attention: { reason: string; sinceMs: number } | null
  /** How the payer's card behaves from which payment on. */
  behaviors: { from: number; behavior: CardBehavior }[]
  /** How often a payment was tried. */
  tries: Map<number, number>
}

const dayMs = 24 * 60 * 60 * 1000
/** A payment is tried when its due day begins and so many days later (docs/service.md#charging). */
const tryDays = [0, 1, 3, 5]
const windowDays = 7

export function hasEnded({ status }: Plan): boolean {
  return status === 'canceled' || status === 'completed'
}

export function amountOf({ amounts, endless }: Plan, number: number): { amount: number; tax: number } {
  return amounts[endless ? 0 : number - 1] ?? { amount: 0, tax: 0 }
}

/** The midnight on which a payment falls due; null as long as nobody paid payment 1 (docs/service.md#due-days). */
export function dueMs({ paidAtMs, unit, count }: Plan, number: number): number | null {
  if (paidAtMs === null) return null
  const steps = (number - 1) * count
  if (unit !== 'month') return paidAtMs - (paidAtMs % dayMs) + steps * 7 * dayMs
  const [year = 0, month = 0, day = 0] = dateOf(paidAtMs).split('-').map(Number)
  const months = year * 12 + (month - 1) + steps
  // Months keep the day, or take their last one.
  return Math.min(firstOfMonthMs(months) + (day - 1) * dayMs, firstOfMonthMs(months + 1) - dayMs)
}

/** @param months since the year 0 */
function firstOfMonthMs(months: number): number {
  const [year, month] = [Math.floor(months / 12), (months % 12) + 1]
  return parseTimestamp(`${year}-${String(month).padStart(2, '0')}-01T00:00:00.000Z`)
}

/** The day of an instant. */
export function dateOf(ms: number): string {
  return timestamp(ms).slice(0, 10)
}

/** The first payment that is neither paid nor marked paid nor missed; null where there is none left. */
export function nextOf(plan: Plan): number | null {
  const { endless, amounts, charged, markedPaid, missed } = plan
  let number = 1
  while (charged.has(number) || markedPaid.has(number) || missed.includes(number)) number++
  return endless || number <= amounts.length ? number : null
}

/** Lets the midnights pass that lie between two moments; each charge is told. */
export function passTime(plan: Plan, fromMs: number, toMs: number, charge: (cents: number) => void): void {
  const endsAtMs = plan.checkoutEndsAtMs
  if (plan.status === 'pending' && endsAtMs !== null && endsAtMs <= toMs) end(plan, 'canceled')
  for (let midnight = fromMs - (fromMs % dayMs) + dayMs; midnight <= toMs; midnight += dayMs) {
    const next = nextOf(plan)
    if (hasEnded(plan) || plan.status === 'pending' || next === null) return
    const day = (midnight - (dueMs(plan, next) ?? midnight)) / dayMs
    if (plan.status !== 'needs_attention') {
      if (tryDays.includes(day)) tryPayment(plan, next, midnight, charge)
    } else if (day === windowDays) plan.missed.push(next)
  }
}

/** One try to charge the payer's card. */
export function tryPayment(plan: Plan, number: number, nowMs: number, charge: (cents: number) => void): void {
  const before = plan.tries.get(number) ?? 0
  plan.tries.set(number, before + 1)
  const behavior = plan.behaviors.findLast(({ from }) => from <= number)?.behavior ?? 'approves'
  if (isApproved(behavior, before)) {
    plan.charged.set(number, nowMs)
    charge(amountOf(plan, number).amount)
    completeWhenOver(plan)
  } else if (behavior === 'agreement_fails') end(plan, 'canceled')
  else if (behavior in cardReasons) stop(plan, cardReasons[behavior] ?? '', nowMs)
  else if (nowMs >= (dueMs(plan, number) ?? nowMs) + (tryDays.at(-1) ?? 0) * dayMs) {
    const inARow = plan.missed.includes(number - 1)
    plan.missed.push(number)
    plan.status = 'past_due'
    if (inARow) stop(plan, behavior === 'processor_error' ? 'not_charged' : 'missed_twice', nowMs)
  }
}

export function isApproved(behavior: CardBehavior, triesBefore: number): boolean {
  return behavior === 'approves' || (behavior === 'declines_once' && triesBefore > 0)
}

/** What the card itself rules out a retry by (docs/service.md#attention). */
const cardReasons: Partial<Record<CardBehavior, string>> = {
  blocked: 'card_blocked',
  needs_update: 'card_needs_update',
  removed: 'card_removed',
}

/** Collects again: what is still within its window is charged at once (docs/service.md#resuming). */
export function resumePlan(plan: Plan, nowMs: number, charge: (cents: number) => void): void {
  plan.attention = null
  plan.status = plan.missed.length > 0 ? 'past_due' : 'active'
  completeWhenOver(plan)
  const next = nextOf(plan)
  if (hasEnded(plan) || next === null || (dueMs(plan, next) ?? nowMs + 1) > nowMs) return
  tryPayment(plan, next, nowMs, charge)
}

export function completeWhenOver(plan: Plan): void {
  const collects = plan.status === 'active' || plan.status === 'past_due'
  if (collects && plan.missed.length === 0) {
    plan.status = nextOf(plan) === null ? 'completed' : 'active'
  }
}

export function end(plan: Plan, status: 'canceled'): void {
  plan.status = status
  plan.attention = null
  plan.checkoutEndsAtMs = null
}

function stop(plan: Plan, reason: string, sinceMs: number): void {
  plan.status = 'needs_attention'
  plan.attention = { reason, sinceMs }
}

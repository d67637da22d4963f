import { DayByDay } from '../subscriptions/day-by-day.ts'
import { book, type Planner } from './money.ts'
import { checkoutLifetimeMs, chosen, dayMs, type Party, type Subscription } from './state.ts'

/** After this many declines, the model uses an approved card. After ten, the service would pause the checkout. */
const maxDeclines = 5

export const subscribe: Planner<'subscribe'> = ({ subscriptions }, { unit, count, parts }, { nowMs }) => {
  const each = 1000
  const total = each * parts + 1
  const amounts = parts === 1 ? [each] : Array.from({ length: parts }, (_, index) => (index === 0 ? each + 1 : each))
  const cost = parts === 1 ? { amount: each } : { totalAmount: total, paymentCount: parts }
  return {
    path: '/subscriptions',
    by: 'agent',
    attributes: { description: 'Gym', every: { unit, count }, ...cost, taxAmount: 0 },
    expected: count > (unit === 'week' ? 25 : 5) ? 422 : 200,
    done: ({ id }) =>
      subscriptions.push({
        id,
        unit,
        count,
        amounts,
        createdAtMs: nowMs,
        checkoutStatus: 'pending',
        declines: 0,
        plan: undefined,
        bookedCharges: 0,
      }),
  }
}

export const checkout: Planner<'checkout'> = (self, { pick, card }, { nowMs }) => {
  const one = chosen(self.subscriptions, pick, (each) => statusOf(each) === 'pending')
  if (one === undefined) return undefined
  const usedCard = one.declines >= maxDeclines ? 'approves' : card
  const done = () => {
    if (usedCard === 'agreement_fails') one.checkoutStatus = 'canceled'
    else if (usedCard !== 'approves' && (usedCard !== 'declines_once' || one.declines === 0)) one.declines++
    else {
      const due = (number: number) => dueMs(one, nowMs, number)
      one.plan = new DayByDay(nowMs, isEndless(one) ? null : one.amounts.length, usedCard, due)
      bookCharges(self, one)
    }
  }
  const path = `/simulations/subscriptions/${one.id}/checkout`
  const expected = statusOf(one) === 'pending' ? 200 : 409
  return { path, by: 'agent', attributes: { card: usedCard }, expected, done }
}

const isEndless = ({ amounts }: Subscription) => amounts.length === 1
export const amountOf = (one: Subscription, number: number) => one.amounts[isEndless(one) ? 0 : number - 1] ?? 0
export const statusOf = ({ plan, checkoutStatus }: Subscription): string => plan?.status ?? checkoutStatus

/** Returns the midnight at which payment `number` is due. In a month that is too short, it is due on the last day. */
function dueMs({ unit, count }: Subscription, paidAtMs: number, number: number): number {
  const steps = (number - 1) * count
  const paid = new Date(paidAtMs)
  const [year, month, day] = [paid.getUTCFullYear(), paid.getUTCMonth(), paid.getUTCDate()]
  if (unit === 'week') return Date.UTC(year, month, day + 7 * steps)
  return Math.min(Date.UTC(year, month + steps, day), Date.UTC(year, month + steps + 1) - dayMs)
}

type Command = Parameters<DayByDay['take']>[0]
const statusCodes: Readonly<Record<string, number>> = { done: 200, conflict: 409, not_found: 404 }

/**
 * Returns a function that applies the command to the plan and returns the expected status. Before the checkout is paid,
 * there is no plan, and a conflict is expected.
 */
function commandStatus(self: Party, one: Subscription, command: Command) {
  return () => {
    const status = statusCodes[one.plan?.take(command) ?? 'conflict'] ?? 0
    bookCharges(self, one)
    return status
  }
}

export const cancelSubscription: Planner<'cancelSubscription'> = (self, { pick }) => {
  const one = chosen(self.subscriptions, pick)
  if (one === undefined) return undefined
  const expected = () => {
    if (one.plan !== undefined) return commandStatus(self, one, { do: 'cancel' })()
    one.checkoutStatus = 'canceled'
    return 200
  }
  return { path: `/subscriptions/${one.id}/cancel`, by: 'agent', attributes: {}, expected }
}

export const resume: Planner<'resume'> = (self, { pick }) => {
  const one = chosen(self.subscriptions, pick, (each) => statusOf(each) === 'needs_attention')
  if (one === undefined) return undefined
  const expected = commandStatus(self, one, { do: 'resume' })
  return { path: `/subscriptions/${one.id}/resume`, by: 'agent', attributes: {}, expected }
}

export const changeCard: Planner<'changeCard'> = (self, { pick, card, ahead }) => {
  const one = chosen(self.subscriptions, pick, ({ plan }) => plan !== undefined)
  if (one === undefined) return undefined
  const next = one.plan?.next ?? one.amounts.length + 1
  return {
    path: `/simulations/subscriptions/${one.id}/card`,
    by: 'agent',
    attributes: { behavior: card, ...(ahead === undefined ? {} : { fromPaymentNumber: next + ahead }) },
    expected: commandStatus(self, one, { do: 'card', behavior: card, ahead }),
  }
}

export const markPaid: Planner<'markPaid'> = (self, { pick, which }) => {
  const one = chosen(self.subscriptions, pick, ({ plan }) => (plan?.missed.length ?? 0) > 0)
  if (one === undefined) return undefined
  const { plan } = one
  const next = plan === undefined ? 1 : (plan.next ?? one.amounts.length + 1)
  const number = which === 'missed' ? (plan?.missed[0] ?? next) : next
  const expected = commandStatus(self, one, { do: 'mark', which })
  return { path: `/subscriptions/${one.id}/payments/${number}/mark-paid`, by: 'agent', attributes: {}, expected }
}

/** Books each new charge as incoming money, at the time of the charge. */
function bookCharges(self: Party, one: Subscription): void {
  for (const [number, atMs] of one.plan?.charged.slice(one.bookedCharges) ?? []) {
    const amount = amountOf(one, number)
    self.purchases.balance.available += amount
    self.purchases.balance.total += amount
    book(self, { sourceId: one.id, amount, type: 'payment', atMs, direction: 'INBOUND' })
    one.bookedCharges++
  }
}

/** Cancels the subscriptions whose checkout was not paid in time, and charges the due payments. */
export function bill(self: Party, nowMs: number): void {
  for (const one of self.subscriptions) {
    if (one.plan === undefined && nowMs >= one.createdAtMs + checkoutLifetimeMs) one.checkoutStatus = 'canceled'
    one.plan?.passTo(nowMs)
    bookCharges(self, one)
  }
}

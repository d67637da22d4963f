import type { CardBehavior, PartyName } from '../action.ts'
import { hasEnded, nextOf } from '../model/billing.ts'
import type { ModelSubscription } from '../model/state.ts'
import { type Choice, type Context, type Errand, endErrand, mayActFor, maybeKey, seededParty } from './agent.ts'

/** After so many calls a subscription is left alone, and billed on. */
const mostSteps = 18
/** Declined cards that a checkout takes without any waiting. */
const mostDeclines = 8

export function subscribe(context: Context): Choice {
  return subscribeFor(context, seededParty(context, 20))
}

export function subscribeFor(context: Context, party: PartyName): Choice {
  const { random, names, agent } = context
  const makes = names('subscription')
  const asked = { tool: 'create_subscription', party, ...maybeKey(context), makes } as const
  const every = random.chance(50)
    ? ({ unit: 'week', count: random.pick([1, 1, 1, 2, 25]) } as const)
    : ({ unit: 'month', count: random.pick([1, 1, 1, 5]) } as const)
  if (random.chance(12)) return { ...asked, ...wrongTerms(context) }
  if (mayActFor(context, party)) agent.errands.push({ kind: 'subscription', name: makes, steps: 0 })
  const tax = random.pick([0, 0, 7, 50])
  const minutes = random.chance(40) ? { minutes: random.pick([60, 1440, 2880]) } : {}
  if (random.chance(50)) return { ...asked, ...every, amount: random.int(50, 5000), tax, ...minutes }
  const parts = random.int(2, 4)
  return { ...asked, ...every, total: random.int(50 * parts, 9000), parts, tax, ...minutes }
}

/** Terms that break a rule each. */
function wrongTerms({ random }: Context): Pick<Choice, 'unit' | 'count' | 'amount' | 'total' | 'parts' | 'tax'> {
  return random.pick([
    { unit: 'year', count: 1, amount: 500, tax: 0 },
    { unit: 'week', count: 26, amount: 500, tax: 0 },
    { unit: 'month', count: 6, amount: 500, tax: 0 },
    { unit: 'week', count: 1, amount: 49, tax: 0 },
    { unit: 'month', count: 1, amount: 500, tax: 501 },
    { unit: 'month', count: 1, total: 199, parts: 4, tax: 0 },
  ] as const)
}

export function proceedWithSubscription(context: Context, errand: Errand): Choice {
  const { model, agent, random } = context
  const found = model.subscription(errand.name)
  const given = found === undefined || !mayActFor(context, found.party)
  if (++errand.steps >= mostSteps || given) endErrand(agent, errand)
  if (found === undefined) return { tool: 'list_wallets', party: seededParty(context, 25) }
  if (hasEnded(found) && random.chance(60)) endErrand(agent, errand)
  if (given || random.chance(18)) return look(context, found)
  if (found.status === 'pending') return atCheckout(context, errand, found)
  return manage(context, found)
}

function look({ random }: Context, { name: subject, party }: ModelSubscription): Choice {
  const own = party !== 'own' && party !== 'customer'
  const tool = random.weighted({
    get_subscription: 50,
    list_subscription_payments: 40,
    list_subscriptions: own ? 10 : 0,
  })
  return tool === 'list_subscriptions' ? { tool, party } : { tool, party, subject }
}

const cards: Readonly<Record<CardBehavior, number>> = {
  approves: 20,
  declines_once: 18,
  declines: 26,
  processor_error: 16,
  blocked: 5,
  needs_update: 5,
  removed: 5,
  agreement_fails: 5,
}

function atCheckout(context: Context, errand: Errand, found: ModelSubscription): Choice {
  const { random, agent } = context
  const { name: subject, party, declined } = found
  const what = random.weighted({ pay: 80, wait: 5, cancel: 4, wrong: 11 })
  if (what === 'wait') {
    // The checkout stays open until the clock ends it.
    endErrand(agent, errand)
    return { tool: 'get_subscription', party, subject }
  }
  if (what !== 'pay')
    return what === 'wrong' ? tooEarly(context, found) : command(context, found, 'cancel_subscription')
  const card = declined >= mostDeclines || random.chance(40) ? 'approves' : random.weighted(cards)
  return { ...command(context, found, 'simulate_subscription_checkout'), card }
}

type Command = 'cancel_subscription' | 'resume_subscription' | 'simulate_subscription_checkout'

function command(context: Context, { party, name: subject }: ModelSubscription, tool: Command): Choice {
  return { tool, party, subject, ...maybeKey(context) }
}

function tooEarly(context: Context, found: ModelSubscription): Choice {
  const what = context.random.pick(['resume', 'mark', 'card'] as const)
  if (what === 'resume') return command(context, found, 'resume_subscription')
  return what === 'mark' ? markPaid(context, found) : changeCard(context, found)
}

/** How far it is to a try, to the next ones, or to the next payment, in seconds. */
const waits = [1, 3, 5, 7, 14, 31].map((days) => days * 24 * 60 * 60)

function manage(context: Context, found: ModelSubscription): Choice {
  const { ordered, clockJumps } = context.options
  const needsAttention = found.status === 'needs_attention'
  const what = context.random.weighted({
    card: 22,
    mark: found.missed.length > 0 ? 18 : 8,
    resume: needsAttention ? 30 : 4,
    cancel: 2,
    checkout: 3,
    wait: ordered && clockJumps ? 40 : 0,
  })
  if (what === 'wait') return { tool: 'advance_sandbox_clock', party: 'own', seconds: context.random.pick(waits) }
  if (what === 'card') return changeCard(context, found)
  if (what === 'mark') return markPaid(context, found)
  if (what === 'checkout') return { ...command(context, found, 'simulate_subscription_checkout'), card: 'approves' }
  return command(context, found, what === 'resume' ? 'resume_subscription' : 'cancel_subscription')
}

function changeCard(context: Context, found: ModelSubscription): Choice {
  const { random } = context
  const { party, name: subject } = found
  const next = nextOf(found) ?? 1
  const number = random.chance(30) ? { number: Math.max(1, next + random.pick([-1, 0, 1, 2])) } : {}
  return {
    ...{ tool: 'simulate_subscription_card', party, subject, card: random.weighted(cards) },
    ...number,
    ...maybeKey(context),
  }
}

/** A missed payment or the next one; now and then one that is paid, or that there is not. */
function markPaid(context: Context, found: ModelSubscription): Choice {
  const { random } = context
  const { party, name: subject, missed } = found
  const next = nextOf(found) ?? 1
  const number = random.weighted({ missed: missed.length > 0 ? 60 : 0, next: 15, other: 25 })
  const numbers = { missed: missed[0] ?? next, next, other: Math.max(1, next + random.pick([-1, 1, 5])) }
  const tool = 'mark_subscription_payment_paid'
  return { tool, party, subject, number: numbers[number], ...maybeKey(context) }
}

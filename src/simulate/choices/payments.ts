import { approvalOf, type PartyName } from '../action.ts'
import type { ModelPayment } from '../model/state.ts'
import {
  type Choice,
  type Context,
  type Errand,
  endErrand,
  mayActFor,
  maybeKey,
  neverThere,
  seededParty,
} from './agent.ts'

/** After so many calls a payment is left alone, whatever became of it. */
const mostSteps = 10

/** Somebody is paid from one of the wallets that are there from the start. */
export function pay(context: Context): Choice {
  const { budget } = context
  const party = seededParty(context, 20)
  return payFrom(context, party, budget[party])
}

/** @param most what a payment that is to succeed may cost */
export function payFrom(context: Context, party: PartyName, most: number): Choice {
  const { random, agent, names, model } = context
  const what = random.weighted({ fine: 82, tooMuch: 10, oneself: 5, nothing: 3 })
  const makes = names('payment')
  if (what === 'oneself') return { ...oneself(context, party), amount: random.int(1, most), makes }
  const payee = payeeOf(context, party)
  const unkeyed = { tool: 'create_payment', party, ...payee, makes } as const
  if (what === 'nothing') return { ...unkeyed, amount: random.pick([0, -1]) }
  const paid = { ...unkeyed, ...maybeKey(context) }
  const limit = model.customer(party)?.grant?.limit
  const tooMuch = what === 'tooMuch' ? beyond(context, party) : undefined
  if (tooMuch !== undefined) return { ...paid, amount: tooMuch }
  const inReview = typeof limit === 'number' && limit < most && random.chance(55)
  const amount = inReview ? random.int(limit + 1, most) : random.int(1, Math.min(most, limit ?? most))
  if (mayActFor(context, party)) agent.errands.push({ kind: 'payment', name: makes, steps: 0 })
  return { ...paid, amount }
}

/** More than there is; where the order of calls is open, more than there can ever be. */
function beyond({ model, options, random }: Context, party: PartyName): number | undefined {
  const isOpen = !options.ordered && (party === 'own' || party === 'customer')
  const there = isOpen ? neverThere(options, party) : model.balance(party).available
  return there === undefined ? undefined : there + random.int(1, 500)
}

function oneself({ random }: Context, party: PartyName): Choice {
  const by = party === 'own' && random.chance(50) ? 'agent_id' : 'party_id'
  return { tool: 'create_payment', party, payee: party, by }
}

/** Somebody known, by one of their names, or somebody who has to claim the money first. */
export function payeeOf({ random, agent, names, options }: Context, party: PartyName): Pick<Choice, 'payee' | 'by'> {
  const known: Pick<Choice, 'payee' | 'by'>[] = [
    ...(party === 'own' ? [] : [{ payee: 'own', by: 'party_id' } as const, { payee: 'own', by: 'agent_id' } as const]),
    ...(party === 'customer' || options.start.customer === undefined
      ? []
      : [{ payee: 'customer', by: 'party_id' } as const]),
    ...agent.customers
      .filter((customer) => customer !== party)
      .map((payee) => ({ payee, by: random.pick(['party_id', 'handle'] as const) })),
  ]
  const who = random.weighted({
    known: known.length > 0 ? 50 : 0,
    stranger: 40,
    again: agent.strangers.length > 0 ? 15 : 0,
  })
  if (who === 'known') return random.pick(known)
  if (who === 'again') return { payee: random.pick(agent.strangers), by: 'email' }
  const payee = names('stranger')
  agent.strangers.push(payee)
  return { payee, by: 'email' }
}

export function proceedWithPayment(context: Context, errand: Errand): Choice {
  const { model, agent, random } = context
  const payment = model.payment(errand.name)
  const party = payment?.wallet ?? 'own'
  const given = payment === undefined || !mayActFor(context, party)
  if (++errand.steps >= mostSteps || given) endErrand(agent, errand)
  // What was refused made no payment; the wallet tells that nothing moved.
  if (payment === undefined) return { tool: 'list_wallets', party: seededParty(context, 25) }
  const { status, name: subject } = payment
  if (status === 'IN_REVIEW' && !given) return review(context, subject, party, errand)
  if (status === 'PENDING_CLAIM' && !given) {
    const what = random.weighted({ claim: 45, cancel: 25, read: 20, wait: 5, list: 5 })
    if (what === 'wait') endErrand(agent, errand)
    if (what === 'claim') return claim(payment)
    if (what === 'cancel') return { tool: 'cancel_payment', party, subject, ...maybeKey(context) }
    return look(context, payment)
  }
  if (random.chance(60)) endErrand(agent, errand)
  return random.chance(50) || given ? look(context, payment) : wrongMove(context, payment)
}

function claim({ name: subject, payee }: ModelPayment): Choice {
  return { tool: 'simulate_payment_claim', party: 'own', subject, payee }
}

function look({ random }: Context, { name: subject, wallet }: ModelPayment): Choice {
  const party = wallet ?? 'own'
  // Where others pay from the same wallet, nobody can tell what a list has.
  const list = party !== 'own' && party !== 'customer' && random.chance(30)
  return list ? { tool: 'list_payments', party } : { tool: 'get_payment', party, subject }
}

/** It waits for the customer; no agent may decide in the customer's place, but in the sandbox it may play the customer. */
export function review(context: Context, name: string, party: PartyName, errand: Errand): Choice {
  const { random, model } = context
  const subject = approvalOf(name)
  const isTransfer = model.transfer(name) !== undefined
  if (!model.isTold(subject)) {
    // Who may not see it waits no longer.
    if (!model.allows('list_approvals', party)) endErrand(context.agent, errand)
    return { tool: 'list_approvals', party }
  }
  const tool = random.weighted({
    simulate_customer_approval: 40,
    simulate_customer_denial: 18,
    approve_approval: 8,
    deny_approval: 5,
    get_approval: 12,
    // Nobody takes back what is to go to or from a bank.
    cancel_payment: isTransfer ? 0 : 12,
    get_payment: isTransfer ? 0 : 5,
    get_transfer: isTransfer ? 17 : 0,
  })
  if (tool === 'get_approval') return { tool, party, subject }
  if (tool === 'get_transfer') return { tool, party, subject: name }
  if (tool === 'get_payment') return { tool, party, subject: name }
  if (tool === 'cancel_payment') return { tool, party, subject: name, ...maybeKey(context) }
  return { tool, party: 'own', subject, ...maybeKey(context) }
}

/** What a payment that is over refuses. */
function wrongMove(context: Context, payment: ModelPayment): Choice {
  const { random, model } = context
  const { name, wallet } = payment
  const party = wallet ?? 'own'
  const subject = approvalOf(name)
  if (model.isTold(subject) && random.chance(50)) {
    const tool = random.pick(['simulate_customer_approval', 'simulate_customer_denial'] as const)
    return { tool, party: 'own', subject, ...maybeKey(context) }
  }
  if (random.chance(50)) return claim(payment)
  return { tool: 'cancel_payment', party, subject: name, ...maybeKey(context) }
}

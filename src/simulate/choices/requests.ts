import type { PartyName } from '../action.ts'
import type { ModelRequest } from '../model/state.ts'
import { type Choice, type Context, type Errand, endErrand, mayActFor, maybeKey, seededParty } from './agent.ts'
import { payeeOf, review } from './payments.ts'

/** After so many calls a request is left alone. */
const mostSteps = 10

/** One of the parties that are there from the start asks somebody for money. */
export function askToPay(context: Context): Choice {
  const { random, agent, names, budget } = context
  const party = seededParty(context, 25)
  const makes = names('request')
  const errand: Errand = { kind: 'request', name: makes, party, steps: 0 }
  const asked = { tool: 'create_payment_request', party, makes } as const
  const what = random.weighted({ fine: 90, oneself: 6, nothing: 4 })
  // Either of the two may be who pays.
  const amount = random.int(1, Math.min(budget.own, budget.customer))
  if (what === 'oneself') return { ...asked, payee: party, by: 'party_id', amount }
  if (what === 'nothing') return { ...asked, ...payeeOf(context, party), amount: 0 }
  agent.errands.push(errand)
  return { ...asked, ...payeeOf(context, party), ...maybeKey(context), amount }
}

export function proceedWithRequest(context: Context, errand: Errand): Choice {
  const { model, agent, random } = context
  const request = model.request(errand.name)
  if (++errand.steps >= mostSteps || request === undefined) endErrand(agent, errand)
  if (request === undefined) return { tool: 'list_wallets', party: seededParty(context, 25) }
  const payment = request.payment === null ? undefined : model.payment(request.payment)
  if (request.status === 'PROCESSING' && payment?.wallet !== undefined && payment.wallet !== null) {
    if (random.chance(15)) return { tool: 'cancel_payment_request', party: request.party, subject: request.name }
    return review(context, payment.name, payment.wallet, errand)
  }
  if (request.status === 'OPEN') return answer(context, request, errand)
  if (random.chance(60)) endErrand(agent, errand)
  return random.chance(50) ? look(context, request) : wrongMove(context, request)
}

function answer(context: Context, request: ModelRequest, errand: Errand): Choice {
  const { agent, random } = context
  const payer = payerOf(context, request)
  const what = random.weighted({
    pay: payer === undefined ? 0 : 40,
    decline: payer === undefined ? 0 : 10,
    play: payer === undefined ? 45 : 15,
    refuse: 10,
    cancel: 10,
    look: 12,
    wait: 8,
  })
  if (what === 'pay' && payer !== undefined) return pay(context, request, payer)
  if (what === 'decline' && payer !== undefined) return settle(context, 'decline_payment_request', payer, request)
  if (what === 'play') return playPayer(context, request)
  if (what === 'refuse') return settle(context, 'simulate_payment_request_decline', 'own', request)
  if (what === 'cancel') return settle(context, 'cancel_payment_request', request.party, request)
  // It stays open until the clock ends it.
  if (what === 'wait') endErrand(agent, errand)
  return look(context, request)
}

/** The payer, where the agent may act for them. */
function payerOf(context: Context, { payer }: ModelRequest): PartyName | undefined {
  if (payer === null || payer.startsWith('stranger')) return undefined
  const party = payer as PartyName
  return mayActFor(context, party) && context.model.allows('fulfill_payment_request', party) ? party : undefined
}

function pay(context: Context, { name: subject }: ModelRequest, party: PartyName): Choice {
  const { model, names } = context
  if (!model.knowsWallet(party)) return { tool: 'list_wallets', party }
  return { tool: 'fulfill_payment_request', party, subject, ...maybeKey(context), makes: names('payment') }
}

function playPayer(context: Context, { name: subject, payee }: ModelRequest): Choice {
  const makes = context.names('payment')
  return { tool: 'simulate_payment_request_fulfillment', party: 'own', subject, payee, ...maybeKey(context), makes }
}

type Answer = 'decline_payment_request' | 'cancel_payment_request' | 'simulate_payment_request_decline'

function settle(context: Context, tool: Answer, party: PartyName, { name: subject }: ModelRequest): Choice {
  return { tool, party, subject, ...maybeKey(context) }
}

function look(context: Context, request: ModelRequest): Choice {
  const { random, model } = context
  const payer = payerOf(context, request)
  // Where others are asked by the same party, nobody can tell what a list has.
  const isOwnList = payer !== undefined && payer !== 'own' && payer !== 'customer'
  if (isOwnList && random.chance(40) && model.allows('list_incoming_payment_requests', payer)) {
    return { tool: 'list_incoming_payment_requests', party: payer }
  }
  const party = payer !== undefined && random.chance(40) ? payer : request.party
  return { tool: 'get_payment_request', party, subject: request.name }
}

/** What a request that is over refuses. */
function wrongMove(context: Context, request: ModelRequest): Choice {
  const payer = payerOf(context, request)
  const what = context.random.pick(['pay', 'play', 'decline', 'cancel'] as const)
  if (what === 'pay' && payer !== undefined) return pay(context, request, payer)
  if (what === 'play') return playPayer(context, request)
  if (what === 'decline') return settle(context, 'simulate_payment_request_decline', 'own', request)
  return settle(context, 'cancel_payment_request', request.party, request)
}

import type { ModelCustomer } from '../model/state.ts'
import { type Choice, type Context, type Errand, endErrand, mayActFor, maybeKey } from './agent.ts'
import { openBankOf } from './banks.ts'
import { payFrom } from './payments.ts'
import { subscribeFor } from './subscriptions.ts'

/** After so many calls a customer is left alone. */
const mostSteps = 18
/** What a customer has once its wallet was funded, in cents, and what it allows a transaction to be. */
const funds = 20_000
const limits = [500, 2_000, 5_000] as const
const mostPayment = 8_000

const everything = ['payments.create', 'payments.read', 'wallets.read'] as const
const banking = [...everything, 'wallets.deposit', 'wallets.withdraw', 'external_accounts.create'] as const
const permissionSets = [everything, banking, banking, ['payments.read', 'wallets.read'], ['payments.create']] as const

/** Makes somebody up, and invites them. */
export function inviteCustomer({ names, agent, random }: Context): Choice {
  const makes = names('invitation')
  const invites = makes.replace('invitation', 'customer') as `customer-${number}`
  agent.customers.push(invites)
  agent.errands.push({ kind: 'customer', name: makes, steps: 0 })
  const permissions = random.pick(permissionSets)
  return { tool: 'simulate_customer_invitation', party: 'own', invites, permissions, makes }
}

/** @param errand is named after the last invitation */
export function proceedWithCustomer(context: Context, errand: Errand): Choice {
  const { model, agent, random } = context
  const invitation = model.invitation(errand.name)
  const customer = invitation === undefined ? undefined : model.customer(invitation.customer)
  if (++errand.steps >= mostSteps) endErrand(agent, errand)
  if (invitation === undefined || customer === undefined) throw new Error(`Bug: ${errand.name} was never sent.`)
  if (mayActFor(context, customer.name)) return act(context, customer, errand)
  if (invitation.status === 'PENDING') return answer(context, errand)
  const what = random.weighted({ again: 55, wrong: 20, act: 15, leave: 10 })
  if (what === 'leave') {
    endErrand(agent, errand)
    return { tool: 'get_customer', party: 'own', subject: customer.name }
  }
  if (what === 'again') return inviteAgain(context, customer, errand)
  return what === 'wrong' ? move(context, errand) : tryToAct(context, customer)
}

const moves = {
  simulate_invitation_acceptance: 60,
  simulate_invitation_decline: 12,
  revoke_agent_invitation: 10,
  revoke_customer_invitation: 8,
} as const

function answer(context: Context, errand: Errand): Choice {
  const { random, agent, model } = context
  const what = random.weighted({ move: 80, act: 8, read: 5, wait: 7 })
  const customer = model.invitation(errand.name)?.customer ?? 'own'
  if (what === 'act') return tryToAct(context, { name: customer })
  if (what === 'move') return move(context, errand)
  // The invitation stays open until the clock ends it.
  if (what === 'wait') endErrand(agent, errand)
  return { tool: 'get_customer', party: 'own', subject: customer }
}

function move(context: Context, { name: subject }: Errand): Choice {
  const tool = context.random.weighted(moves)
  return { tool, party: 'own', subject, ...(tool === 'revoke_customer_invitation' ? {} : maybeKey(context)) }
}

/** What the customer did not allow, or no longer allows. */
function tryToAct(context: Context, { name: party }: Pick<ModelCustomer, 'name'>): Choice {
  const what = context.random.pick(['pay', 'wallets', 'list', 'subscribe'] as const)
  if (what === 'pay') return payFrom(context, party, mostPayment)
  if (what === 'subscribe') return subscribeFor(context, party)
  return { tool: what === 'wallets' ? 'list_wallets' : 'list_payments', party }
}

function inviteAgain({ names, random }: Context, { name }: ModelCustomer, errand: Errand): Choice {
  const makes = names('invitation')
  errand.name = makes
  const limit = random.chance(80) ? { limit: random.pick(limits) } : {}
  const permissions = random.pick(permissionSets)
  const invites = name as `customer-${number}`
  return { tool: 'create_agent_customer_invitation', party: 'own', invites, permissions, ...limit, makes }
}

/** The agent acts for the customer. */
function act(context: Context, { name: party }: ModelCustomer, errand: Errand): Choice {
  const { random, model, names } = context
  const poor = model.balance(party).available < mostPayment
  const banks = model.allows('link_external_accounts', party) ? 20 : 2
  const what = random.weighted({ fund: poor ? 60 : 3, pay: 38, subscribe: 10, banks, look: 16, end: 8 })
  if (what === 'fund') {
    const makes = names('transfer')
    return { tool: 'fund_sandbox_wallet', party: 'own', subject: party, amount: funds, ...maybeKey(context), makes }
  }
  if (what === 'banks') return openBankOf(context, party)
  if (what === 'pay') return payFrom(context, party, mostPayment)
  if (what === 'subscribe') return subscribeFor(context, party)
  if (what === 'look') return lookAt(context, party, errand)
  return { tool: 'simulate_agent_revocation', party: 'own', subject: party, ...maybeKey(context) }
}

function lookAt({ random }: Context, party: ModelCustomer['name'], errand: Errand): Choice {
  const tool = random.pick(['list_wallets', 'list_payments', 'list_approvals', 'get_customer', 'answered'] as const)
  if (tool === 'get_customer') return { tool, party: 'own', subject: party }
  // It was accepted, so that it cannot be declined any more.
  if (tool === 'answered') return { tool: 'simulate_invitation_decline', party: 'own', subject: errand.name }
  return { tool, party }
}

import { accountName, type PartyName } from '../action.ts'
import type { ModelTransfer } from '../model/state.ts'
import { type Choice, type Context, type Errand, endErrand, mayActFor, maybeKey, seededParty } from './agent.ts'
import { review } from './payments.ts'

/** After so many calls a bank is left alone. */
const mostSteps = 12
/** The least that is drawn from a bank account. */
const leastDeposit = 100

/** What a person may choose at the test bank, and what of it is linked. */
const tokens = {
  accounts: ['0000', '1111'],
  'deposits-fail': ['0001'],
  'deposits-return': ['0010'],
  'withdrawals-fail': ['0002'],
  'withdrawals-return': ['0023'],
  'some-rejected': ['0000'],
  'profile-identity-missing': [],
  'bank-account-verification-failed': [],
} as const satisfies Record<string, readonly string[]>

/** Bank accounts of one of the wallets that are there from the start. */
export function openBank(context: Context): Choice {
  return openBankOf(context, seededParty(context, 25))
}

/** Every agent links before it moves money, so that it does not matter which of them comes first. */
export function openBankOf(context: Context, party: PartyName): Choice {
  const errand: Errand = { kind: 'transfer', name: '', party, steps: 0 }
  if (mayActFor(context, party)) context.agent.errands.push(errand)
  return link(context, party, 'accounts')
}

function link({ agent, random, names }: Context, party: PartyName, token: keyof typeof tokens): Choice {
  for (const lastFour of tokens[token]) agent.linked.add(accountName(party, lastFour))
  if (party === 'own' && token === 'accounts' && random.chance(15)) {
    return { tool: 'simulate_bank_account_link', party }
  }
  return { tool: 'link_external_accounts', party, token, ...(random.chance(30) ? { key: names('key') } : {}) }
}

/** @param errand is named after the last transfer */
export function proceedWithBank(context: Context, errand: Errand): Choice {
  const { model, agent, random } = context
  const { party = 'own' } = errand
  if (++errand.steps >= mostSteps) endErrand(agent, errand)
  if (!mayActFor(context, party)) {
    endErrand(agent, errand)
    return { tool: 'list_wallets', party: 'own' }
  }
  const transfer = model.transfer(errand.name)
  if (transfer === undefined) return beginTransfer(context, party, errand)
  if (transfer.status === 'IN_REVIEW') return review(context, transfer.name, party, errand)
  if (transfer.status === 'PROCESSING') return whileAtBank(context, transfer, errand)
  const what = random.weighted({ leave: 40, back: transfer.status === 'COMPLETED' ? 30 : 5, wrong: 15, next: 15 })
  if (what === 'leave') endErrand(agent, errand)
  if (what === 'next') return beginTransfer(context, party, errand)
  if (what === 'back') return playBank(context, transfer, 'simulate_transfer_return')
  if (what === 'wrong') return playBank(context, transfer, 'simulate_transfer_settlement')
  return look(context, transfer)
}

function whileAtBank(context: Context, transfer: ModelTransfer, errand: Errand): Choice {
  const what = context.random.weighted({ settle: 35, fail: 12, back: 5, read: 18, wait: 30 })
  if (what === 'settle') return playBank(context, transfer, 'simulate_transfer_settlement')
  if (what === 'fail') return playBank(context, transfer, 'simulate_transfer_failure')
  if (what === 'back') return playBank(context, transfer, 'simulate_transfer_return')
  // The bank does its part as time passes.
  if (what === 'wait') endErrand(context.agent, errand)
  return look(context, transfer)
}

type Play = 'simulate_transfer_settlement' | 'simulate_transfer_failure' | 'simulate_transfer_return'

/** The bank of the agent's own party is played; that of a customer takes its time. */
function playBank(context: Context, transfer: ModelTransfer, tool: Play): Choice {
  if (transfer.party !== 'own') return look(context, transfer)
  return { tool, party: 'own', subject: transfer.name, ...maybeKey(context) }
}

function look({ random }: Context, { name: subject, party, account }: ModelTransfer): Choice {
  // Only one agent uses the accounts of a customer that it made up, so that it knows all of them.
  const lists = party !== 'own' && party !== 'customer' && random.chance(30)
  if (lists) return { tool: random.pick(['list_transfers', 'list_external_accounts'] as const), party }
  if (account !== null && random.chance(20)) return { tool: 'get_external_account', party, subject: account }
  return { tool: 'get_transfer', party, subject }
}

function beginTransfer(context: Context, party: PartyName, errand: Errand): Choice {
  const { random, agent, model, names, options } = context
  const linked = [...agent.linked].filter((name) => model.account(name)?.party === party)
  // Where the order of calls is open, another agent may be about to use the account.
  const mayEnd = options.ordered && party === 'own' && linked.length > 0
  const what = random.weighted({
    link: linked.length > 0 ? 25 : 100,
    end: mayEnd ? 8 : 0,
    deposit: linked.length > 0 ? 45 : 0,
    withdraw: linked.length > 0 ? 35 : 0,
  })
  if (what === 'link') return link(context, party, random.pick(Object.keys(tokens) as (keyof typeof tokens)[]))
  const account = random.pick(linked)
  if (what === 'end') {
    const connection = random.pick(['login_required', 'disconnected'] as const)
    return { tool: 'simulate_bank_account_disconnection', party, subject: account, connection, ...maybeKey(context) }
  }
  const makes = names('transfer')
  errand.name = makes
  const most = mostOf(context, party)
  const moved = { party, account, ...maybeKey(context), makes }
  if (what === 'deposit')
    return { tool: 'create_deposit', ...moved, amount: random.int(leastDeposit, leastDeposit + most) }
  const tooMuch = options.ordered && random.chance(12)
  const amount = tooMuch ? Math.max(0, model.balance(party).available) + random.int(1, 500) : random.int(1, most)
  // What takes minutes or hours would be done by a bank during a later run on the same database.
  const methods = options.clockJumps ? (['standard', 'standard', 'instant', 'wire'] as const) : (['standard'] as const)
  const method = random.pick(methods)
  return { tool: 'create_withdrawal', ...moved, amount, ...(method === 'standard' ? {} : { method }) }
}

/** What a transfer of the party may cost; customers that were made up have as much as they were given. */
function mostOf({ budget, model }: Context, party: PartyName): number {
  return party === 'own' || party === 'customer'
    ? budget[party]
    : Math.max(1, Math.min(8_000, model.balance(party).available))
}

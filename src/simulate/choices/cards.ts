import { type Tool, unresolvedMerchant } from '../action.ts'
import type { Model } from '../model/model.ts'
import type { ModelCard, ModelTransaction } from '../model/state.ts'
import {
  type AgentState,
  type Choice,
  type Context,
  initialTotal,
  maybeKey,
  payingParty,
  unaffordableAmount,
} from './agent.ts'

type Open = AgentState['open'][number]

const merchants = ['Books', 'Groceries', 'Train tickets', 'Garden & Home', 'Café Zürich'] as const
/**
 * The second card, and every 250th card after it, is used at `unresolvedMerchant`. There are few of these cards because
 * the MCP server waits a second before it repeats an unresolved call.
 */
const unresolvedEvery = 250
/** The maximum number of calls for a card. After these calls, the agent stops using the card, whatever its state. */
const maxStepsPerCard = 14

export function issue(context: Context): Choice {
  const { agent, random, nextName, budget, options } = context
  agent.issued++
  const party = payingParty(context, 20)
  const card = nextName('card')
  const unresolved = Number(card.replace('card-', '')) % unresolvedEvery === 2
  agent.open.push({ card, purchase: undefined, unresolved, steps: 0 })
  // If the card's maximum exceeds the wallet's balance, an authorization can be declined for insufficient funds.
  const amount = options.ordered ? initialTotal(options, party) * 2 : unaffordableAmount(options, party)
  const huge = random.chance(8) && amount !== undefined
  const maximum = huge ? amount + random.int(1, 1000) : random.int(1, budget[party])
  const lifetimes = options.clockJumps && options.ordered ? [5, 30, 60, 61, 90, 1439, 1440] : [60, 90, 1440]
  const minutes = random.chance(50) ? { minutes: random.pick(lifetimes) } : {}
  const merchant = random.pick(merchants)
  return { tool: 'issue_agent_card', party, merchant, maximum, ...minutes, ...maybeKey(context), makes: card }
}

export function proceed(context: Context, open: Open): Choice {
  const { model, agent } = context
  const card = cardOf(model, open)
  const purchase = open.purchase === undefined ? undefined : model.transaction(open.purchase)
  open.steps++
  const choice = purchase === undefined ? buy(context, open, card) : settle(context, open, card, purchase)
  if (open.steps >= maxStepsPerCard) close(agent, open)
  return choice
}

/** Chooses a call for a card on which, as far as the agent knows, no purchase has been approved yet. */
function buy(context: Context, open: Open, card: ModelCard): Choice {
  const { random, agent, model } = context
  const { name, party } = card
  if (model.cardFacts(card).status === 'frozen') return thaw(context, card)
  const picked = random.weighted({ details: 15, read: 5, authorize: 71, invalidAmount: 5, freeze: 4 })
  if (picked === 'details') return { tool: 'get_agent_card_details', party, subject: name }
  if (picked === 'read') return { tool: 'get_agent_card', party, subject: name }
  if (picked === 'freeze') return { tool: 'freeze_agent_card', party, subject: name, ...maybeKey(context) }
  if (picked === 'invalidAmount') return authorize(context, card, random.pick([0, -1]), false)
  const amount = amountFor(context, card)
  const choice = authorize(context, card, amount, true)
  if (open.unresolved) choice.merchant = unresolvedMerchant
  open.unresolved = false
  const approved = !card.used && model.nowMs() < card.expiresAtMs && amount <= card.maximum
  // After a decline, the agent either stops using the card or tries again later.
  if (approved && amount <= model.balance(party).available) open.purchase = choice.makes
  else if (random.chance(model.nowMs() < card.expiresAtMs ? 30 : 80)) close(agent, open)
  return choice
}

export function amountFor({ random, model, budget, options }: Context, card: ModelCard): number {
  const { maximum, party } = card
  if (maximum > initialTotal(options, party)) {
    const beyond = options.ordered
      ? model.balance(party).available + 1
      : (unaffordableAmount(options, party) ?? maximum)
    const all = options.ordered && model.balance(party).available > 0 && random.chance(15)
    if (all) return model.balance(party).available
    return random.chance(60) ? random.int(beyond, maximum) : random.int(1, budget[party])
  }
  const picked = random.weighted({ part: 60, whole: 20, over: 15, farOver: 5 })
  if (picked === 'part') return random.int(1, maximum)
  if (picked === 'whole') return maximum
  return picked === 'over' ? maximum + 1 : random.int(maximum + 1, maximum * 3 + 10)
}

export function authorize(context: Context, card: ModelCard, amount: number, keyed: boolean): Choice {
  const { nextName } = context
  const { name, party, merchant } = card
  const key = keyed ? maybeKey(context) : {}
  return {
    tool: 'simulate_card_authorization',
    party,
    subject: name,
    amount,
    merchant,
    ...key,
    makes: nextName('purchase'),
  }
}

/** Chooses a call for a card with an approved purchase. */
function settle(context: Context, open: Open, card: ModelCard, purchase: ModelTransaction): Choice {
  const { random, agent } = context
  const { name: subject, party, amount } = purchase
  if (random.chance(12)) return look(context, card, subject)
  if (random.chance(6)) return authorize(context, card, amountFor(context, card), true)
  const left = purchase.captured - purchase.refunded
  if (purchase.status === 'authorized') {
    // A large purchase is never captured in full, because that would leave too little money for the other agents.
    const large = amount > context.budget[party] * 2
    const picked = random.weighted({
      all: large ? 0 : 30,
      part: 25,
      tooMuch: 8,
      reverse: large ? 40 : 14,
      expire: 8,
      refund: 5,
      wait: 6,
    })
    if (picked === 'all') return settlement(context, 'simulate_card_capture', purchase, amount)
    if (picked === 'part') {
      const maxAmount = large ? context.budget[party] : amount - 1
      return settlement(context, 'simulate_card_capture', purchase, random.int(1, Math.max(1, maxAmount)))
    }
    if (picked === 'tooMuch') return settlement(context, 'simulate_card_capture', purchase, amount + random.int(1, 500))
    if (picked === 'refund') return settlement(context, 'simulate_card_refund', purchase, random.int(1, amount))
    if (picked === 'wait') {
      // After this call, the agent no longer tries to settle the purchase, so the hold usually stays until a clock jump
      // ends it.
      close(agent, open)
      return { tool: 'get_card_transaction', party, subject }
    }
    return settlement(context, picked === 'reverse' ? 'simulate_card_reversal' : 'simulate_card_expiration', purchase)
  }
  if (purchase.status === 'reversed' || left === 0 || random.chance(25)) {
    close(agent, open)
    return randomMerchantAction(context, purchase)
  }
  const picked = random.weighted({ part: 50, rest: 20, tooMuch: 15, wrong: 15 })
  if (picked === 'wrong') return randomMerchantAction(context, purchase)
  const refund = picked === 'part' ? random.int(1, left) : picked === 'rest' ? left : left + random.int(1, 500)
  return settlement(context, 'simulate_card_refund', purchase, refund)
}

function settlement(context: Context, tool: Tool, purchase: ModelTransaction, amount?: number): Choice {
  const { party, name: subject } = purchase
  const { nextName } = context
  const makes = tool === 'simulate_card_refund' ? { makes: nextName('refund') } : {}
  return { tool, party, subject, ...(amount === undefined ? {} : { amount }), ...maybeKey(context), ...makes }
}

const merchantActions = [
  'simulate_card_capture',
  'simulate_card_reversal',
  'simulate_card_expiration',
  'simulate_card_refund',
] as const

/**
 * Chooses a random action of the merchant, whether or not the purchase's state allows it. Most of these calls are
 * refused.
 */
export function randomMerchantAction(context: Context, transaction: ModelTransaction): Choice {
  const { random } = context
  const tool = random.pick(merchantActions)
  const takesAmount = tool === 'simulate_card_capture' || tool === 'simulate_card_refund'
  return settlement(context, tool, transaction, takesAmount ? random.int(1, transaction.amount) : undefined)
}

function look({ random }: Context, card: ModelCard, transaction: string): Choice {
  const tool = random.pick(['get_card_transaction', 'get_agent_card', 'list_card_transactions'] as const)
  return { tool, party: card.party, subject: tool === 'get_card_transaction' ? transaction : card.name }
}

/** Chooses a call for a frozen card. The service refuses purchases with the card until the card is unfrozen. */
function thaw(context: Context, card: ModelCard): Choice {
  const { name: subject, party } = card
  const picked = context.random.weighted({ unfreeze: 65, freeze: 10, authorize: 15, read: 10 })
  if (picked === 'authorize') return authorize(context, card, amountFor(context, card), true)
  if (picked === 'read') return { tool: 'get_agent_card', party, subject }
  const tool = picked === 'freeze' ? 'freeze_agent_card' : 'unfreeze_agent_card'
  return { tool, party, subject, ...maybeKey(context) }
}

function close(agent: AgentState, open: Open): void {
  agent.open = agent.open.filter((other) => other !== open)
  agent.closed.push(open.card, ...(open.purchase === undefined ? [] : [open.purchase]))
}

function cardOf(model: Model, { card }: Open): ModelCard {
  const found = model.card(card)
  if (found === undefined) throw new Error(`Bug: ${card} was never issued.`)
  return found
}

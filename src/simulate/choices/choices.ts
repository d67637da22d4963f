import { type Action, type PartyName, type Tool, unresolvedMerchant } from '../action.ts'
import type { Model, ModelCard, ModelTransaction, Start } from '../model/model.ts'
import type { Random } from '../random.ts'

export interface PlanOptions {
  seed: string
  agents: number
  /** Cards that each agent issues. */
  purchases: number
  clockJumps: boolean
  /**
   * true: agents take turns, in an order that the seed decides; what one does may change what the next one is answered.
   * false: the calls of different agents may arrive in any order. So that every answer can still be predicted, each
   * keeps to its own cards and keys, and all purchases together stay within the money there is; the clock stands.
   */
  ordered: boolean
  start: Start
}

/** An action without its place in the history. */
export type Choice = Omit<Action, 'step' | 'agent'>

/** What a simulated agent remembers and plans. */
export interface AgentState {
  number: number
  /** How many cards it has issued. */
  issued: number
  /** The cards that it still means to do something with. */
  open: { card: string; purchase: string | undefined; unresolved: boolean; steps: number }[]
  /** The names of the cards and card transactions that it is done with. */
  closed: string[]
  /** The calls that it made with a key of its own. */
  keyed: Action[]
}

export interface Surroundings {
  model: Model
  /** The next name of a kind: `card-1`, `card-2`, … */
  names: (kind: 'card' | 'purchase' | 'refund' | 'key') => string
  options: PlanOptions
  /** The cost of an average purchase, in cents. */
  budget: Record<PartyName, number>
}

type Open = AgentState['open'][number]

interface Context extends Surroundings {
  agent: AgentState
  random: Random
  /** The agents whose keys this one may repeat. */
  neighbours: readonly AgentState[]
}

const merchants = ['Books', 'Groceries', 'Train tickets', 'Garden & Home', 'Café Zürich'] as const
/**
 * The second card is left unresolved, and then one in so many: each costs the second that the MCP server waits before
 * it repeats.
 */
const unresolvedEvery = 250
/** Cards that one agent has in hand at a time. */
const mostOpen = 4
/** After this many calls a card is left alone, whatever became of it. */
const mostStepsPerCard = 14

/** What the agent does next: mostly something with a card in hand, sometimes a repeat, a mistake or a look around. */
export function chooseAction(
  agent: AgentState,
  random: Random,
  surroundings: Surroundings,
  neighbours: readonly AgentState[],
): Choice {
  const context: Context = { ...surroundings, agent, random, neighbours }
  if (agent.issued > 0 && random.chance(17)) {
    const aside = lookAside(context)
    if (aside !== undefined) return aside
  }
  const mayIssue = agent.issued < surroundings.options.purchases && agent.open.length < mostOpen
  if (agent.open.length === 0 || (mayIssue && random.chance(25))) return issue(context)
  return proceed(context, random.pick(agent.open))
}

function issue({ agent, random, names, budget, options }: Context): Choice {
  agent.issued++
  const party: PartyName = options.start.customer !== undefined && random.chance(20) ? 'customer' : 'own'
  const card = names('card')
  const unresolved = Number(card.replace('card-', '')) % unresolvedEvery === 2
  agent.open.push({ card, purchase: undefined, unresolved, steps: 0 })
  // More than all the money there ever is: an authorization of it can only be declined for want of funds.
  const huge = random.chance(8)
  const maximum = huge ? balanceOf(options, party) * 2 + random.int(1, 1000) : random.int(1, budget[party])
  const lives = options.clockJumps && options.ordered ? [5, 30, 60, 61, 90, 1439, 1440] : [60, 90, 1440]
  const minutes = random.chance(50) ? { minutes: random.pick(lives) } : {}
  const merchant = random.pick(merchants)
  return { tool: 'issue_agent_card', party, merchant, maximum, ...minutes, ...maybeKey(random, names), makes: card }
}

function proceed(context: Context, open: Open): Choice {
  const { model, agent } = context
  const card = cardOf(model, open)
  const purchase = open.purchase === undefined ? undefined : model.transaction(open.purchase)
  open.steps++
  const choice = purchase === undefined ? buy(context, open, card) : settle(context, open, card, purchase)
  if (open.steps >= mostStepsPerCard) close(agent, open)
  return choice
}

/** The card has not made its purchase yet, as far as the agent knows. */
function buy(context: Context, open: Open, card: ModelCard): Choice {
  const { random, agent, model } = context
  const { name, party } = card
  const what = random.weighted({ details: 15, read: 5, authorize: 75, mistake: 5 })
  if (what === 'details') return { tool: 'get_agent_card_details', party, subject: name }
  if (what === 'read') return { tool: 'get_agent_card', party, subject: name }
  if (what === 'mistake') return authorize(context, card, random.pick([0, -1]), false)
  const amount = amountFor(context, card)
  const choice = authorize(context, card, amount, true)
  if (open.unresolved) choice.merchant = unresolvedMerchant
  open.unresolved = false
  const approved = !card.used && model.nowMs() < card.expiresAtMs && amount <= card.maximum
  // A declined attempt is tried again until the agent gives up.
  if (approved && amount <= model.balance(party).available) open.purchase = choice.makes
  else if (random.chance(model.nowMs() < card.expiresAtMs ? 30 : 80)) close(agent, open)
  return choice
}

function amountFor({ random, model, budget, options }: Context, card: ModelCard): number {
  const { maximum, party } = card
  if (maximum > balanceOf(options, party)) {
    const beyond = options.ordered ? model.balance(party).available + 1 : balanceOf(options, party) + 1
    const all = options.ordered && model.balance(party).available > 0 && random.chance(15)
    if (all) return model.balance(party).available
    return random.chance(60) ? random.int(beyond, maximum) : random.int(1, budget[party])
  }
  const what = random.weighted({ part: 60, whole: 20, over: 15, farOver: 5 })
  if (what === 'part') return random.int(1, maximum)
  if (what === 'whole') return maximum
  return what === 'over' ? maximum + 1 : random.int(maximum + 1, maximum * 3 + 10)
}

function authorize(context: Context, card: ModelCard, amount: number, keyed: boolean): Choice {
  const { random, names } = context
  const { name, party, merchant } = card
  const key = keyed ? maybeKey(random, names) : {}
  return {
    tool: 'simulate_card_authorization',
    party,
    subject: name,
    amount,
    merchant,
    ...key,
    makes: names('purchase'),
  }
}

/** The purchase is approved. */
function settle(context: Context, open: Open, card: ModelCard, purchase: ModelTransaction): Choice {
  const { random, agent } = context
  const { name: subject, party, amount } = purchase
  if (random.chance(12)) return look(context, card, subject)
  if (random.chance(6)) return authorize(context, card, amountFor(context, card), true)
  const left = purchase.captured - purchase.refunded
  if (purchase.status === 'authorized') {
    // A purchase that takes nearly all the money is not kept: the other agents could buy nothing any more.
    const large = amount > context.budget[party] * 2
    const what = random.weighted({
      all: large ? 0 : 30,
      part: 25,
      tooMuch: 8,
      reverse: large ? 40 : 14,
      expire: 8,
      refund: 5,
      wait: 6,
    })
    if (what === 'all') return settlement(context, 'simulate_card_capture', purchase, amount)
    if (what === 'part') {
      const most = large ? context.budget[party] : amount - 1
      return settlement(context, 'simulate_card_capture', purchase, random.int(1, Math.max(1, most)))
    }
    if (what === 'tooMuch') return settlement(context, 'simulate_card_capture', purchase, amount + random.int(1, 500))
    if (what === 'refund') return settlement(context, 'simulate_card_refund', purchase, random.int(1, amount))
    if (what === 'wait') {
      // The hold stays until the clock lets it lapse.
      close(agent, open)
      return { tool: 'get_card_transaction', party, subject }
    }
    return settlement(context, what === 'reverse' ? 'simulate_card_reversal' : 'simulate_card_expiration', purchase)
  }
  if (purchase.status === 'reversed' || left === 0 || random.chance(25)) {
    close(agent, open)
    return wrongMove(context, purchase)
  }
  const what = random.weighted({ part: 50, rest: 20, tooMuch: 15, wrong: 15 })
  if (what === 'wrong') return wrongMove(context, purchase)
  const refund = what === 'part' ? random.int(1, left) : what === 'rest' ? left : left + random.int(1, 500)
  return settlement(context, 'simulate_card_refund', purchase, refund)
}

function settlement({ random, names }: Context, tool: Tool, purchase: ModelTransaction, amount?: number): Choice {
  const { party, name: subject } = purchase
  const makes = tool === 'simulate_card_refund' ? { makes: names('refund') } : {}
  return { tool, party, subject, ...(amount === undefined ? {} : { amount }), ...maybeKey(random, names), ...makes }
}

const moves = [
  'simulate_card_capture',
  'simulate_card_reversal',
  'simulate_card_expiration',
  'simulate_card_refund',
] as const

/** One of the four simulations, whatever the card's state: most of them are refused. */
function wrongMove(context: Context, transaction: ModelTransaction): Choice {
  const { random } = context
  const tool = random.pick(moves)
  const takesAmount = tool === 'simulate_card_capture' || tool === 'simulate_card_refund'
  return settlement(context, tool, transaction, takesAmount ? random.int(1, transaction.amount) : undefined)
}

function look({ random }: Context, card: ModelCard, transaction: string): Choice {
  const tool = random.pick(['get_card_transaction', 'get_agent_card', 'list_card_transactions'] as const)
  return { tool, party: card.party, subject: tool === 'get_card_transaction' ? transaction : card.name }
}

/** An action besides the purchases in hand; undefined where there is nothing to act on. */
function lookAside(context: Context): Choice | undefined {
  const { random, agent, model, neighbours, options } = context
  const what = random.weighted({ repeat: 45, conflict: 10, wallets: 20, old: 15, stranger: 10 })
  if (what === 'wallets') {
    const party = options.start.customer !== undefined && random.chance(25) ? 'customer' : 'own'
    return { tool: 'list_wallets', party }
  }
  if (what === 'repeat' || what === 'conflict') {
    const keyed = random.pick(neighbours).keyed
    if (keyed.length === 0) return undefined
    const { step: _, agent: __, ...earlier } = random.pick(keyed)
    return what === 'repeat' ? repeated(context, earlier) : altered(context, earlier)
  }
  const names = what === 'old' ? agent.closed : [...agent.closed, ...agent.open.map(({ card }) => card)]
  if (names.length === 0) return undefined
  const name = random.pick(names)
  const transaction = model.transaction(name)
  if (what === 'old') {
    if (transaction !== undefined) return wrongMove(context, transaction)
    const card = model.card(name)
    return card === undefined ? undefined : authorize(context, card, amountFor(context, card), true)
  }
  const tool = transaction === undefined ? 'get_agent_card' : 'get_card_transaction'
  const party = (transaction ?? model.card(name))?.party === 'own' ? 'customer' : 'own'
  return options.start.customer === undefined ? undefined : { tool, party, subject: name }
}

/**
 * The same call with the same key. Where the record of the first is gone by now this is a new call, so what it makes
 * needs a new name.
 */
function repeated({ names }: Context, earlier: Choice): Choice {
  if (earlier.makes === undefined) return earlier
  return { ...earlier, makes: names(earlier.makes.replace(/-\d+$/, '') as 'card') }
}

/** Another request with the same key, or, on the other party, a request of its own. */
function altered(context: Context, earlier: Choice): Choice {
  const { random, options } = context
  const again = repeated(context, earlier)
  if (options.start.customer !== undefined && options.ordered && random.chance(20)) {
    return { ...again, party: again.party === 'own' ? 'customer' : 'own' }
  }
  if (again.maximum !== undefined) return { ...again, maximum: again.maximum + 1 }
  if (again.amount !== undefined) return { ...again, amount: again.amount + 1 }
  const other = again.tool === 'simulate_card_reversal' ? 'simulate_card_expiration' : 'simulate_card_reversal'
  return { ...again, tool: other }
}

function maybeKey(random: Random, names: Surroundings['names']): { key?: string } {
  return random.chance(50) ? { key: names('key') } : {}
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

function balanceOf({ start }: PlanOptions, party: PartyName): number {
  return Math.max(1, start[party]?.total ?? 0)
}

import type { Action, PartyName } from '../action.ts'
import type { Model } from '../model/model.ts'
import type { Start } from '../model/state.ts'
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
   * keeps to its own records and keys, and all purchases and payments together stay within the money there is; the
   * clock stands.
   */
  ordered: boolean
  start: Start
}

/** An action without its place in the history. */
export type Choice = Omit<Action, 'step' | 'agent'>

/** What an agent does besides buying with cards. */
export type ErrandKind = 'payment' | 'subscription' | 'customer' | 'transfer' | 'request'

/** Something in hand: the record that it is about, and how many calls it took. */
export interface Errand {
  kind: ErrandKind
  name: string
  /** Whose it is, where the record does not tell, or is not there yet. */
  party?: PartyName
  steps: number
}

/** What a simulated agent remembers and plans. */
export interface AgentState {
  number: number
  /** How many cards it has issued. */
  issued: number
  /** The cards that it still means to do something with. */
  open: { card: string; purchase: string | undefined; unresolved: boolean; steps: number }[]
  /** What else it still means to do something with. */
  errands: Errand[]
  /** How many errands of each kind it has not begun. */
  left: Record<ErrandKind, number>
  /** The customers that it made up and invited. */
  customers: `customer-${number}`[]
  /** People without an account whom it paid, and who may have joined since. */
  strangers: string[]
  /** The bank accounts that it linked, whose ids it therefore knows. */
  linked: Set<string>
  /** The names of the cards and card transactions that it is done with. */
  closed: string[]
  /** The calls that it made with a key of its own. */
  keyed: Action[]
}

export type NamedKind =
  | 'card'
  | 'purchase'
  | 'refund'
  | 'key'
  | 'payment'
  | 'stranger'
  | 'subscription'
  | 'invitation'
  | 'customer'
  | 'transfer'
  | 'request'

export interface Surroundings {
  model: Model
  /** The next name of a kind: `card-1`, `card-2`, … */
  names: (kind: NamedKind) => string
  options: PlanOptions
  /** The cost of an average purchase or payment, in cents. */
  budget: Record<'own' | 'customer', number>
}

export interface Context extends Surroundings {
  agent: AgentState
  random: Random
  /** The agents whose keys this one may repeat. */
  neighbours: readonly AgentState[]
}

export function maybeKey({ random, names }: Pick<Context, 'random' | 'names'>): { key?: string } {
  return random.chance(50) ? { key: names('key') } : {}
}

/** All the money that there is of a party at the start. */
export function balanceOf({ start }: PlanOptions, party: 'own' | 'customer'): number {
  return Math.max(1, start[party]?.total ?? 0)
}

/** Cents below what a request may name, by which nobody could be paid on any history of a run. */
const farTooMuch = 80_000_000

/**
 * More than a wallet that is there from the start has, whatever comes in: in any order of calls an amount of it is
 * refused. Undefined where the wallet is so full that no amount is sure to be.
 */
export function neverThere(options: PlanOptions, party: 'own' | 'customer'): number | undefined {
  return balanceOf(options, party) < farTooMuch / 2 ? farTooMuch : undefined
}

/** The party whose wallet is there from the start: mostly the agent's own. */
export function seededParty({ options, random }: Context, percentCustomer: number): 'own' | 'customer' {
  return options.start.customer !== undefined && random.chance(percentCustomer) ? 'customer' : 'own'
}

export function endErrand(agent: AgentState, errand: Errand): void {
  agent.errands = agent.errands.filter((other) => other !== errand)
}

/** Whether the customer lets the agent act for it now; of the wallets that are there from the start: yes. */
export function mayActFor({ model }: Context, party: PartyName): boolean {
  return party === 'own' || party === 'customer' || model.customer(party)?.grant?.active === true
}

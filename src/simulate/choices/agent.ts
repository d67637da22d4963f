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
   * keeps to its own records and keys, and all purchases together stay within the money there is; the
   * clock stands.
   */
  ordered: boolean
  start: Start
}

/** An action without its place in the history. */
export type Choice = Omit<Action, 'step' | 'agent'>

/** A simulated agent's memory and plans. */
export interface AgentState {
  number: number
  /** How many cards it has issued. */
  issued: number
  /** The cards that it still means to do something with. */
  open: { card: string; purchase: string | undefined; unresolved: boolean; steps: number }[]
  /** The names of the cards and card transactions that it is done with. */
  closed: string[]
  /** The calls that it made with a key that it chose. */
  keyed: Action[]
}

export type NamedKind = 'card' | 'purchase' | 'refund' | 'key'

export interface Surroundings {
  model: Model
  /** The next name of a kind: `card-1`, `card-2`, … */
  names: (kind: NamedKind) => string
  options: PlanOptions
  /** The cost of an average purchase, in cents. */
  budget: Record<PartyName, number>
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

/** Returns all the money of a party at the start. */
export function balanceOf({ start }: PlanOptions, party: PartyName): number {
  return Math.max(1, start[party]?.total ?? 0)
}

/** Cents below the bound of a request, and more than there can ever be in a run. */
const farTooMuch = 80_000_000

/**
 * Returns more than the wallet has in any order of calls, so that a purchase of it is declined. Undefined where the
 * wallet is so full that no amount is sure to be.
 */
export function neverThere(options: PlanOptions, party: PartyName): number | undefined {
  return balanceOf(options, party) < farTooMuch / 2 ? farTooMuch : undefined
}

/** Picks the party that pays: mostly the agent's own. */
export function seededParty({ options, random }: Context, percentCustomer: number): PartyName {
  return options.start.customer !== undefined && random.chance(percentCustomer) ? 'customer' : 'own'
}

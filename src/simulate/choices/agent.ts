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
   * true: agents take turns, in an order drawn from the seed, and may affect each other's answers. false: calls of
   * different agents may arrive in any order. To keep answers predictable, each agent then uses only its own records
   * and keys, all purchases together stay within the available money, and the clock stands still.
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
  /** The cards that it will still use. */
  open: { card: string; purchase: string | undefined; unresolved: boolean; steps: number }[]
  /** The names of the cards and card transactions that it is done with. */
  closed: string[]
  /** Its calls with an explicit key. */
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

/** Returns a party's initial money. */
export function balanceOf({ start }: PlanOptions, party: PartyName): number {
  return Math.max(1, start[party]?.total ?? 0)
}

/** An amount below the limit of a request, but more than a run ever has. */
const farTooMuch = 80_000_000

/**
 * Returns an amount that the wallet cannot have in any order of calls, so that a purchase is declined. Undefined if the
 * wallet has too much money for that.
 */
export function unaffordableAmount(options: PlanOptions, party: PartyName): number | undefined {
  return balanceOf(options, party) < farTooMuch / 2 ? farTooMuch : undefined
}

/** Picks the party that pays: mostly the agent's own. */
export function payingParty({ options, random }: Context, percentCustomer: number): PartyName {
  return options.start.customer !== undefined && random.chance(percentCustomer) ? 'customer' : 'own'
}

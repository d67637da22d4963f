import type { Action, PartyName } from '../action.ts'
import type { Model } from '../model/model.ts'
import type { Start } from '../model/state.ts'
import type { Random } from '../random.ts'

export interface PlanOptions {
  seed: string
  agents: number
  /** The number of cards that each agent issues. */
  purchases: number
  clockJumps: boolean
  /**
   * true: agents take turns, in an order drawn from the seed, and may affect each other's answers. false: calls of
   * different agents may arrive in any order. To keep answers predictable, each agent then uses only its own records
   * and keys, the total of all purchases stays within the available money, and the clock is never moved.
   */
  ordered: boolean
  start: Start
}

/** An action that has no agent and no number in the history yet. */
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
  /** Returns the next name of a kind: `card-1`, `card-2`, … */
  nextName: (kind: NamedKind) => string
  options: PlanOptions
  /** The cost of an average purchase, in cents. */
  budget: Record<PartyName, number>
}

export interface Context extends Surroundings {
  agent: AgentState
  random: Random
  /** The agents whose keys this one may repeat. */
  repeatSources: readonly AgentState[]
}

export function maybeKey({ random, nextName }: Pick<Context, 'random' | 'nextName'>): { key?: string } {
  return random.chance(50) ? { key: nextName('key') } : {}
}

/** Returns a party's initial money. */
export function initialTotal({ start }: PlanOptions, party: PartyName): number {
  return Math.max(1, start[party]?.total ?? 0)
}

/** An amount that a request may have, but that is larger than any balance in a run. */
const farTooMuch = 80_000_000

/**
 * Returns an amount that exceeds the wallet's balance in any order of calls, so that the purchase is declined.
 * Undefined if the balance is too large for this.
 */
export function unaffordableAmount(options: PlanOptions, party: PartyName): number | undefined {
  return initialTotal(options, party) < farTooMuch / 2 ? farTooMuch : undefined
}

/** Picks the party that pays, usually the agent's own. */
export function payingParty({ options, random }: Context, percentCustomer: number): PartyName {
  return options.start.customer !== undefined && random.chance(percentCustomer) ? 'customer' : 'own'
}

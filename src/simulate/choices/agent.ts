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
   * true: agents take turns, in an order that depends only on the seed, and may affect each other's answers. false:
   * calls of different agents may arrive in any order. Answers must still be predictable. Therefore each agent uses
   * only its own records and keys, all purchases together cost at most the available money, and the clock is never
   * moved.
   */
  ordered: boolean
  start: Start
}

/** An action that does not have its agent and step number yet. `planHistory` adds both. */
export type Choice = Omit<Action, 'step' | 'agent'>

/** A simulated agent's memory and plans. */
export interface AgentState {
  number: number
  /** The number of cards that the agent has issued. */
  issued: number
  /** The cards that the agent will still use. */
  open: { card: string; purchase: string | undefined; unresolved: boolean; steps: number }[]
  /** The names of the cards and card transactions that the agent has finished with. */
  closed: string[]
  /** The agent's earlier calls for which the agent chose an idempotency key. */
  keyed: Action[]
}

export type NamedKind = 'card' | 'purchase' | 'refund' | 'key'

export interface PlanContext {
  model: Model
  /** Returns the next name of a kind: `card-1`, `card-2`, … */
  nextName: (kind: NamedKind) => string
  options: PlanOptions
  /** For each party that pays, the intended average cost of a purchase in cents. */
  budget: Record<PartyName, number>
}

export interface Context extends PlanContext {
  agent: AgentState
  random: Random
  /** The agents whose earlier calls this agent may repeat with the same key, including this agent itself. */
  repeatSources: readonly AgentState[]
}

export function maybeKey({ random, nextName }: Pick<Context, 'random' | 'nextName'>): { key?: string } {
  return random.chance(50) ? { key: nextName('key') } : {}
}

/** Returns the total of a party's wallet at the start, in cents, but at least 1. */
export function initialTotal({ start }: PlanOptions, party: PartyName): number {
  return Math.max(1, start[party]?.total ?? 0)
}

/** An amount in cents that is valid in a request, but that most wallets cannot pay. */
const farTooMuch = 80_000_000

/**
 * Returns an amount that the party's wallet cannot pay, in whatever order the calls arrive, so a purchase is declined.
 * Returns undefined if the wallet starts with so much money that it might be able to pay any amount.
 */
export function unaffordableAmount(options: PlanOptions, party: PartyName): number | undefined {
  return initialTotal(options, party) < farTooMuch / 2 ? farTooMuch : undefined
}

/** Picks the party that pays: the customer with the given probability, otherwise the agent's own party. */
export function payingParty({ options, random }: Context, percentCustomer: number): PartyName {
  return options.start.customer !== undefined && random.chance(percentCustomer) ? 'customer' : 'own'
}

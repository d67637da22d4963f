import { type Action, type PartyName, sameRequest, walletName } from '../action.ts'
import type { CardFacts, Facts, WalletFacts } from '../facts.ts'
import { cardFacts, cardRules, lapseHolds, transactionFacts } from './cards.ts'
import {
  type Balance,
  conflict,
  type ModelCard,
  type ModelTransaction,
  pageOf,
  type Rule,
  type Start,
  type State,
  wrongValue,
} from './state.ts'

export interface Prediction {
  facts: Facts
  /** Whether the answer must be identical, byte for byte, to the first answer for the action's idempotency key. */
  replayed: boolean
  /** Whether the service stores this answer under the action's idempotency key. */
  recorded: boolean
}

/**
 * An independent implementation of the rules for card purchases (docs/service.md). It shares no code with the service.
 * The model's clock moves only when an action moves the sandbox clock. Each of these moves is so long that the model
 * can ignore the real time that passes between calls.
 */
export interface Model {
  /**
   * Predicts the answer to an action, and applies the action to the model. Returns undefined if the action's subject
   * was never created.
   */
  apply(action: Action): Prediction | undefined
  balance(party: PartyName): Balance
  card(name: string): ModelCard | undefined
  cards(): ModelCard[]
  transaction(name: string): ModelTransaction | undefined
  transactions(): ModelTransaction[]
  cardFacts(card: ModelCard): CardFacts
  /** Returns the current facts of all cards and card transactions of a party. */
  recordsOf(party: PartyName): Facts[]
  walletFacts(party: PartyName): WalletFacts
  nowMs(): number
}

/** How long the answer for an idempotency key is replayed (docs/service.md#idempotency-window). */
const replayWindowMs = 48 * 60 * 60 * 1000

export function createModel(start: Start, ordered = true): Model {
  const state: State = {
    nowMs: 0,
    wallets: { own: { ...start.own }, customer: { ...(start.customer ?? { available: 0, total: 0 }) } },
    cards: new Map(),
    transactions: new Map(),
    onHold: new Set(),
    idempotencyRecords: new Map(),
    ordered,
  }
  return {
    apply: (action) => apply(state, action),
    balance: (party) => state.wallets[party],
    card: (name) => state.cards.get(name),
    cards: () => [...state.cards.values()],
    transaction: (name) => state.transactions.get(name),
    transactions: () => [...state.transactions.values()],
    cardFacts: (card) => cardFacts(state, card),
    recordsOf: (party) => recordsOf(state, party),
    walletFacts: (party) => walletFacts({ ...state, ordered: true }, party),
    nowMs: () => state.nowMs,
  }
}

function apply(state: State, action: Action): Prediction | undefined {
  const { subject, amount, key, party } = action
  if (subject !== undefined && !state.cards.has(subject) && !state.transactions.has(subject)) return undefined
  // The MCP server itself refuses an amount that is not positive, so the service records nothing under the key.
  if (amount !== undefined && amount <= 0) return { facts: wrongValue('amount'), replayed: false, recorded: false }
  // Each party that a call can act for has separate keys (docs/service.md#idempotency-scope).
  const recordKey = key === undefined ? undefined : `${party} ${key}`
  const record = recordKey === undefined ? undefined : state.idempotencyRecords.get(recordKey)
  if (record !== undefined && state.nowMs < record.finishedAtMs + replayWindowMs) {
    if (sameRequest(record.action, action)) return { facts: record.facts, replayed: true, recorded: false }
    return { facts: conflict, replayed: false, recorded: false }
  }
  const facts = answer(state, action)
  if (recordKey !== undefined) state.idempotencyRecords.set(recordKey, { action, facts, finishedAtMs: state.nowMs })
  return { facts, replayed: false, recorded: recordKey !== undefined }
}

const rules: Readonly<Record<string, Rule>> = {
  ...cardRules,
  list_wallets: (state, { party }) => pageOf([walletFacts(state, party)]),
  advance_sandbox_clock: (state, { seconds = 0 }) => {
    state.nowMs += seconds * 1000
    lapseHolds(state)
    return { type: 'clock', advancedSeconds: seconds }
  },
}

function answer(state: State, action: Action): Facts {
  const rule = rules[action.tool]
  if (rule === undefined) throw new Error(`Bug: the model has no rule for ${action.tool}.`)
  return rule(state, action)
}

function recordsOf(state: State, owner: PartyName): Facts[] {
  return [
    ...[...state.cards.values()].filter(({ party }) => party === owner).map((card) => cardFacts(state, card)),
    ...[...state.transactions.values()].filter(({ party }) => party === owner).map(transactionFacts),
  ]
}

function walletFacts({ ordered, wallets }: State, party: PartyName): WalletFacts {
  return { type: 'wallet', name: walletName(party), ...(ordered ? wallets[party] : {}), sound: true }
}

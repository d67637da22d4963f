import { type Action, type PartyName, sameRequest, type Tool } from '../action.ts'
import type { CardFacts, Facts, TransactionFacts, WalletFacts } from '../facts.ts'

export interface Balance {
  available: number
  total: number
}

/** The money there is at the start; a target without a connected customer has none for it. */
export type Start = { own: Balance; customer: Balance | undefined }

export interface Prediction {
  facts: Facts
  /** The answer must be identical, byte for byte, to the first one with this key. */
  replayed: boolean
  /** The service keeps this answer under the key. */
  recorded: boolean
}

export interface ModelCard {
  name: string
  party: PartyName
  merchant: string
  maximum: number
  minutes: number
  expiresAtMs: number
  used: boolean
  transactions: ModelTransaction[]
}

export interface ModelTransaction extends Omit<TransactionFacts, 'type' | 'wallet' | 'holdHours' | 'currency'> {
  party: PartyName
  holdExpiresAtMs: number | null
}

/**
 * What the specification says must happen, written from its text alone: it shares no code with the service. Its time
 * starts at 0 and passes in clock jumps only, for jumps are so long that a run's own real time decides nothing.
 */
export interface Model {
  /** Predicts the answer and makes the change; undefined when what is acted on does not exist in this history. */
  apply(action: Action): Prediction | undefined
  balance(party: PartyName): Balance
  card(name: string): ModelCard | undefined
  cards(): ModelCard[]
  transaction(name: string): ModelTransaction | undefined
  transactions(): ModelTransaction[]
  cardFacts(card: ModelCard): CardFacts
  transactionFacts(transaction: ModelTransaction): TransactionFacts
  walletFacts(party: PartyName): WalletFacts
  nowMs(): number
}

const hourMs = 60 * 60 * 1000
/** How long an answer is replayed (docs/service.md#idempotency-window). */
const replayWindowMs = 48 * hourMs
/** How long an authorization waits for its capture. */
const holdHours = 7 * 24
const defaultMinutes = 60

interface State {
  nowMs: number
  wallets: Record<PartyName, Balance>
  cards: Map<string, ModelCard>
  transactions: Map<string, ModelTransaction>
  /** The authorizations whose hold has not ended. */
  onHold: Set<ModelTransaction>
  records: Map<string, { action: Action; facts: Facts; finishedAtMs: number }>
  /** Balances depend on the order of calls, and the order is known. */
  ordered: boolean
}

export function createModel(start: Start, ordered = true): Model {
  const state: State = {
    nowMs: 0,
    wallets: { own: { ...start.own }, customer: { ...(start.customer ?? { available: 0, total: 0 }) } },
    cards: new Map(),
    transactions: new Map(),
    onHold: new Set(),
    records: new Map(),
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
    transactionFacts,
    walletFacts: (party) => walletFacts({ ...state, ordered: true }, party),
    nowMs: () => state.nowMs,
  }
}

function apply(state: State, action: Action): Prediction | undefined {
  const { subject, key, party } = action
  if (subject !== undefined && !state.cards.has(subject) && !state.transactions.has(subject)) return undefined
  // A key belongs to the party acted on (docs/service.md#idempotency-scope).
  const recordKey = key === undefined ? undefined : `${party} ${key}`
  const record = recordKey === undefined ? undefined : state.records.get(recordKey)
  if (record !== undefined && state.nowMs < record.finishedAtMs + replayWindowMs) {
    if (sameRequest(record.action, action)) return { facts: record.facts, replayed: true, recorded: false }
    return { facts: refused('conflict', 409), replayed: false, recorded: false }
  }
  const facts = answer(state, action)
  if (recordKey !== undefined) state.records.set(recordKey, { action, facts, finishedAtMs: state.nowMs })
  return { facts, replayed: false, recorded: recordKey !== undefined }
}

type Rule = (state: State, action: Action) => Facts

const rules: Partial<Record<Tool, Rule>> = {
  issue_agent_card: issue,
  get_agent_card: (state, action) => onCard(state, action, (card) => cardFacts(state, card)),
  get_agent_card_details: (state, action) =>
    onCard(state, action, ({ name }) => ({
      type: 'agentCardDetails',
      name,
      validNumber: true,
      validCvv: true,
      ownExpiration: true,
    })),
  list_card_transactions: ({ cards }, { subject, party }) => {
    const card = cards.get(subject ?? '')
    const found = card?.party === party ? card.transactions : []
    return { type: 'page', items: found.map(transactionFacts).sort((one, other) => (one.name < other.name ? -1 : 1)) }
  },
  list_wallets: (state, { party }) => ({ type: 'page', items: [walletFacts(state, party)] }),
  simulate_card_authorization: (state, action) => onCard(state, action, (card) => authorize(state, action, card)),
  get_card_transaction: (state, action) => onTransaction(state, action, transactionFacts),
  simulate_card_capture: (state, action) =>
    onTransaction(state, action, (purchase) => capture(state, action, purchase)),
  simulate_card_reversal: (state, action) => onTransaction(state, action, (purchase) => release(state, purchase)),
  simulate_card_expiration: (state, action) => onTransaction(state, action, (purchase) => release(state, purchase)),
  simulate_card_refund: (state, action) => onTransaction(state, action, (purchase) => refund(state, action, purchase)),
  advance_sandbox_clock: advance,
}

function answer(state: State, action: Action): Facts {
  const rule = rules[action.tool]
  if (rule === undefined) throw new Error(`Bug: the model knows no rule for ${action.tool}.`)
  // An amount is a positive integer; what breaks an attribute's own rule is found before any record is looked at.
  if (action.amount !== undefined && action.amount <= 0) return refusedAmount
  return rule(state, action)
}

function issue(state: State, action: Action): Facts {
  const { minutes = defaultMinutes, merchant = '', maximum = 0, party } = action
  const name = madeBy(action)
  const expiresAtMs = state.nowMs + minutes * 60_000
  const card = { name, party, merchant, maximum, minutes, expiresAtMs, used: false, transactions: [] }
  state.cards.set(name, card)
  return cardFacts(state, card)
}

function authorize(state: State, action: Action, card: ModelCard): Facts {
  const { amount = 0, merchant = '' } = action
  const wallet = state.wallets[card.party]
  const decline = declineOf(card, amount, wallet.available, state.nowMs)
  const approved = decline === null
  const purchase: ModelTransaction = {
    name: madeBy(action),
    party: card.party,
    kind: 'purchase',
    status: approved ? 'authorized' : 'declined',
    amount,
    merchant,
    held: approved ? amount : 0,
    captured: 0,
    refunded: 0,
    decline,
    holdExpiresAtMs: approved ? state.nowMs + holdHours * hourMs : null,
    card: card.name,
    purchase: null,
  }
  if (approved) {
    card.used = true
    wallet.available -= amount
    state.onHold.add(purchase)
  }
  add(state, purchase)
  return transactionFacts(purchase)
}

/** The first reason to decline that applies (docs/service.md#card-declines). */
function declineOf(card: ModelCard, amount: number, available: number, nowMs: number): string | null {
  if (nowMs >= card.expiresAtMs) return 'single_use_card_expired'
  if (card.used) return 'single_use_card_used'
  if (amount > card.maximum) return 'single_use_amount_over_maximum'
  return amount > available ? 'insufficient_funds' : null
}

function add({ transactions, cards }: State, made: ModelTransaction): void {
  transactions.set(made.name, made)
  cards.get(made.card)?.transactions.push(made)
}

function capture(state: State, { amount = 0 }: Action, purchase: ModelTransaction): Facts {
  if (purchase.status !== 'authorized') return notAllowed
  if (amount > purchase.amount) return refusedAmount
  const wallet = state.wallets[purchase.party]
  wallet.total -= amount
  wallet.available += purchase.amount - amount
  purchase.status = amount === purchase.amount ? 'captured' : 'partially_captured'
  purchase.captured = amount
  endHold(state, purchase)
  return transactionFacts(purchase)
}

function release(state: State, purchase: ModelTransaction): Facts {
  if (purchase.status !== 'authorized') return notAllowed
  state.wallets[purchase.party].available += purchase.held
  purchase.status = 'reversed'
  endHold(state, purchase)
  return transactionFacts(purchase)
}

function refund(state: State, action: Action, purchase: ModelTransaction): Facts {
  const { amount = 0 } = action
  if (purchase.status !== 'captured' && purchase.status !== 'partially_captured') return notAllowed
  if (purchase.refunded + amount > purchase.captured) return refusedAmount
  purchase.refunded += amount
  const wallet = state.wallets[purchase.party]
  wallet.total += amount
  wallet.available += amount
  const name = madeBy(action)
  const fresh = { name, kind: 'refund', status: 'refunded', amount, captured: 0, refunded: 0 } as const
  const made: ModelTransaction = { ...purchase, ...fresh, purchase: purchase.name }
  add(state, made)
  return transactionFacts(made)
}

function advance(state: State, { seconds = 0 }: Action): Facts {
  state.nowMs += seconds * 1000
  for (const purchase of state.onHold) {
    if (purchase.holdExpiresAtMs !== null && purchase.holdExpiresAtMs <= state.nowMs) release(state, purchase)
  }
  return { type: 'clock', advancedSeconds: seconds }
}

function onCard(state: State, { subject, party }: Action, rule: (card: ModelCard) => Facts): Facts {
  const card = state.cards.get(subject ?? '')
  // A resource of another party answers like one that does not exist.
  return card === undefined || card.party !== party ? refused('not_found', 404) : rule(card)
}

function onTransaction(state: State, { subject, party }: Action, rule: (found: ModelTransaction) => Facts): Facts {
  const found = state.transactions.get(subject ?? '')
  return found === undefined || found.party !== party ? refused('not_found', 404) : rule(found)
}

function endHold({ onHold }: State, purchase: ModelTransaction): void {
  onHold.delete(purchase)
  purchase.held = 0
  purchase.holdExpiresAtMs = null
}

function cardFacts(state: State, card: ModelCard): CardFacts {
  const { name, party, merchant, maximum, minutes, used, expiresAtMs } = card
  const status = used ? 'used' : state.nowMs >= expiresAtMs ? 'expired' : 'active'
  return { type: 'agentCard', name, status, merchant, maximum, currency: 'USD', minutes, wallet: walletName(party) }
}

function transactionFacts({ party, holdExpiresAtMs, ...rest }: ModelTransaction): TransactionFacts {
  const hours = holdExpiresAtMs === null ? null : holdHours
  return { type: 'cardTransaction', ...rest, currency: 'USD', holdHours: hours, wallet: walletName(party) }
}

function walletFacts({ wallets, ordered }: State, party: PartyName): WalletFacts {
  return { type: 'wallet', name: walletName(party), ...(ordered ? wallets[party] : {}), sound: true }
}

export function walletName(party: PartyName): string {
  return `${party}-wallet`
}

function madeBy({ makes, tool }: Action): string {
  if (makes === undefined) throw new Error(`Bug: ${tool} has no name for what it makes.`)
  return makes
}

function refused(code: string, status: number, pointer: string | null = null): Facts {
  return { type: 'error', code, status, pointer }
}

const notAllowed = refused('card_purchase_simulation_not_allowed', 409)
const refusedAmount = refused('invalid_value', 422, '/data/attributes/amount')

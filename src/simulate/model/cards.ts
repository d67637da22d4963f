import { type Action, walletName } from '../action.ts'
import type { CardFacts, Facts, TransactionFacts } from '../facts.ts'
import {
  conflict,
  createdName,
  type ModelCard,
  type ModelTransaction,
  notFound,
  pageOf,
  type Rule,
  refusalFacts,
  type State,
  wrongValue,
} from './state.ts'

const hourMs = 60 * 60 * 1000
/** How long a hold lasts if nothing is captured. */
const holdHours = 7 * 24
const defaultMinutes = 60

export const cardRules: Readonly<Record<string, Rule>> = {
  issue_agent_card: issue,
  get_agent_card: (state, action) => onCard(state, action, (card) => cardFacts(state, card)),
  get_agent_card_details: (state, action) =>
    onCard(state, action, ({ name }) => ({
      type: 'agentCardDetails',
      name,
      validNumber: true,
      validCvv: true,
      validExpiration: true,
    })),
  freeze_agent_card: (state, action) => onCard(state, action, (card) => toggleFreeze(state, card, 'active')),
  unfreeze_agent_card: (state, action) => onCard(state, action, (card) => toggleFreeze(state, card, 'frozen')),
  list_card_transactions: ({ cards }, { subject, party }) => {
    const card = cards.get(subject ?? '')
    return pageOf((card?.party === party ? card.transactions : []).map(transactionFacts))
  },
  simulate_card_authorization: (state, action) => onCard(state, action, (card) => authorize(state, action, card)),
  get_card_transaction: (state, action) => onTransaction(state, action, transactionFacts),
  simulate_card_capture: (state, action) =>
    onTransaction(state, action, (purchase) => capture(state, action, purchase)),
  simulate_card_reversal: (state, action) => onTransaction(state, action, (purchase) => release(state, purchase)),
  simulate_card_expiration: (state, action) => onTransaction(state, action, (purchase) => release(state, purchase)),
  simulate_card_refund: (state, action) => onTransaction(state, action, (purchase) => refund(state, action, purchase)),
}

function issue(state: State, action: Action): Facts {
  const { minutes = defaultMinutes, merchant = '', maximum = 0, party } = action
  const name = createdName(action)
  const expiresAtMs = state.nowMs + minutes * 60_000
  const card = { name, party, merchant, maximum, minutes, expiresAtMs, used: false, frozen: false, transactions: [] }
  state.cards.set(name, card)
  return cardFacts(state, card)
}

function authorize(state: State, action: Action, card: ModelCard): Facts {
  const { amount = 0, merchant = '' } = action
  if (cardFacts(state, card).status === 'frozen') return conflict
  const wallet = state.wallets[card.party]
  const decline = declineOf(card, amount, wallet.available, state.nowMs)
  const approved = decline === null
  const purchase: ModelTransaction = {
    name: createdName(action),
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

/** Returns the first reason for a decline that applies (docs/service.md#card-declines); null if there is none. */
function declineOf(card: ModelCard, amount: number, available: number, nowMs: number): string | null {
  if (nowMs >= card.expiresAtMs) return 'single_use_card_expired'
  if (card.used) return 'single_use_card_used'
  if (amount > card.maximum) return 'single_use_amount_over_maximum'
  return amount > available ? 'insufficient_funds' : null
}

function add({ transactions, cards }: State, transaction: ModelTransaction): void {
  transactions.set(transaction.name, transaction)
  cards.get(transaction.card)?.transactions.push(transaction)
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
  wallet.available += amount
  wallet.total += amount
  const name = createdName(action)
  const refundFields = { name, kind: 'refund', status: 'refunded', amount, captured: 0, refunded: 0 } as const
  const transaction: ModelTransaction = { ...purchase, ...refundFields, purchase: purchase.name }
  add(state, transaction)
  return transactionFacts(transaction)
}

/**
 * Freezes an active card, or unfreezes a frozen card (docs/service.md#frozen-cards). Returns a conflict if the card
 * does not have the `required` status.
 */
function toggleFreeze(state: State, card: ModelCard, required: 'active' | 'frozen'): Facts {
  if (cardFacts(state, card).status !== required) return conflict
  card.frozen = !card.frozen
  return cardFacts(state, card)
}

/** Releases expired holds (docs/service.md#holds). */
export function lapseHolds(state: State): void {
  for (const purchase of state.onHold) {
    if (purchase.holdExpiresAtMs !== null && purchase.holdExpiresAtMs <= state.nowMs) release(state, purchase)
  }
}

function onCard(state: State, { subject, party }: Action, rule: (card: ModelCard) => Facts): Facts {
  const card = state.cards.get(subject ?? '')
  // The answer is the same for another party's resource and for a resource that does not exist.
  return card === undefined || card.party !== party ? notFound : rule(card)
}

function onTransaction(state: State, { subject, party }: Action, rule: (found: ModelTransaction) => Facts): Facts {
  const found = state.transactions.get(subject ?? '')
  return found === undefined || found.party !== party ? notFound : rule(found)
}

function endHold({ onHold }: State, purchase: ModelTransaction): void {
  onHold.delete(purchase)
  purchase.held = 0
  purchase.holdExpiresAtMs = null
}

export function cardFacts(state: State, card: ModelCard): CardFacts {
  const { name, party, merchant, maximum, minutes, used, frozen, expiresAtMs } = card
  const unused = frozen ? 'frozen' : 'active'
  const status = used ? 'used' : state.nowMs >= expiresAtMs ? 'expired' : unused
  return { type: 'agentCard', name, status, merchant, maximum, currency: 'USD', minutes, wallet: walletName(party) }
}

export function transactionFacts({ party, holdExpiresAtMs, ...rest }: ModelTransaction): TransactionFacts {
  const hours = holdExpiresAtMs === null ? null : holdHours
  return { type: 'cardTransaction', ...rest, currency: 'USD', holdHours: hours, wallet: walletName(party) }
}

const notAllowed = refusalFacts('card_purchase_simulation_not_allowed', 409)
const refusedAmount = wrongValue('amount')

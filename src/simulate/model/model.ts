import { type Action, isInvited, type PartyName, sameRequest, type Tool, walletName } from '../action.ts'
import type { CardFacts, Facts, WalletFacts } from '../facts.ts'
import { accountFacts, bankRules, letBanksAct, transferFacts } from './banks.ts'
import { cardFacts, cardRules, lapseHolds, transactionFacts } from './cards.ts'
import { customerFacts, customerRules, expireInvitations, invitationFacts, refusedAtTheGate } from './customers.ts'
import { approvalFacts, approvalRules, paymentFacts, paymentRules } from './payments.ts'
import { expireRequests, requestFacts, requestRules } from './requests.ts'
import {
  type Balance,
  conflict,
  type ModelAccount,
  type ModelCard,
  type ModelCustomer,
  type ModelInvitation,
  type ModelPayment,
  type ModelRequest,
  type ModelSubscription,
  type ModelTransaction,
  type ModelTransfer,
  pageOf,
  type Rule,
  type Start,
  type State,
  walletOf,
  wrongValue,
} from './state.ts'
import { billAll, subscriptionFacts, subscriptionRules } from './subscriptions.ts'

export interface Prediction {
  facts: Facts
  /** The answer must be identical, byte for byte, to the first one with this key. */
  replayed: boolean
  /** The service keeps this answer under the key. */
  recorded: boolean
}

/**
 * What the specification says must happen, written from its text alone: it shares no code with the service. Its time
 * passes in clock jumps only, for jumps are so long that a run's own real time decides nothing.
 */
export interface Model {
  /** Predicts the answer and makes the change; undefined when what is acted on does not exist in this history. */
  apply(action: Action): Prediction | undefined
  balance(party: PartyName): Balance
  card(name: string): ModelCard | undefined
  cards(): ModelCard[]
  transaction(name: string): ModelTransaction | undefined
  transactions(): ModelTransaction[]
  payment(name: string): ModelPayment | undefined
  payments(): ModelPayment[]
  /** Whether a list has shown the approval, so that the run knows its id. */
  isTold(approval: string): boolean
  transfer(name: string): ModelTransfer | undefined
  transfers(): ModelTransfer[]
  account(name: string): ModelAccount | undefined
  request(name: string): ModelRequest | undefined
  /** Whether the party's wallet was read, so that the run knows its id. */
  knowsWallet(party: PartyName): boolean
  subscription(name: string): ModelSubscription | undefined
  subscriptions(): ModelSubscription[]
  invitation(name: string): ModelInvitation | undefined
  customer(name: string): ModelCustomer | undefined
  customers(): ModelCustomer[]
  cardFacts(card: ModelCard): CardFacts
  /** Whether the agent may call the tool for the party now. */
  allows(tool: Tool, party: PartyName): boolean
  /** What the service must tell of everything of a party, after the last action; without the balance. */
  recordsOf(party: PartyName): Facts[]
  walletFacts(party: PartyName): WalletFacts
  nowMs(): number
}

/** How long an answer is replayed (docs/service.md#idempotency-window). */
const replayWindowMs = 48 * 60 * 60 * 1000

export function createModel(start: Start, ordered = true): Model {
  const state: State = {
    nowMs: start.clockMs ?? 0,
    wallets: new Map([
      ['own', { ...start.own }],
      ['customer', { ...(start.customer ?? { available: 0, total: 0 }) }],
    ]),
    ...{ cards: new Map(), transactions: new Map(), onHold: new Set(), payments: new Map(), approvals: new Map() },
    ...{ subscriptions: new Map(), invitations: new Map(), customers: new Map(), joined: new Set() },
    ...{ transfers: new Map(), accounts: new Map(), requests: new Map(), shownWallets: new Set() },
    records: new Map(),
    ordered,
  }
  return {
    apply: (action) => apply(state, action),
    balance: (party) => walletOf(state, party),
    card: (name) => state.cards.get(name),
    cards: () => [...state.cards.values()],
    transaction: (name) => state.transactions.get(name),
    transactions: () => [...state.transactions.values()],
    payment: (name) => state.payments.get(name),
    payments: () => [...state.payments.values()],
    isTold: (name) => state.approvals.get(name)?.told === true,
    transfer: (name) => state.transfers.get(name),
    transfers: () => [...state.transfers.values()],
    account: (name) => state.accounts.get(name),
    request: (name) => state.requests.get(name),
    knowsWallet: (party) => knowsWallet(state, party),
    subscription: (name) => state.subscriptions.get(name),
    subscriptions: () => [...state.subscriptions.values()],
    invitation: (name) => state.invitations.get(name),
    customer: (name) => state.customers.get(name),
    customers: () => [...state.customers.values()],
    cardFacts: (card) => cardFacts(state, card),
    allows: (tool, party) => refusedAtTheGate(state, { tool, party }) === undefined,
    recordsOf: (party) => recordsOf(state, party),
    walletFacts: (party) => walletFacts({ ...state, ordered: true }, party),
    nowMs: () => state.nowMs,
  }
}

function apply(state: State, action: Action): Prediction | undefined {
  if (!allThere(state, action)) return undefined
  // An amount is a positive integer: the MCP server sends no other.
  if (action.amount !== undefined && action.amount <= 0) {
    return { facts: wrongValue('amount'), replayed: false, recorded: false }
  }
  const gate = refusedAtTheGate(state, action)
  if (gate !== undefined) return { facts: gate, replayed: false, recorded: false }
  const { key, party } = action
  // A key belongs to the party acted on (docs/service.md#idempotency-scope).
  const recordKey = key === undefined ? undefined : `${party} ${key}`
  const record = recordKey === undefined ? undefined : state.records.get(recordKey)
  if (record !== undefined && state.nowMs < record.finishedAtMs + replayWindowMs) {
    if (sameRequest(record.action, action)) return { facts: record.facts, replayed: true, recorded: false }
    return { facts: conflict, replayed: false, recorded: false }
  }
  const facts = answer(state, action)
  if (recordKey !== undefined) state.records.set(recordKey, { action, facts, finishedAtMs: state.nowMs })
  return { facts, replayed: false, recorded: recordKey !== undefined }
}

/** Whether what the action names exists in this history, and the run was told its id. */
function allThere(state: State, action: Action): boolean {
  const { subject, party, payee, invites, makes, account, tool } = action
  const { cards, transactions, payments, approvals, subscriptions, invitations, customers } = state
  const { transfers, accounts, requests } = state
  const kinds = [cards, transactions, payments, subscriptions, invitations, customers, transfers, accounts, requests]
  const known = (name: string) => kinds.some((kind) => kind.has(name)) || approvals.get(name)?.told === true
  if (subject !== undefined && !known(subject)) return false
  if (account !== undefined && !accounts.has(account)) return false
  if (tool === 'fulfill_payment_request' && account === undefined && !knowsWallet(state, party)) return false
  if (isInvited(party) && !customers.has(party)) return false
  if (payee !== undefined && isInvited(payee) && !customers.has(payee)) return false
  // Somebody is made up to be invited, or was before.
  return invites === undefined || customers.has(invites) || makes === invites.replace('customer', 'invitation')
}

function knowsWallet({ shownWallets }: State, party: PartyName): boolean {
  return !isInvited(party) || shownWallets.has(party)
}

const rules: Readonly<Record<string, Rule>> = {
  ...cardRules,
  ...paymentRules,
  ...approvalRules,
  ...subscriptionRules,
  ...bankRules,
  ...requestRules,
  ...customerRules,
  list_wallets: (state, { party }) => {
    state.shownWallets.add(party)
    return pageOf([walletFacts(state, party)])
  },
  advance_sandbox_clock: (state, { seconds = 0 }) => {
    const beforeMs = state.nowMs
    state.nowMs += seconds * 1000
    lapseHolds(state)
    letBanksAct(state)
    expireInvitations(state)
    expireRequests(state)
    billAll(state, beforeMs)
    return { type: 'clock', advancedSeconds: seconds }
  },
}

function answer(state: State, action: Action): Facts {
  const rule = rules[action.tool]
  if (rule === undefined) throw new Error(`Bug: the model knows no rule for ${action.tool}.`)
  return rule(state, action)
}

function recordsOf(state: State, party: PartyName): Facts[] {
  const { cards, transactions, payments, approvals, subscriptions, invitations, customers } = state
  const { transfers, accounts, requests } = state
  const of = <T>(all: Map<string, T>, owner: (one: T) => string) =>
    [...all.values()].filter((one) => owner(one) === party)
  return [
    ...of(cards, (card) => card.party).map((card) => cardFacts(state, card)),
    ...of(transactions, (transaction) => transaction.party).map(transactionFacts),
    ...of(payments, ({ sender }) => sender).map(paymentFacts),
    ...of(approvals, (approval) => approval.party).map(approvalFacts),
    ...of(transfers, (transfer) => transfer.party).map(transferFacts),
    ...of(accounts, (account) => account.party).map(accountFacts),
    ...of(requests, (request) => request.party).map(requestFacts),
    ...of(subscriptions, (one) => one.party).map((one) => subscriptionFacts(state, one)),
    // The agent's own party asked, and has them all.
    ...(party === 'own' ? [...invitations.values()].map(invitationFacts) : []),
    ...(party === 'own' ? [...customers.values()].filter(({ grant }) => grant !== undefined).map(customerFacts) : []),
  ]
}

function walletFacts(state: State, party: PartyName): WalletFacts {
  const known = state.ordered || isInvited(party)
  return { type: 'wallet', name: walletName(party), ...(known ? walletOf(state, party) : {}), sound: true }
}

import { type Action, accountName, approvalOf, type PartyName } from '../action.ts'
import type { AccountFacts, Facts, TransferFacts } from '../facts.ts'
import { clearedAtMs, isBankingDay } from './banking-days.ts'
import { dateOf } from './billing.ts'
import {
  conflict,
  type ModelAccount,
  type ModelTransfer,
  madeBy,
  move,
  notFound,
  pageOf,
  type Rule,
  refused,
  type State,
  walletOf,
  wrongValue,
} from './state.ts'

/** What a person can choose at the test bank: accounts by their last four digits, and why others are rejected. */
const tokens: Readonly<Record<string, { links: readonly string[]; rejects?: string }>> = {
  accounts: { links: ['0000', '1111'] },
  'deposits-fail': { links: ['0001'] },
  'deposits-return': { links: ['0010'] },
  'withdrawals-fail': { links: ['0002'] },
  'withdrawals-return': { links: ['0023'] },
  'some-rejected': { links: ['0000'], rejects: 'bank_account_name_mismatch' },
  'profile-identity-missing': { links: [], rejects: 'profile_identity_missing' },
  'bank-account-verification-failed': { links: [], rejects: 'bank_account_verification_failed' },
}

/** What a bank does with money of these accounts; with all other money it settles. */
const unusual: Readonly<Record<string, { kind: ModelTransfer['kind']; does: 'fails' | 'returns'; code: string }>> = {
  '0001': { kind: 'deposit', does: 'fails', code: 'R01' },
  '0010': { kind: 'deposit', does: 'returns', code: 'R10' },
  '0002': { kind: 'withdrawal', does: 'fails', code: 'R02' },
  '0023': { kind: 'withdrawal', does: 'returns', code: 'R23' },
}

export const bankRules: Readonly<Record<string, Rule>> = {
  link_external_accounts: (state, { token = '', party }) => link(state, party, tokens[token]),
  simulate_bank_account_link: (state, { party }) => link(state, party, { links: ['0000'] }),
  get_external_account: (state, action) => onAccount(state, action, accountFacts),
  list_external_accounts: ({ accounts }, { party }) =>
    pageOf([...accounts.values()].filter((one) => one.party === party).map(accountFacts)),
  simulate_bank_account_disconnection: (state, action) =>
    onAccount(state, action, (account) => {
      account.connection = action.connection ?? 'disconnected'
      return accountFacts(account)
    }),
  create_deposit: (state, action) => begin(state, action, 'deposit'),
  create_withdrawal: (state, action) => begin(state, action, 'withdrawal'),
  get_transfer: (state, action) => onTransfer(state, action, transferFacts),
  list_transfers: ({ transfers }, { party }) =>
    pageOf([...transfers.values()].filter((one) => one.party === party).map(transferFacts)),
  simulate_transfer_settlement: (state, action) =>
    onTransfer(state, action, (found) => act(state, found, 'PROCESSING', settle)),
  simulate_transfer_failure: (state, action) =>
    onTransfer(state, action, (found) =>
      act(state, found, 'PROCESSING', () => failIt(state, found, found.kind === 'deposit' ? 'R01' : 'R03')),
    ),
  simulate_transfer_return: (state, action) =>
    onTransfer(state, action, (found) =>
      act(state, found, 'COMPLETED', () => sendBack(state, found, found.kind === 'deposit' ? 'R10' : 'R02')),
    ),
}

function link({ accounts }: State, party: PartyName, chosen: (typeof tokens)[string] | undefined): Facts {
  if (chosen === undefined) return wrongValue('processorToken')
  const linked = chosen.links.map((lastFour): Facts => {
    const name = accountName(party, lastFour)
    const kind = lastFour === '1111' ? 'savings' : 'checking'
    // An account that is linked already keeps what it is, and its connection works again.
    const account: ModelAccount = { name, party, lastFour, kind, connection: 'active' }
    accounts.set(name, account)
    return accountFacts(account)
  })
  return pageOf([...linked, ...(chosen.rejects === undefined ? [] : [rejection(chosen.rejects)])])
}

const rejection = (reason: string): Facts => ({ type: 'rejection', name: reason })

function begin(state: State, action: Action, kind: ModelTransfer['kind']): Facts {
  const { party, amount = 0, method = 'standard', account = '' } = action
  const found = state.accounts.get(account)
  if (found === undefined || found.party !== party) {
    return refused('not_found', 404, '/data/attributes/externalAccountId')
  }
  if (kind === 'deposit' && found.connection !== 'active') return conflict
  const needs = kind === 'withdrawal' ? amount : 0
  if (needs > walletOf(state, party).available) return refused('conflict', 409, '/data/attributes/amount')
  const made: ModelTransfer = {
    name: madeBy(action),
    ...{ party, kind, amount, method, account },
    status: 'IN_REVIEW',
    next: null,
    why: null,
  }
  state.transfers.set(made.name, made)
  const limit = state.customers.get(party)?.grant?.limit ?? null
  if (limit === null || amount <= limit) submit(state, made)
  else {
    const name = approvalOf(made.name)
    const carryOut = () => submit(state, made)
    state.approvals.set(name, { name, of: made, party, needs, carryOut, status: 'pending', limit, told: false })
  }
  return transferFacts(made)
}

/** The bank has it; what is to leave a wallet is put aside. */
function submit(state: State, transfer: ModelTransfer): void {
  const { kind, amount, method, party, account } = transfer
  transfer.status = 'PROCESSING'
  if (kind === 'withdrawal') walletOf(state, party).available -= amount
  const lastFour = state.accounts.get(account ?? '')?.lastFour ?? ''
  const other = unusual[lastFour]
  const fails = other?.kind === kind && other.does === 'fails'
  transfer.next = {
    atMs: arrivalMs(kind, method, state.nowMs),
    does: fails ? 'fails' : 'settles',
    code: fails ? other.code : null,
  }
}

function arrivalMs(kind: ModelTransfer['kind'], method: ModelTransfer['method'], nowMs: number): number {
  if (method === 'instant') return nowMs + 5 * 60_000
  if (method === 'standard') return clearedAtMs(nowMs, kind === 'deposit' ? 2 : 1)
  const arrival = nowMs + 2 * 60 * 60_000
  return dateOf(arrival) === dateOf(nowMs) && isBankingDay(nowMs) ? arrival : clearedAtMs(nowMs, 1)
}

/** @param atMs when the bank did it */
function settle(state: State, transfer: ModelTransfer, atMs = state.nowMs): void {
  const { kind, amount, party, account } = transfer
  const wallet = walletOf(state, party)
  if (kind === 'deposit') move(wallet, amount)
  else wallet.total -= amount
  transfer.status = 'COMPLETED'
  const other = unusual[state.accounts.get(account ?? '')?.lastFour ?? '']
  const returns = other?.kind === kind && other.does === 'returns'
  transfer.next = returns ? { atMs: clearedAtMs(atMs, 2), does: 'returns', code: other.code } : null
}

function failIt(state: State, transfer: ModelTransfer, code: string): void {
  const { kind, amount, party } = transfer
  if (kind === 'withdrawal') walletOf(state, party).available += amount
  transfer.status = 'FAILED'
  transfer.why = code
  transfer.next = null
}

/** What a bank takes back of a deposit may be spent already: the wallet is below zero then. */
function sendBack(state: State, transfer: ModelTransfer, code: string): void {
  const { kind, amount, party } = transfer
  move(walletOf(state, party), kind === 'deposit' ? -amount : amount)
  transfer.status = 'RETURNED'
  transfer.why = code
  transfer.next = null
}

/** What banks do by themselves as time passes; what was settled may be due to be returned as well. */
export function letBanksAct(state: State): void {
  for (const transfer of state.transfers.values()) {
    for (let { next } = transfer; next !== null && next.atMs <= state.nowMs; next = transfer.next) {
      if (next.does === 'settles') settle(state, transfer, next.atMs)
      else if (next.does === 'fails') failIt(state, transfer, next.code ?? '')
      else sendBack(state, transfer, next.code ?? '')
    }
  }
}

type Step = (state: State, transfer: ModelTransfer) => void

function act(state: State, transfer: ModelTransfer, from: ModelTransfer['status'], step: Step): Facts {
  if (transfer.status !== from) return conflict
  step(state, transfer)
  return transferFacts(transfer)
}

function onAccount({ accounts }: State, { subject, party }: Action, rule: (found: ModelAccount) => Facts): Facts {
  const found = accounts.get(subject ?? '')
  return found === undefined || found.party !== party ? notFound : rule(found)
}

function onTransfer({ transfers }: State, { subject, party }: Action, rule: (found: ModelTransfer) => Facts): Facts {
  const found = transfers.get(subject ?? '')
  return found === undefined || found.party !== party ? notFound : rule(found)
}

export function accountFacts({ name, connection, kind }: ModelAccount): AccountFacts {
  return { type: 'externalAccount', name, status: 'active', connection, kind }
}

export function transferFacts(transfer: ModelTransfer): TransferFacts {
  const { name, kind, status, amount, method, account, next, why } = transfer
  const due = status !== 'PROCESSING' || next === null ? null : method === 'standard' ? dateOf(next.atMs) : 'in hours'
  return { type: 'transfer', name, kind, status, amount, currency: 'USD', method, account, due, why }
}

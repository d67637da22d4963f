import { type Action, isInvited, type PartyName } from '../action.ts'
import type { Facts, TransactionFacts } from '../facts.ts'
import type { Plan } from './billing.ts'

export interface Balance {
  available: number
  total: number
}

/** What there is at the start; a target without a connected customer has no money of one. */
export interface Start {
  own: Balance
  customer: Balance | undefined
  /** The service's time; 0 where days decide nothing. */
  clockMs?: number
}

export interface ModelCard {
  name: string
  party: PartyName
  merchant: string
  maximum: number
  minutes: number
  expiresAtMs: number
  used: boolean
  frozen: boolean
  transactions: ModelTransaction[]
}

export interface ModelTransaction extends Omit<TransactionFacts, 'type' | 'wallet' | 'holdHours' | 'currency'> {
  party: PartyName
  holdExpiresAtMs: number | null
}

export interface ModelPayment {
  name: string
  sender: string
  /** Whose wallet pays; null where a card does, which touches no wallet of the sender's. */
  wallet: PartyName | null
  /** Who is paid; of somebody unknown, the name that the run gave them. */
  payee: string
  /** Null until the recipient is known to the service. */
  recipient: string | null
  amount: number
  status: 'IN_REVIEW' | 'PENDING_CLAIM' | 'COMPLETED' | 'CANCELED' | 'APPROVAL_DENIED'
  /** The agent acted for the sender. */
  delegated: boolean
  /** The request that it fulfills. */
  request: string | null
}

/** What a bank still does with money: at which moment, and with which code where it does not go through. */
interface AtBank {
  atMs: number
  does: 'settles' | 'fails' | 'returns'
  code: string | null
}

export interface ModelTransfer {
  name: string
  party: PartyName
  kind: 'deposit' | 'withdrawal'
  status: 'IN_REVIEW' | 'PROCESSING' | 'COMPLETED' | 'FAILED' | 'RETURNED' | 'CANCELED' | 'APPROVAL_DENIED'
  amount: number
  method: 'standard' | 'instant' | 'wire'
  /** Null where the sandbox gave the money. */
  account: string | null
  next: AtBank | null
  why: string | null
}

export interface ModelAccount {
  name: string
  party: PartyName
  lastFour: string
  kind: 'checking' | 'savings'
  connection: 'active' | 'login_required' | 'disconnected'
}

export interface ModelRequest {
  name: string
  party: PartyName
  /** Who is asked; of somebody unknown, the name that the run gave them. */
  payee: string
  payer: string | null
  amount: number
  status: 'OPEN' | 'PROCESSING' | 'COMPLETED' | 'CANCELED' | 'DECLINED' | 'EXPIRED'
  payment: string | null
  expiresAtMs: number
}

export interface ModelApproval {
  name: string
  /** What waits for it. */
  of: ModelPayment | ModelTransfer
  party: PartyName
  /** What its wallet must have for it. */
  needs: number
  /** Lets it happen. */
  carryOut: () => void
  status: 'pending' | 'approved' | 'denied' | 'canceled'
  limit: number
  /** A list has shown it: from then on the run knows its id. */
  told: boolean
}

export interface ModelSubscription extends Plan {
  name: string
  party: PartyName
  /** How long its checkout stays open. */
  minutes: number
}

export interface ModelInvitation {
  name: string
  customer: PartyName
  status: 'PENDING' | 'ACCEPTED' | 'DECLINED' | 'EXPIRED' | 'CANCELED'
  /** Why it was canceled. */
  reason: 'DEVELOPER_REVOKED' | 'CONNECTION_ESTABLISHED' | null
  permissions: readonly string[]
  limit: number | null
  days: number
  expiresAtMs: number
}

/** A party that was made up to be invited. */
export interface ModelCustomer {
  name: PartyName
  /** What it granted to the agent; undefined as long as it never did. */
  grant: { permissions: readonly string[]; limit: number | null; active: boolean } | undefined
}

export interface State {
  nowMs: number
  wallets: Map<PartyName, Balance>
  cards: Map<string, ModelCard>
  transactions: Map<string, ModelTransaction>
  /** The authorizations whose hold has not ended. */
  onHold: Set<ModelTransaction>
  payments: Map<string, ModelPayment>
  approvals: Map<string, ModelApproval>
  subscriptions: Map<string, ModelSubscription>
  invitations: Map<string, ModelInvitation>
  customers: Map<string, ModelCustomer>
  transfers: Map<string, ModelTransfer>
  accounts: Map<string, ModelAccount>
  requests: Map<string, ModelRequest>
  /** The customers whose wallet was read, so that the run knows its id. */
  shownWallets: Set<PartyName>
  /** The unknown people who claimed or paid something, and have been known since. */
  joined: Set<string>
  records: Map<string, { action: Action; facts: Facts; finishedAtMs: number }>
  /** Balances of wallets that all agents use depend on the order of calls, and the order is known. */
  ordered: boolean
}

export type Rule = (state: State, action: Action) => Facts

export const dayMs = 24 * 60 * 60 * 1000

export function walletOf({ wallets }: State, party: PartyName): Balance {
  const found = wallets.get(party)
  if (found === undefined) throw new Error(`Bug: ${party} has no wallet.`)
  return found
}

export function isParty(name: string): name is PartyName {
  return name === 'own' || name === 'customer' || isInvited(name)
}

/** Somebody unknown has an account from now on, and is the payer of what they were asked. */
export function join({ joined, requests }: State, name: string): void {
  joined.add(name)
  for (const request of requests.values()) {
    if (request.payee === name && request.status === 'OPEN') request.payer = name
  }
}

export function move(wallet: Balance, cents: number): void {
  wallet.available += cents
  wallet.total += cents
}

export function madeBy({ makes, tool }: Action): string {
  if (makes === undefined) throw new Error(`Bug: ${tool} has no name for what it makes.`)
  return makes
}

export function refused(code: string, status: number, pointer: string | null = null): Facts {
  return { type: 'error', code, status, pointer }
}

export const conflict = refused('conflict', 409)
export const notFound = refused('not_found', 404)
/** An attribute whose value breaks its rule (docs/service.md#400-or-422). */
export const wrongValue = (field: string) => refused('invalid_value', 422, `/data/attributes/${field}`)

/** A page of records; within one millisecond the service's own order is open, so they stand in that of their names. */
export function pageOf(items: Facts[]): Facts {
  const nameOf = (facts: Facts) => ('name' in facts ? facts.name : '')
  return { type: 'page', items: items.sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)) }
}

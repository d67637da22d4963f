import type { Action, PartyName } from '../action.ts'
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
  sender: PartyName
  /** Who is paid; of somebody unknown, the name that the run gave them. */
  payee: string
  /** Null until the recipient is known to the service. */
  recipient: string | null
  amount: number
  status: 'IN_REVIEW' | 'PENDING_CLAIM' | 'COMPLETED' | 'CANCELED' | 'APPROVAL_DENIED'
}

export interface ModelApproval {
  name: string
  payment: ModelPayment
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
  /** The unknown people who claimed a payment, and have been known since. */
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

export function move(wallet: Balance, cents: number): void {
  wallet.available += cents
  wallet.total += cents
}

export function walletName(party: PartyName): string {
  return `${party}-wallet`
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

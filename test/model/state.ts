import type { DayByDay } from '../subscriptions/day-by-day.ts'
import { Purchases } from '../support/purchases.ts'
import type { OtherParty } from '../support/world.ts'

/** The expected state of the service, computed only from the actions of two parties that pay each other. */
export interface State {
  parties: readonly [Party, Party]
  /** The payment requests of the parties and their customers. */
  requests: PaymentRequest[]
  nowMs: number
}

/** The index of a party in `State.parties`. */
export type Side = 0 | 1

/** The amounts that an agent may spend without an approval, in cents. Days and months are in UTC. */
export interface Limits {
  perTransaction?: number
  perDay?: number
  perMonth?: number
}

/** A party, or the account of a customer. Lists begin with the oldest record. Amounts are in cents, times in ms. */
export interface Party extends OtherParty {
  side: Side
  fundsCents: number
  /** The limits of the party's agent. In a customer's account, the limits of the agent's grant. */
  limits: Limits
  /** The cards, the card purchases, and the balance. Payments and transfers also change the balance. */
  purchases: Purchases
  /** The payments and wires that this party sent. */
  payments: Payment[]
  approvals: Approval[]
  /** The movements of money into and out of the wallet. */
  moves: Move[]
  /** The strangers who joined by claiming a payment or paying a request. Later payments to them need no claim. */
  joined: Set<number>
  subscriptions: Subscription[]
  accounts: Account[]
  transfers: Transfer[]
  invitations: Invitation[]
  customers: Customer[]
  grants: Grant[]
  agents: { id: string; status: 'ACTIVE' | 'REVOKED' }[]
  agentKeys: { id: string; agentId: string; status: 'ACTIVE' | 'REVOKED' }[]
  apiKeys: { id: string; status: 'ACTIVE' | 'REVOKED' }[]
}

/** A person who accepted an invitation. Agents with a grant from the person act on the person's account. */
export interface Customer {
  id: string
  person: number
  account: Party
}

export interface Grant extends GrantTerms {
  customerId: string
  agentId: string
  status: 'ACTIVE' | 'REVOKED'
}

interface GrantTerms {
  permissions: readonly string[]
  limits: Limits
}

/** A party, the number of a stranger (see `payeeOf`), or the bank account that receives a wire. */
export type Payee = Party | number | 'bank'

export interface Payment {
  id: string
  amount: number
  status: string
  by: 'agent' | 'party'
  to: Payee
  /** Whether the payee can receive the payment without claiming it, as decided when the payment was created. */
  isKnown: boolean
  createdAtMs: number
  /** The payment request that this payment fulfills. */
  request?: PaymentRequest
}

export interface PaymentRequest {
  id: string
  amount: number
  status: string
  from: Party
  payer: Party | number
  expiresAtMs: number
}

export interface Account {
  id: string
  lastFour: string
  connection: 'active' | 'login_required' | 'disconnected'
}

/** A deposit from a bank account, or a withdrawal to one. */
export interface Transfer {
  id: string
  kind: 'deposit' | 'withdrawal'
  amount: number
  status: string
  by: 'agent' | 'party'
  createdAtMs: number
  account: Account
  method: 'standard' | 'instant' | 'wire'
  /** The bank's next step and its time; null if the bank has no step left. */
  next: { outcome: 'settle' | 'fail' | 'return'; atMs: number } | null
}

export interface Subscription {
  id: string
  unit: 'week' | 'month'
  count: number
  /** The amount of each payment. A subscription without an end has a single amount for all its payments. */
  amounts: readonly number[]
  createdAtMs: number
  /** The subscription's status until the payer completes the checkout. */
  checkoutStatus: 'pending' | 'canceled'
  /** How many times a card was declined at the checkout. */
  declines: number
  /** The model of the payments; undefined until the checkout is complete. */
  plan: DayByDay | undefined
  /** The number of charges that are already in the party's `moves`. */
  bookedCharges: number
}

export interface Approval {
  /** Empty until the id has been read from a list. */
  id: string
  subject: Payment | Transfer
  status: 'pending' | 'approved' | 'denied' | 'canceled'
  /** For each exceeded limit, the total that exceeds it. */
  over: number[]
}

export interface Move {
  /** The id of the payment, transfer or subscription that moved the money. */
  sourceId: string
  amount: number
  direction: 'INBOUND' | 'OUTBOUND'
  type: 'payment' | 'transfer'
  status: 'COMPLETED' | 'RETURNED'
  atMs: number
  /** The id of the other party; undefined for strangers, payers of subscriptions, and banks. */
  counterparty: string | undefined
}

export interface Invitation extends GrantTerms {
  id: string
  person: number
  agentId: string
  status: string
  cancelReason: string | null
  expiresAtMs: number
}

/** A request, the expected status, and the changes to the model if the request succeeds. */
export interface Step {
  method?: 'POST' | 'DELETE'
  path: string
  by: 'agent' | 'party'
  /** If undefined, the request has no body. */
  attributes?: Record<string, unknown>
  /** Only a request that creates an agent's key has relationships. */
  relationships?: object
  /**
   * The expected status, or a function that applies the request to the model and returns the expected status. The
   * function is called after the service has answered. `makes` is the id of the record that the service created.
   */
  expected: number | ((makes: { makes?: string }) => number)
  // biome-ignore lint/suspicious/noExplicitAny: answers have no static type.
  done?: (data: any) => void
}

export const partnerOf = ({ side }: Party, { parties }: State): Party => parties[side === 0 ? 1 : 0]
export const emailOf = ({ partyId }: Party, person: number) => `person${person}.${partyId}@example.com`
export const payeeOf = ({ partyId }: Party, stranger: number) => `payee${stranger}.${partyId}@example.com`
/** Returns the party and the accounts of its customers. */
export const withCustomers = (self: Party): Party[] => [self, ...self.customers.map(({ account }) => account)]
/** Returns the customer's grant for the agent `self.agentId`, whether the grant is active or revoked. */
export const grantFor = (self: Party, customer: Customer): Grant | undefined =>
  self.grants.find(({ customerId, agentId }) => customerId === customer.id && agentId === self.agentId)

export const dayMs = 24 * 60 * 60 * 1000
export const checkoutLifetimeMs = dayMs
export const thirtyDaysMs = 30 * dayMs

/** Returns a party with its initial funds and no records. */
export function newParty(identity: OtherParty, side: Side, fundsCents: number, limits: Limits, nowMs: number): Party {
  return {
    ...identity,
    side,
    fundsCents,
    limits,
    purchases: new Purchases(fundsCents, nowMs),
    payments: [],
    approvals: [],
    moves: [],
    joined: new Set(),
    subscriptions: [],
    accounts: [],
    transfers: [],
    invitations: [],
    customers: [],
    grants: [],
    agents: [],
    agentKeys: [],
    apiKeys: [],
  }
}

/**
 * Returns the item that `pick` selects, or undefined for an empty list. If `pick` is a multiple of 4, or if `fits`
 * accepts no item, selects among all items. Otherwise, selects among the items that `fits` accepts.
 */
export function chosen<T>(all: readonly T[], pick: number, fits: (one: T) => boolean = () => true): T | undefined {
  const fitting = pick % 4 === 0 ? [] : all.filter(fits)
  const from = fitting.length === 0 ? all : fitting
  return from[pick % Math.max(1, from.length)]
}

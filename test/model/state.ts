import type { DayByDay } from '../subscriptions/day-by-day.ts'
import { Purchases } from '../support/purchases.ts'
import type { OtherParty } from '../support/world.ts'

/** The expected state of the service, computed only from the actions of two parties that pay each other. */
export interface State {
  parties: readonly [Party, Party]
  /** Everybody's payment requests. */
  requests: PaymentRequest[]
  nowMs: number
}

/** The index of a party. */
export type Side = 0 | 1

/** The amounts that an agent may spend without an approval, in cents. Days and months are in UTC. */
export interface Limits {
  perTransaction?: number
  perDay?: number
  perMonth?: number
}

/** A party. Its lists begin with the oldest record; amounts are in cents, times in ms. */
export interface Party extends OtherParty {
  side: Side
  fundsCents: number
  /** The limits of the agent; for a customer, those of the grant. */
  limits: Limits
  /** The cards, their purchases, and the balance that purchases and payments share. */
  purchases: Purchases
  /** The payments and wires that this party sent. */
  payments: Payment[]
  approvals: Approval[]
  /** The movements of money, each with the payment, transfer or subscription that caused it. */
  moves: Move[]
  /** The strangers who have claimed or paid something. The next payment to them arrives at once. */
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

/** A person who accepted an invitation, and the person's account, on which agents with a grant act. */
export interface Customer {
  id: string
  person: number
  account: Party
}

export interface Grant extends Granted {
  customerId: string
  agentId: string
  status: 'ACTIVE' | 'REVOKED'
}

interface Granted {
  permissions: readonly string[]
  limits: Limits
}

/** A party, a stranger with an address, or the bank account of a wire. */
export type Payee = Party | number | 'bank'

export interface Payment {
  id: string
  amount: number
  status: string
  by: 'agent' | 'party'
  to: Payee
  /** Whether the payee was known when the payment was created. */
  isKnown: boolean
  createdAtMs: number
  /** The payment request that this payment pays. */
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

/** A deposit or withdrawal at a bank. */
export interface Transfer {
  id: string
  kind: 'deposit' | 'withdrawal'
  amount: number
  status: string
  by: 'agent' | 'party'
  createdAtMs: number
  account: Account
  method: 'standard' | 'instant' | 'wire'
  /** The bank's next step, and its time. */
  next: { outcome: 'settle' | 'fail' | 'return'; atMs: number } | null
}

export interface Subscription {
  id: string
  unit: 'week' | 'month'
  count: number
  /** The amount of each payment. A single amount applies to all payments of endless terms. */
  amounts: readonly number[]
  createdAtMs: number
  /** The status before anybody has paid at the checkout. */
  unpaid: 'pending' | 'canceled'
  declined: number
  plan: DayByDay | undefined
  /** The number of booked charges. */
  booked: number
}

export interface Approval {
  /** Empty until a list has shown the id. */
  id: string
  subject: Payment | Transfer
  status: 'pending' | 'approved' | 'denied' | 'canceled'
  /** The totals that exceed the limits. */
  over: number[]
}

export interface Move {
  sourceId: string
  amount: number
  direction: 'INBOUND' | 'OUTBOUND'
  type: 'payment' | 'transfer'
  status: 'COMPLETED' | 'RETURNED'
  atMs: number
  /** The party on the other side, if it is part of the model. */
  counterparty: string | undefined
}

export interface Invitation extends Granted {
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
  /** The relationships, which only one kind of request has. */
  relationships?: object
  /** A function applies the change to the purchases and returns the status. `makes` is the id of the created record. */
  expected: number | ((makes: { makes?: string }) => number)
  // biome-ignore lint/suspicious/noExplicitAny: the answer's parts are read by name.
  done?: (data: any) => void
}

export const partnerOf = ({ side }: Party, { parties }: State): Party => parties[side === 0 ? 1 : 0]
export const emailOf = ({ partyId }: Party, person: number) => `person${person}.${partyId}@example.com`
export const payeeOf = ({ partyId }: Party, stranger: number) => `payee${stranger}.${partyId}@example.com`
/** Returns the party and the customers that it acts for. */
export const withCustomers = (self: Party): Party[] => [self, ...self.customers.map(({ account }) => account)]
/** Returns the grant that lets the party's own agent act for the customer. */
export const grantFor = (self: Party, customer: Customer): Grant | undefined =>
  self.grants.find(({ customerId, agentId }) => customerId === customer.id && agentId === self.agentId)

export const dayMs = 24 * 60 * 60 * 1000
export const checkoutLifetimeMs = dayMs
export const monthOfDaysMs = 30 * dayMs

/** Returns a party that has only its initial money. */
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

/** Returns the item that the number chooses, usually a fitting one. Returns undefined for an empty list. */
export function chosen<T>(all: readonly T[], pick: number, fits: (one: T) => boolean = () => true): T | undefined {
  const fitting = pick % 4 === 0 ? [] : all.filter(fits)
  const from = fitting.length === 0 ? all : fitting
  return from[pick % Math.max(1, from.length)]
}

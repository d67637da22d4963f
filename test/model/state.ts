import type { Purchases } from '../support/purchases.ts'
import type { OtherParty } from '../support/world.ts'

/** Two parties that pay each other, and all that the service should hold for them, told by nothing but what was done. */
export interface State {
  parties: readonly [Party, Party]
  nowMs: number
}

/** The index of a party. */
export type Side = 0 | 1

/** What an agent may spend without an approval, in cents. Days and months are UTC. */
export interface Limits {
  perTransaction: number
  perDay?: number
  perMonth?: number
}

/** Each list has the oldest first. Amounts are in cents, times in ms. */
export interface Party extends OtherParty {
  side: Side
  fundsCents: number
  /** The agent's. */
  limits: Limits
  /** The cards, what was bought with them, and the balance that purchases and payments share. */
  purchases: Purchases
  /** The payments and wires that this party sent. */
  payments: Payment[]
  approvals: Approval[]
  /** Money in and out, by the payment, transfer or subscription that moved it. */
  moves: Move[]
  /** The strangers of this party that claimed a payment, so that the next one arrives at once. */
  joined: Set<number>
  subscriptions: { id: string; status: string; endsAtMs: number }[]
  invitations: Invitation[]
  customers: { id: string; person: number }[]
  grants: { customerId: string; agentId: string; status: 'ACTIVE' | 'REVOKED' }[]
  agents: { id: string; status: 'ACTIVE' | 'REVOKED' }[]
  agentKeys: { id: string; agentId: string; status: 'ACTIVE' | 'REVOKED' }[]
  apiKeys: { id: string; status: 'ACTIVE' | 'REVOKED' }[]
}

/** The other party, a stranger with an address, or a bank account. */
export type Payee = 'partner' | 'bank' | number

export interface Payment {
  id: string
  amount: number
  status: string
  by: 'agent' | 'party'
  to: Payee
  /** Whether the payee was known when the payment was created. */
  known: boolean
  createdAtMs: number
}

export interface Approval {
  /** Empty until a list shows it. */
  id: string
  payment: Payment
  status: 'pending' | 'approved' | 'denied' | 'canceled'
  /** The amounts that are beyond the limits. */
  over: number[]
}

export interface Move {
  of: string
  amount: number
  direction: 'INBOUND' | 'OUTBOUND'
  type: 'payment' | 'transfer'
  isPartner: boolean
}

export interface Invitation {
  id: string
  person: number
  agentId: string
  status: string
  cancelReason: string | null
  expiresAtMs: number
}

/** A request, the status it should get, and what its success changes in the model. */
export interface Step {
  method?: 'POST' | 'DELETE'
  path: string
  by: 'agent' | 'party'
  /** Undefined: no body. */
  attributes?: object
  /** The relationships, for the one request that names some. */
  relationships?: object
  /** A function makes the change in the purchases, with the id of what the service made, and returns the status. */
  expected: number | ((makes: { makes?: string }) => number)
  // biome-ignore lint/suspicious/noExplicitAny: the answer's parts are read by name.
  done?: (data: any) => void
}

export const partnerOf = ({ side }: Party, { parties }: State): Party => parties[side === 0 ? 1 : 0]
export const emailOf = ({ partyId }: Party, person: number) => `person${person}.${partyId}@example.com`
export const payeeOf = ({ partyId }: Party, stranger: number) => `payee${stranger}.${partyId}@example.com`

const minuteMs = 60_000
export const checkoutLifetimeMs = 24 * 60 * minuteMs
export const invitationLifetimeMs = 30 * 24 * 60 * minuteMs

/** Applies what time alone does. */
export function passTo(state: State, nowMs: number): void {
  state.nowMs = nowMs
  for (const { purchases, subscriptions, invitations } of state.parties) {
    purchases.passTo(nowMs)
    for (const one of subscriptions) if (one.status === 'pending' && nowMs >= one.endsAtMs) one.status = 'canceled'
    for (const one of invitations) if (one.status === 'PENDING' && nowMs >= one.expiresAtMs) one.status = 'EXPIRED'
  }
}

/** Returns the item that a number chooses, mostly one that fits where there are any; undefined where there is none. */
export function chosen<T>(all: readonly T[], pick: number, fits: (one: T) => boolean = () => true): T | undefined {
  const fitting = pick % 4 === 0 ? [] : all.filter(fits)
  const from = fitting.length === 0 ? all : fitting
  return from[pick % Math.max(1, from.length)]
}

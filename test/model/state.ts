import type { Purchases } from '../support/purchases.ts'

/** What the service should hold for one party, told by nothing but what was done. Oldest first, cents and ms. */
export interface State {
  /** In the addresses of this run's people. */
  run: number
  partyId: string
  agentId: string
  walletId: string
  shopPartyId: string
  /** The cards and what was bought with them, and the balance that they and the payments share. */
  purchases: Purchases
  shopFunds: number
  payments: Payment[]
  approvals: { id: string; payment: Payment; status: 'pending' | 'approved' | 'denied' | 'canceled' }[]
  /** Money in and out, by the payment or transfer that it was. */
  moves: {
    of: string
    amount: number
    direction: 'INBOUND' | 'OUTBOUND'
    type: 'payment' | 'transfer'
    toShop: boolean
  }[]
  /** Who was unknown when first paid, and took it. */
  joined: Set<0 | 1>
  subscriptions: { id: string; status: string; endsAtMs: number }[]
  invitations: Invitation[]
  customers: { id: string; person: number }[]
  grants: { customerId: string; agentId: string; status: 'ACTIVE' | 'REVOKED' }[]
  agents: { id: string; status: 'ACTIVE' | 'REVOKED' }[]
  agentKeys: { id: string; agentId: string; status: 'ACTIVE' | 'REVOKED' }[]
  apiKeys: { id: string; status: 'ACTIVE' | 'REVOKED' }[]
}

export interface Payment {
  id: string
  amount: number
  status: string
  to: 'shop' | 0 | 1
  known: boolean
}

export interface Invitation {
  id: string
  person: number
  agentId: string
  status: string
  cancelReason: string | null
  expiresAtMs: number
}

/** A request, the status it should get, and what the model makes of its success. */
export interface Step {
  method?: 'DELETE'
  path: string
  by: 'agent' | 'party'
  /** Undefined: no body. */
  attributes?: object
  /** The relationships, for the one request that names some. */
  relationships?: object
  /** What tells it by the purchases makes the change in them, by the id of what the service made. */
  expected: number | ((makes: { makes?: string }) => number)
  // biome-ignore lint/suspicious/noExplicitAny: the answer's parts are read by name.
  done?: (data: any) => void
}

export const emailOf = ({ run }: State, person: number) => `person${person}.run${run}@example.com`
export const payeeOf = ({ run }: State, person: number) => `payee${person}.run${run}@example.com`

const minuteMs = 60_000
export const checkoutLifetimeMs = 24 * 60 * minuteMs
export const invitationLifetimeMs = 30 * 24 * 60 * minuteMs

/** What time alone has done. */
export function settle(state: State, nowMs: number): void {
  state.purchases.passTo(nowMs)
  for (const one of state.subscriptions) if (one.status === 'pending' && nowMs >= one.endsAtMs) one.status = 'canceled'
  for (const one of state.invitations) if (one.status === 'PENDING' && nowMs >= one.expiresAtMs) one.status = 'EXPIRED'
}

/** The one that a number chooses, mostly of those that fit where there are any; undefined where there is none. */
export function chosen<T>(all: readonly T[], pick: number, fits: (one: T) => boolean = () => true): T | undefined {
  const fitting = pick % 4 === 0 ? [] : all.filter(fits)
  const from = fitting.length === 0 ? all : fitting
  return from[pick % Math.max(1, from.length)]
}

/** What the service should hold for one party, told by nothing but what was done. Oldest first, cents and ms. */
export interface State {
  /** In the addresses of this run's people. */
  run: number
  partyId: string
  agentId: string
  walletId: string
  shopPartyId: string
  available: number
  held: number
  shopFunds: number
  cards: { id: string; maximum: number; used: boolean; expiresAtMs: number }[]
  cardTransactions: CardTransaction[]
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

export interface CardTransaction {
  id: string
  cardId: string
  status: string
  amount: number
  held: number
  captured: number
  refunded: number
  decline: string | null
  holdEndsAtMs: number
}

export interface Payment {
  id: string
  amount: number
  status: string
  to: 'shop' | 0 | 1
  known: boolean
  held: number
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
  expected: number
  // biome-ignore lint/suspicious/noExplicitAny: the answer's parts are read by name.
  done?: (data: any) => void
}

export const emailOf = ({ run }: State, person: number) => `person${person}.run${run}@example.com`
export const payeeOf = ({ run }: State, person: number) => `payee${person}.run${run}@example.com`

const minuteMs = 60_000
export const cardLifetimeMs = 60 * minuteMs
export const checkoutLifetimeMs = 24 * 60 * minuteMs
export const holdLifetimeMs = 7 * 24 * 60 * minuteMs
export const invitationLifetimeMs = 30 * 24 * 60 * minuteMs

/** What time alone has done. */
export function settle(state: State, nowMs: number): void {
  for (const one of state.cardTransactions)
    if (one.status === 'authorized' && nowMs >= one.holdEndsAtMs) release(state, one)
  for (const one of state.subscriptions) if (one.status === 'pending' && nowMs >= one.endsAtMs) one.status = 'canceled'
  for (const one of state.invitations) if (one.status === 'PENDING' && nowMs >= one.expiresAtMs) one.status = 'EXPIRED'
}

/** The merchant gave the hold up. */
export function release(state: State, purchase: CardTransaction): void {
  state.held -= purchase.held
  state.available += purchase.held
  Object.assign(purchase, { status: 'reversed', held: 0 })
}

/** The one that a number chooses, mostly of those that fit where there are any; undefined where there is none. */
export function chosen<T>(all: readonly T[], pick: number, fits: (one: T) => boolean = () => true): T | undefined {
  const fitting = pick % 4 === 0 ? [] : all.filter(fits)
  const from = fitting.length === 0 ? all : fitting
  return from[pick % Math.max(1, from.length)]
}

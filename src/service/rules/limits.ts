import type { PaymentStatus } from './payments.ts'

/**
 * The maximum amounts that can be spent without approval, in cents. Null or absent means no limit. Days and months are
 * in UTC.
 */
export interface Limits {
  perTransaction?: number | null | undefined
  perDay?: number | null | undefined
  perMonth?: number | null | undefined
}

/** The owner of a set of limits: an agent, a customer's grant to an agent, or the paying party (`account`). */
export type LimitOwner = 'agent' | 'grant' | 'account'

interface Spending {
  /** Null if the spender is not an agent. */
  agentId: string | null
  /** The party that the agent belongs to. */
  agentPartyId: string | undefined
  /** The party whose money is spent. */
  partyId: string
}

/**
 * Returns the owners of the limits that apply to some spending. The agent's own limits apply only when it spends its
 * own party's money. When it spends a customer's money, the limits of the customer's grant apply instead
 * (docs/service.md#spending-limits).
 */
export function limitsOf({ agentId, agentPartyId, partyId }: Spending): readonly LimitOwner[] {
  if (agentId === null) return ['account']
  return [agentPartyId === partyId ? 'agent' : 'grant', 'account']
}

interface PaymentFacts {
  kind: string
  status: PaymentStatus
  method: string | null
  amountCents: number
  externalAccountId: string | null
}

/**
 * Returns how much a payment counts toward the limits, in cents. The result is 0 if the payment is in review, failed,
 * was denied or undone, or only moved money between wallets of the party. Deposits from a linked bank account and
 * withdrawals to it count like payments. Money that the sandbox adds to a wallet does not count, because it comes from
 * no bank account.
 */
export function paymentSpendingCents({ kind, status, method, amountCents, externalAccountId }: PaymentFacts): number {
  const isSpending = outgoingKinds.has(kind) || externalAccountId !== null
  // A payment request that is paid by card takes nothing from a wallet.
  return isSpending && method !== 'card' && !uncountedStatuses.has(status) ? amountCents : 0
}

const outgoingKinds: ReadonlySet<string> = new Set(['payment', 'wire'])
const uncountedStatuses: ReadonlySet<PaymentStatus> = new Set([
  'FAILED',
  'CANCELED',
  'APPROVAL_DENIED',
  'IN_REVIEW',
  'RETURNED',
])

/**
 * Returns how much a card transaction counts toward the limits, in cents. For a purchase, this is the sum of the held
 * and captured amounts; for a refund, it is 0.
 */
export function purchaseSpendingCents(purchase: { kind: string; heldCents: number; capturedCents: number }): number {
  return purchase.kind === 'purchase' ? purchase.heldCents + purchase.capturedCents : 0
}

/** The amounts that were already spent on the UTC day and in the UTC month of a new payment, in cents. */
export interface Spent {
  dayCents: number
  monthCents: number
}

/** An exceeded limit: the amount of the limit, and the total that would exceed it (docs/service.md#approval). */
export interface LimitReason {
  type: 'limitExceeded'
  limitType: 'perTransactionAmount' | 'dailyAmount' | 'monthlyAmount'
  limitAmount: number
  actualAmount: number
  currency: 'USD'
}

/** The names of the limits in messages for people. */
export const limitWords = {
  perTransactionAmount: 'per transaction',
  dailyAmount: 'per day (UTC)',
  monthlyAmount: 'per month (UTC)',
} as const satisfies Record<LimitReason['limitType'], string>

/** Returns every limit that spending the amount would exceed. Reaching a limit exactly is allowed. */
export function limitsHit(limits: Limits, amountCents: number, spent: Spent): LimitReason[] {
  const windows = [
    ['perTransactionAmount', limits.perTransaction, amountCents],
    ['dailyAmount', limits.perDay, spent.dayCents + amountCents],
    ['monthlyAmount', limits.perMonth, spent.monthCents + amountCents],
  ] as const
  return windows.flatMap(([limitType, limitAmount, actualAmount]) =>
    limitAmount === null || limitAmount === undefined || actualAmount <= limitAmount
      ? []
      : [{ type: 'limitExceeded', limitType, limitAmount, actualAmount, currency: 'USD' }],
  )
}

/** Returns the limits as the JSON that the database stores; null if no limit is set. */
export function limitsColumn(limits: Limits | null | undefined): string | null {
  const { perTransaction = null, perDay = null, perMonth = null } = limits ?? {}
  if (perTransaction === null && perDay === null && perMonth === null) return null
  return JSON.stringify({ perTransaction, perDay, perMonth })
}

/** Returns whether the new limits allow any spending that the previous limits did not allow. */
export function isWider(after: Limits | null, before: Limits | null): boolean {
  const height = (limits: Limits | null, window: keyof Limits) => limits?.[window] ?? Number.POSITIVE_INFINITY
  return (['perTransaction', 'perDay', 'perMonth'] as const).some(
    (window) => height(after, window) > height(before, window),
  )
}

import type { ApprovalStatus } from './approvals.ts'
import type { PurchaseStatus } from './card-purchases.ts'
import type { InvitationStatus } from './customer-invitations.ts'
import type { PaymentStatus } from './payments.ts'
import type { ShopOrderStatus } from './shop-orders.ts'
import type { SubscriptionStatus } from './subscriptions.ts'

/**
 * What a change is called in the outbox (docs/service.md#events): the one table of it. What the service publishes has its
 * published name; cards, their transactions, subscriptions and transfers between wallets of a party are extensions, and so
 * are the steps that end in ¹ here.
 */
const paymentSteps = {
  // Whoever waits for somebody's review or for the bank is told by the approval, or at the end.
  CREATED: null,
  IN_REVIEW: null,
  PROCESSING: null,
  // ¹ It is approved, and waits for its recipient.
  PENDING_CLAIM: 'pending_claim',
  COMPLETED: 'completed',
  FAILED: 'failed',
  RETURNED: 'returned',
  CANCELED: 'canceled',
  APPROVAL_DENIED: 'approval_denied',
} as const satisfies Record<PaymentStatus, string | null>

const moneyWords = {
  payment: 'payment',
  deposit: 'deposit',
  wire: 'withdrawal',
  withdrawal: 'withdrawal',
  internal: 'transfer',
} as const

type Moved = { kind: keyof typeof moneyWords; status: PaymentStatus }
type MoneyWord = (typeof moneyWords)[keyof typeof moneyWords]
type PaymentStep = NonNullable<(typeof paymentSteps)[PaymentStatus]>
type MoneyEvent = `${MoneyWord}.${'created' | PaymentStep}`

/** What becomes of a payment or transfer; `before` is undefined for a new one. */
export function paymentEvents(before: Moved | undefined, { kind, status }: Moved): MoneyEvent[] {
  const word = moneyWords[kind]
  const step = before?.status === status ? null : paymentSteps[status]
  return [
    ...(before === undefined ? ([`${word}.created`] as const) : []),
    ...(step === null ? [] : ([`${word}.${step}`] as const)),
  ]
}

const approvalSteps = {
  pending: 'approval.required',
  approved: 'approval.approved',
  denied: 'approval.denied',
  canceled: 'approval.canceled',
} as const satisfies Record<ApprovalStatus, string>

type ApprovalEvent = (typeof approvalSteps)[ApprovalStatus]

export function approvalEvent(status: ApprovalStatus): ApprovalEvent {
  return approvalSteps[status]
}

const invitationSteps = {
  PENDING: 'agent_delegation_invitation.created',
  ACCEPTED: 'agent_delegation_invitation.accepted',
  DECLINED: 'agent_delegation_invitation.declined',
  CANCELED: 'agent_delegation_invitation.canceled',
  // ¹
  EXPIRED: 'agent_delegation_invitation.expired',
} as const satisfies Record<InvitationStatus, string>

type InvitationEvent = (typeof invitationSteps)[InvitationStatus]

export function invitationEvent(status: InvitationStatus): InvitationEvent {
  return invitationSteps[status]
}

interface Purchase {
  status: PurchaseStatus
  refundedCents: number
}
type PurchaseEvent = `card_transaction.${PurchaseStatus | 'updated'}`

/** What becomes of a purchase or refund; a purchase that a refund was made of keeps its status. */
export function purchaseEvent(before: Purchase | undefined, { status }: Purchase): PurchaseEvent {
  return before?.status === status ? 'card_transaction.updated' : `card_transaction.${status}`
}

type SubscriptionEvent = `subscription.${'created' | 'charged' | 'updated' | Exclude<SubscriptionStatus, 'pending'>}`

/** What billing made of a subscription: each charge, and then its new status. */
export function billingEvents(
  before: SubscriptionStatus,
  after: SubscriptionStatus,
  charges: number,
): SubscriptionEvent[] {
  const charged = Array.from({ length: charges }, () => 'subscription.charged' as const)
  if (after !== before && after !== 'pending') return [...charged, `subscription.${after}`]
  return charges > 0 ? charged : ['subscription.updated']
}

/** The customer is told of what it granted, the developer of what its agent lost: how it came is told by the invitation. */
type DelegationEvent = 'delegation.activated' | 'delegation.revoked' | 'agent_delegation.revoked'
/** What a person decided about a call that waited for them. */
type DecisionEvent = 'decision.agreed' | 'decision.refused'
type CardEvent = `agent_card.${'created' | 'used' | 'frozen' | 'unfrozen' | 'expired'}`

type ShopOrderEvent = `shop_order.${ShopOrderStatus | 'updated'}`

/** What becomes of an order at a shop of the sandbox. */
export function shopOrderEvent(before: ShopOrderStatus | undefined, status: ShopOrderStatus): ShopOrderEvent {
  return before === status ? 'shop_order.updated' : `shop_order.${status}`
}

/** Every type of event that is written here. */
export type EventType =
  | MoneyEvent
  | ApprovalEvent
  | InvitationEvent
  | PurchaseEvent
  | SubscriptionEvent
  | DelegationEvent
  | CardEvent
  | ShopOrderEvent
  | DecisionEvent
  | 'wallet.created'

import type { connectionStatuses, externalAccountStatuses } from '../../../tools/external-accounts.ts'
import type { paymentRequestStatuses } from '../../../tools/payment-requests.ts'
import type { ApprovalStatus } from './approvals.ts'
import type { PurchaseStatus } from './card-purchases.ts'
import type { InvitationStatus } from './customer-invitations.ts'
import { type EventType, isEventType } from './event-types.ts'
import type { PartyInvitationStatus } from './party-invitations.ts'
import type { PaymentStatus } from './payments.ts'
import type { ShopOrderStatus } from './shop-orders.ts'
import type { SubscriptionStatus } from './subscriptions.ts'

/** The second word of the event for each payment status; null for a status without an event. */
const paymentSteps = {
  // A payment in review gets no event, because its approval gets events. A transfer that the bank is processing gets no
  // event either.
  CREATED: null,
  IN_REVIEW: null,
  PROCESSING: null,
  // The payment was approved or needed no approval. The recipient must now claim it.
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

type MoneyWord = (typeof moneyWords)[keyof typeof moneyWords]
type MoneyEvent = Extract<EventType, `${MoneyWord}.${string}`>
type Moved = { kind: keyof typeof moneyWords; status: PaymentStatus }

const isMoneyEvent = (type: `${MoneyWord}.${string}`): type is MoneyEvent => isEventType(type)

/** Returns the events of a change to a payment or transfer. Without `before`, the payment or transfer is new. */
export function paymentEvents(before: Moved | undefined, { kind, status }: Moved): MoneyEvent[] {
  const step = before?.status === status ? null : paymentSteps[status]
  const steps = [...(before === undefined ? ['created'] : []), ...(step === null ? [] : [step])]
  return steps.map((one) => typeOf(`${moneyWords[kind]}.${one}`))
}

/**
 * Returns an event type after checking that it exists. For example, `withdrawal.pending_claim` does not exist, because
 * only payments are claimed.
 */
function typeOf(type: `${MoneyWord}.${string}`): MoneyEvent {
  if (!isMoneyEvent(type)) throw new Error(`Bug: ${type} is not an event type`)
  return type
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

interface AccountState {
  status: (typeof externalAccountStatuses)[number]
  connectionStatus: (typeof connectionStatuses)[number]
}

/** Returns the events of a change to a linked bank account. Without `before`, the account is new. */
export function externalAccountEvents(before: AccountState | undefined, after: AccountState): EventType[] {
  const [was, is] = [before === undefined ? null : stepOf(before), stepOf(after)]
  return was === is ? [] : [is]
}

function stepOf({ status, connectionStatus }: AccountState): EventType {
  if (status === 'deleted') return 'external_account.deleted'
  return connectionStatus === 'active' ? 'external_account.connected' : 'external_account.disconnected'
}

const invitationSteps = {
  PENDING: 'agent_delegation_invitation.created',
  ACCEPTED: 'agent_delegation_invitation.accepted',
  DECLINED: 'agent_delegation_invitation.declined',
  CANCELED: 'agent_delegation_invitation.canceled',
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

/**
 * Returns the event of a change to a purchase or refund. A refund does not change the purchase's status, so the
 * purchase's event is `card_transaction.updated`.
 */
export function purchaseEvent(before: Purchase | undefined, { status }: Purchase): PurchaseEvent {
  return before?.status === status ? 'card_transaction.updated' : `card_transaction.${status}`
}

type SubscriptionEvent = `subscription.${'created' | 'charged' | 'updated' | Exclude<SubscriptionStatus, 'pending'>}`

/**
 * Returns the events of billing a subscription: one for each charge, then one if the status has changed. If there is
 * neither a charge nor a new status, the event is `subscription.updated`.
 */
export function billingEvents(
  before: SubscriptionStatus,
  after: SubscriptionStatus,
  charges: number,
): SubscriptionEvent[] {
  const charged = Array.from({ length: charges }, () => 'subscription.charged' as const)
  if (after !== before && after !== 'pending') return [...charged, `subscription.${after}`]
  return charges > 0 ? charged : ['subscription.updated']
}

type ShopOrderEvent = `shop_order.${ShopOrderStatus | 'updated'}`

/** Returns the event of a change to an order at a sandbox shop. */
export function shopOrderEvent(before: ShopOrderStatus | undefined, status: ShopOrderStatus): ShopOrderEvent {
  return before === status ? 'shop_order.updated' : `shop_order.${status}`
}

const requestSteps = {
  // A payment request returns to this status only if its payment was denied or canceled.
  OPEN: 'payment_request.reopened',
  PROCESSING: 'payment_request.processing',
  COMPLETED: 'payment_request.completed',
  FAILED: 'payment_request.failed',
  RETURNED: 'payment_request.returned',
  CANCELED: 'payment_request.canceled',
  DECLINED: 'payment_request.declined',
  EXPIRED: 'payment_request.expired',
} as const satisfies Record<(typeof paymentRequestStatuses)[number], EventType>

type RequestEvent = 'payment_request.created' | (typeof requestSteps)[keyof typeof requestSteps]

/**
 * Returns the event of a change to a payment request; undefined if the request's status has not changed. For a new
 * request, the payer also gets `payment_request.incoming`.
 */
export function paymentRequestEvent(
  before: keyof typeof requestSteps | undefined,
  status: keyof typeof requestSteps,
): RequestEvent | undefined {
  if (before === undefined) return 'payment_request.created'
  return before === status ? undefined : requestSteps[status]
}

const partyInvitationSteps = {
  PENDING: 'party_invitation.created',
  ACCEPTED: 'party_invitation.accepted',
  DECLINED: 'party_invitation.declined',
  REVOKED: 'party_invitation.revoked',
} as const satisfies Record<PartyInvitationStatus, EventType>

/** Returns the event of a change to an invitation to join a party. */
export function partyInvitationEvent(
  status: PartyInvitationStatus,
): (typeof partyInvitationSteps)[PartyInvitationStatus] {
  return partyInvitationSteps[status]
}

import { type EventType, type EventWord, wordOf } from '../rules/event-types.ts'
import type { ShopOrderState } from '../rules/shop-orders.ts'
import type { Billing } from '../rules/subscriptions.ts'
import type { AgentCardRow } from './schema/agent-cards.ts'
import type { ApprovalRow } from './schema/approvals.ts'
import type { CardTransactionRow } from './schema/card-transactions.ts'
import type { ComplianceCaseRow } from './schema/compliance-cases.ts'
import type { CustomerInvitationRow } from './schema/customer-invitations.ts'
import type { DelegationRow } from './schema/delegations.ts'
import type { ExternalAccountRow } from './schema/external-accounts.ts'
import type { PartyRow } from './schema/parties.ts'
import type { PartyInvitationRow } from './schema/party-invitations.ts'
import type { PaymentRequestRow } from './schema/payment-requests.ts'
import type { PaymentRow } from './schema/payments.ts'
import type { ShopOrderRow } from './schema/shop-orders.ts'
import type { SubscriptionRow } from './schema/subscriptions.ts'
import type { WalletRow } from './schema/wallets.ts'
import type { WebhookRow } from './schema/webhooks.ts'

/** The type of the record that each kind of event concerns. The JSON columns `billing` and `state` are parsed. */
interface Records {
  party: PartyRow
  compliance_case: ComplianceCaseRow
  wallet: WalletRow
  external_account: ExternalAccountRow
  agent_delegation_invitation: CustomerInvitationRow
  agent_delegation: DelegationRow
  delegation: DelegationRow
  deposit: PaymentRow
  withdrawal: PaymentRow
  transfer: PaymentRow
  payment: PaymentRow
  approval: ApprovalRow
  payment_request: PaymentRequestRow
  party_invitation: PartyInvitationRow
  decision: object
  agent_card: AgentCardRow
  card_transaction: CardTransactionRow
  subscription: Omit<SubscriptionRow, 'billing'> & { billing: Billing }
  shop_order: Omit<ShopOrderRow, 'state'> & { state: ShopOrderState }
  webhook: WebhookRow
}

const payment = [
  'status',
  'heldCents',
  'recipientPartyId',
  'recipientAgentId',
  'transactionId',
  'bankDueAtMs',
  'submittedAtMs',
  'settledAtMs',
  'failure',
  'returned',
  'updatedAtMs',
] as const
const delegation = ['status', 'permissions', 'limits', 'revokedAtMs'] as const

/**
 * The columns that an event stores, by the first word of the event's type. The values of these columns can change, so
 * the event stores them as they are at the time of the event. Hashes of secrets are never stored. All other columns are
 * read from the record itself. An event about a webhook also stores columns that never change, because the webhook may
 * be deleted before somebody reads the event.
 */
const states = {
  party: [
    'displayName',
    'email',
    'issuedCardsEnabled',
    'phone',
    'limits',
    'handle',
    'status',
    'profile',
    'updatedAtMs',
    'limitsUpdatedAtMs',
  ],
  compliance_case: ['status', 'version', 'updatedAtMs'],
  wallet: ['displayName', 'description', 'status', 'isDefault', 'tags', 'availableCents', 'heldCents'],
  external_account: ['status', 'connectionStatus', 'bankName'],
  agent_delegation_invitation: [
    'status',
    'cancelReason',
    'customerPartyId',
    'pendingUntilMs',
    'acceptedAtMs',
    'declinedAtMs',
    'updatedAtMs',
  ],
  agent_delegation: delegation,
  delegation,
  deposit: payment,
  withdrawal: payment,
  transfer: payment,
  payment,
  approval: ['status', 'denialReason', 'updatedAtMs', 'resolvedAtMs'],
  payment_request: [
    'status',
    'payerName',
    'payerPartyId',
    'payerAgentId',
    'paymentId',
    'transactionId',
    'openUntilMs',
    'updatedAtMs',
  ],
  party_invitation: ['status', 'userId', 'updatedAtMs'],
  decision: [],
  agent_card: ['expiresAtMs', 'usedAtMs', 'frozenAtMs', 'updatedAtMs'],
  card_transaction: ['status', 'heldCents', 'capturedCents', 'refundedCents', 'holdExpiresAtMs', 'updatedAtMs'],
  subscription: ['status', 'mandateId', 'billing', 'nextEventAtMs', 'updatedAtMs'],
  shop_order: ['status', 'state', 'nextEventAtMs', 'updatedAtMs'],
  webhook: ['url', 'description', 'status', 'enabledEvents', 'tags', 'createdAtMs', 'updatedAtMs'],
} as const satisfies { [Word in EventWord]: readonly (keyof Records[Word])[] }

type StateOf<Word extends EventWord> = Pick<Records[Word], (typeof states)[Word][number] & keyof Records[Word]>

/** The first word of an event's type, such as `payment`. */
export type WordOf<Type extends EventType> = {
  [Word in EventWord]: Type extends `${Word}.${string}` ? Word : never
}[EventWord]

/** The record columns that an event of this type stores, with their values. */
export type EventState<Type extends EventType> = { [Word in WordOf<Type>]: StateOf<Word> }[WordOf<Type>]

/** Returns the part of a record that an event stores, as JSON without null values. */
export function stateJson(word: EventWord, record: object): string {
  const state: Record<string, unknown> = {}
  for (const column of states[word]) {
    const value = (record as Record<string, unknown>)[column]
    if (value !== null) state[column] = value
  }
  return JSON.stringify(state)
}

/** Returns a record as it was at the time of an event. If the event stores no values, returns the record unchanged. */
export function atEvent<Row extends object>(
  record: Row,
  { type, state }: { type: EventType; state: string | null },
): Row {
  if (state === null) return record
  const then = JSON.parse(state) as Record<string, unknown>
  return { ...record, ...Object.fromEntries(states[wordOf(type)].map((column) => [column, then[column] ?? null])) }
}

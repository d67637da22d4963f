import type { z } from 'zod'
import type { agentCardStatuses } from '../../../tools/agent-cards.ts'
import type { AgentCustomerInvite } from '../../../tools/agent-customers.ts'
import type { AgentKey } from '../../../tools/agent-keys.ts'
import type { Agent } from '../../../tools/agents.ts'
import type { ApiKey } from '../../../tools/api-keys.ts'
import type { invitationStatuses } from '../../../tools/customer-invitations.ts'
import type { linkStatuses } from '../../../tools/invitation-links.ts'
import type { paymentRequestStatuses } from '../../../tools/payment-requests.ts'
import type { paymentStatuses } from '../../../tools/payments.ts'
import type { subscriptionStatuses } from '../../../tools/subscriptions.ts'
import type { Wallet } from '../../../tools/wallets.ts'
import type { webhookStatuses } from '../../../tools/webhooks.ts'

/** For each status of a record, whether the answer that created the record is no longer useful. */
type Over<Statuses extends readonly string[]> = Readonly<Record<Statuses[number], boolean>>
type OverOf<Record_ extends z.ZodType<{ attributes: { status: string } }>> = Over<
  readonly z.output<Record_>['attributes']['status'][]
>

const payment: Over<typeof paymentStatuses> = {
  CREATED: false,
  PROCESSING: false,
  PENDING_CLAIM: false,
  IN_REVIEW: false,
  COMPLETED: false,
  FAILED: true,
  CANCELED: true,
  RETURNED: true,
  APPROVAL_DENIED: true,
}

const invitation: Over<typeof invitationStatuses> = {
  PENDING: false,
  ACCEPTED: false,
  DECLINED: true,
  EXPIRED: true,
  CANCELED: true,
}

/** The table by record type (docs/hosts.md#a-call-that-is-repeated). */
export const overStatuses = {
  payment,
  transfer: payment,
  paymentRequest: {
    OPEN: false,
    PROCESSING: false,
    COMPLETED: false,
    FAILED: true,
    RETURNED: true,
    CANCELED: true,
    DECLINED: true,
    EXPIRED: true,
  } satisfies Over<typeof paymentRequestStatuses>,
  agentCard: { active: false, frozen: true, used: true, expired: true } satisfies Over<typeof agentCardStatuses>,
  subscription: {
    pending: false,
    active: false,
    past_due: false,
    needs_attention: false,
    canceled: true,
    completed: true,
  } satisfies Over<typeof subscriptionStatuses>,
  wallet: { active: false, frozen: true, closed: true } satisfies OverOf<typeof Wallet>,
  agent: { ACTIVE: false, REVOKED: true } satisfies OverOf<typeof Agent>,
  webhook: { ENABLED: false, DISABLED: true } satisfies Over<typeof webhookStatuses>,
  apiKey: { ACTIVE: false, REVOKED: true } satisfies OverOf<typeof ApiKey>,
  agentKey: { ACTIVE: false, REVOKED: true } satisfies OverOf<typeof AgentKey>,
  agentDelegationInvitation: invitation,
  customerInvitation: { ...invitation, ACTIVE: false, REVOKED: true } satisfies OverOf<typeof AgentCustomerInvite>,
  invitationLink: { ACTIVE: false, REVOKED: true } satisfies Over<typeof linkStatuses>,
}

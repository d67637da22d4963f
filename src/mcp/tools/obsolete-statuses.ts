import type { z } from 'zod'
import type { agentCardStatuses } from '../../../tools/agent-cards.ts'
import type { AgentCustomerInvite } from '../../../tools/agent-customers.ts'
import type { AgentKey } from '../../../tools/agent-keys.ts'
import type { Agent } from '../../../tools/agents.ts'
import type { ApiKey } from '../../../tools/api-keys.ts'
import type { Application } from '../../../tools/applications.ts'
import type { invitationStatuses } from '../../../tools/customer-invitations.ts'
import type { linkStatuses } from '../../../tools/invitation-links.ts'
import type { paymentRequestStatuses } from '../../../tools/payment-requests.ts'
import type { paymentStatuses } from '../../../tools/payments.ts'
import type { subscriptionStatuses } from '../../../tools/subscriptions.ts'
import type { TrustedIssuer } from '../../../tools/trusted-issuers.ts'
import type { Wallet } from '../../../tools/wallets.ts'
import type { webhookStatuses } from '../../../tools/webhooks.ts'

/** Maps each status to whether an answer is obsolete when the record that the call created has this status. */
type ByStatus<Statuses extends readonly string[]> = Readonly<Record<Statuses[number], boolean>>
type ByStatusOf<Record_ extends z.ZodType<{ attributes: { status: string } }>> = ByStatus<
  readonly z.output<Record_>['attributes']['status'][]
>

const payment: ByStatus<typeof paymentStatuses> = {
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

const invitation: ByStatus<typeof invitationStatuses> = {
  PENDING: false,
  ACCEPTED: false,
  DECLINED: true,
  EXPIRED: true,
  CANCELED: true,
}

/** The table of obsolete statuses for each record type (docs/hosts.md#a-call-that-is-repeated). */
export const obsoleteStatuses = {
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
  } satisfies ByStatus<typeof paymentRequestStatuses>,
  agentCard: { active: false, frozen: true, used: true, expired: true } satisfies ByStatus<typeof agentCardStatuses>,
  subscription: {
    pending: false,
    active: false,
    past_due: false,
    needs_attention: false,
    canceled: true,
    completed: true,
  } satisfies ByStatus<typeof subscriptionStatuses>,
  wallet: { active: false, frozen: true, closed: true } satisfies ByStatusOf<typeof Wallet>,
  agent: { ACTIVE: false, REVOKED: true } satisfies ByStatusOf<typeof Agent>,
  webhook: { ENABLED: false, DISABLED: true } satisfies ByStatus<typeof webhookStatuses>,
  apiKey: { ACTIVE: false, REVOKED: true } satisfies ByStatusOf<typeof ApiKey>,
  agentKey: { ACTIVE: false, REVOKED: true } satisfies ByStatusOf<typeof AgentKey>,
  application: { ACTIVE: false, REVOKED: true } satisfies ByStatusOf<typeof Application>,
  trustedIssuer: { ACTIVE: false, REVOKED: true } satisfies ByStatusOf<typeof TrustedIssuer>,
  agentDelegationInvitation: invitation,
  customerInvitation: { ...invitation, ACTIVE: false, REVOKED: true } satisfies ByStatusOf<typeof AgentCustomerInvite>,
  invitationLink: { ACTIVE: false, REVOKED: true } satisfies ByStatus<typeof linkStatuses>,
}

import type { Handlers } from '../request/handler.ts'
import { activityHandlers } from './activity.ts'
import { agentCardHandlers } from './agent-cards.ts'
import { agentCustomerHandlers } from './agent-customers.ts'
import { agentKeyHandlers } from './agent-keys.ts'
import { agentHandlers } from './agents.ts'
import { apiKeyHandlers } from './api-keys.ts'
import { applicationHandlers } from './applications.ts'
import { approvalHandlers } from './approvals.ts'
import { bankTransferHandlers } from './bank-transfers.ts'
import { cardTransactionHandlers } from './card-transactions.ts'
import { credentialHandlers } from './credentials.ts'
import { customerInvitationHandlers } from './customer-invitations.ts'
import { customerHandlers } from './customers.ts'
import { eventHandlers } from './events.ts'
import { externalAccountHandlers } from './external-accounts.ts'
import { invitationLinkHandlers } from './invitation-links.ts'
import { partyHandlers } from './parties.ts'
import { partyInvitationHandlers } from './party-invitations.ts'
import { paymentRequestHandlers } from './payment-requests.ts'
import { paymentHandlers } from './payments.ts'
import { sandboxClockHandlers } from './sandbox-clock.ts'
import { sandboxFaultHandlers } from './sandbox-faults.ts'
import { sandboxMessageHandlers } from './sandbox-messages.ts'
import { sandboxSnapshotHandlers } from './sandbox-snapshots.ts'
import { shopHandlers } from './shops.ts'
import { subscriptionHandlers } from './subscriptions.ts'
import { transactionHandlers } from './transactions.ts'
import { transferHandlers } from './transfers.ts'
import { trustedIssuerHandlers } from './trusted-issuers.ts'
import { walletAgentHandlers } from './wallet-agents.ts'
import { walletHandlers } from './wallets.ts'
import { webhookHandlers } from './webhooks.ts'

export const handlers: Handlers = {
  ...credentialHandlers,
  ...walletHandlers,
  ...walletAgentHandlers,
  ...paymentHandlers,
  ...transferHandlers,
  ...transactionHandlers,
  ...approvalHandlers,
  ...customerInvitationHandlers,
  ...invitationLinkHandlers,
  ...customerHandlers,
  ...agentCardHandlers,
  ...cardTransactionHandlers,
  ...subscriptionHandlers,
  ...agentCustomerHandlers,
  ...agentHandlers,
  ...apiKeyHandlers,
  ...trustedIssuerHandlers,
  ...agentKeyHandlers,
  ...applicationHandlers,
  ...activityHandlers,
  ...sandboxClockHandlers,
  ...sandboxFaultHandlers,
  ...sandboxSnapshotHandlers,
  ...shopHandlers,
  ...webhookHandlers,
  ...sandboxMessageHandlers,
  ...paymentRequestHandlers,
  ...partyInvitationHandlers,
  ...partyHandlers,
  ...externalAccountHandlers,
  ...eventHandlers,
  ...bankTransferHandlers,
}

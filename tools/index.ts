import type { OperationDefinition } from '../src/core/operation.ts'
import { activity } from './activity.ts'
import { agentCards } from './agent-cards.ts'
import { agentCustomers } from './agent-customers.ts'
import { agentKeys } from './agent-keys.ts'
import { agents } from './agents.ts'
import { apiKeys } from './api-keys.ts'
import { approvals } from './approvals.ts'
import { bankTransfers } from './bank-transfers.ts'
import { cardTransactions } from './card-transactions.ts'
import { credentials } from './credentials.ts'
import { customerInvitations } from './customer-invitations.ts'
import { customers } from './customers.ts'
import { events } from './events.ts'
import { externalAccounts } from './external-accounts.ts'
import { invitationLinks } from './invitation-links.ts'
import { parties } from './parties.ts'
import { partyInvitations } from './party-invitations.ts'
import { paymentRequests } from './payment-requests.ts'
import { payments } from './payments.ts'
import { sandboxClock } from './sandbox-clock.ts'
import { sandboxFaults } from './sandbox-faults.ts'
import { sandboxMessages } from './sandbox-messages.ts'
import { sandboxSnapshots } from './sandbox-snapshots.ts'
import { shops } from './shops.ts'
import { subscriptions } from './subscriptions.ts'
import { transactions } from './transactions.ts'
import { transfers } from './transfers.ts'
import { walletAgents } from './wallet-agents.ts'
import { wallets } from './wallets.ts'
import { webhooks } from './webhooks.ts'

/** Routes with literal segments come before those with {customerId}. */
const { listCustomers, ...customersById } = customers

/** Every operation, in the order of the documents. */
export const catalogue = {
  ...credentials,
  ...wallets,
  ...walletAgents,
  ...payments,
  ...paymentRequests,
  ...externalAccounts,
  // Routes with literal segments come before those with {transferId}.
  ...bankTransfers,
  ...transfers,
  ...transactions,
  ...approvals,
  listCustomers,
  ...customerInvitations,
  ...invitationLinks,
  ...customersById,
  ...agentCards,
  ...cardTransactions,
  ...subscriptions,
  // Routes with literal segments come before those with {agentId}.
  ...agentCustomers,
  ...agents,
  ...apiKeys,
  ...agentKeys,
  ...parties,
  ...partyInvitations,
  ...events,
  ...webhooks,
  ...activity,
  ...sandboxClock,
  ...sandboxFaults,
  ...sandboxSnapshots,
  ...sandboxMessages,
  ...shops,
} as const

export type Catalogue = typeof catalogue
export type OperationKey = keyof Catalogue

/** The operations by name, which is also the name of the tool. */
export const operationsByName: ReadonlyMap<string, OperationDefinition> = new Map(
  Object.values<OperationDefinition>(catalogue).map((operation) => [operation.name, operation]),
)

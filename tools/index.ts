import type { OperationDefinition } from '../src/core/operation.ts'
import { activity } from './activity.ts'
import { agentCards } from './agent-cards.ts'
import { agentCustomers } from './agent-customers.ts'
import { agentKeys } from './agent-keys.ts'
import { agents } from './agents.ts'
import { apiKeys } from './api-keys.ts'
import { applications } from './applications.ts'
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
import { trustedIssuers } from './trusted-issuers.ts'
import { walletAgents } from './wallet-agents.ts'
import { wallets } from './wallets.ts'
import { webhooks } from './webhooks.ts'

// Routes with literal segments must come first, because a route with {customerId} also matches their paths.
const { listCustomers, ...customersById } = customers

/**
 * All operations of the API, in the order of the documentation. The entry of an operation states its name, method,
 * path, permission, toolsets and error codes, and contains the Zod schemas of its input and output. The entries are
 * frozen. Routes, client methods and MCP tools are derived from them.
 * @example The tools that an agent gets by default:
 * ```ts
 * import { catalogue } from 'payments-mcp/catalogue'
 *
 * const offered = Object.values(catalogue).filter(({ toolsets }) => toolsets.some((name) => name === 'default'))
 * for (const { name, method, path } of offered) console.log(name, method, path)
 * ```
 * @example A response body, validated and typed:
 * ```ts
 * import { catalogue } from 'payments-mcp/catalogue'
 *
 * export function cardFrom(body: { data: unknown }) {
 *   const card = catalogue.getAgentCard.output.parse(body.data)
 *   return { id: card.id, status: card.attributes.status }
 * }
 * ```
 */
export const catalogue = {
  ...credentials,
  ...wallets,
  ...walletAgents,
  ...payments,
  ...paymentRequests,
  ...externalAccounts,
  // Routes with literal segments must come before routes with {transferId}.
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
  // Routes with literal segments must come before routes with {agentId}.
  ...agentCustomers,
  ...agents,
  ...apiKeys,
  ...applications,
  ...trustedIssuers,
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

/** The type of the catalogue, with the literal types of every operation. */
export type Catalogue = typeof catalogue
/** The key of an operation: its name in camel case, which is also the name of the client's method. */
export type OperationKey = keyof Catalogue

/** The operations by name, such as `issue_agent_card`. The name of an operation is also the name of its MCP tool. */
export const operationsByName: ReadonlyMap<string, OperationDefinition> = new Map(
  Object.values<OperationDefinition>(catalogue).map((operation) => [operation.name, operation]),
)

import { accessTokens, grantTokens } from './access-tokens.ts'
import { activity, activityResources } from './activity.ts'
import { agentCards } from './agent-cards.ts'
import { agents } from './agents.ts'
import { approvals } from './approvals.ts'
import { knownBrowsers, signInLinks, signInSessions } from './browser-sessions.ts'
import { cardPages } from './card-pages.ts'
import { cardTransactions } from './card-transactions.ts'
import { carriedSecrets } from './carried-secrets.ts'
import { clock } from './clock.ts'
import { complianceCases } from './compliance-cases.ts'
import { credentials } from './credentials.ts'
import { customerInvitations } from './customer-invitations.ts'
import { delegations } from './delegations.ts'
import { deployment } from './deployment.ts'
import { earlierStates } from './earlier-states.ts'
import { events } from './events.ts'
import { externalAccounts } from './external-accounts.ts'
import { failedEffects } from './failed-effects.ts'
import { faults } from './faults.ts'
import { idempotencyRecords } from './idempotency-records.ts'
import { invitationLinks } from './invitation-links.ts'
import { ledgerEntries } from './ledger.ts'
import { locks } from './locks.ts'
import { mcpEvents, mcpMail, mcpSessions } from './mcp-sessions.ts'
import { oauthGrants } from './oauth-grants.ts'
import { oauthRecords } from './oauth-records.ts'
import { parties } from './parties.ts'
import { partyHeads } from './party-heads.ts'
import { partyInvitations } from './party-invitations.ts'
import { passwords, refusedPasswords } from './passwords.ts'
import { paymentRequests } from './payment-requests.ts'
import { payments } from './payments.ts'
import { pendingDecisions } from './pending-decisions.ts'
import { rateLimits } from './rate-limits.ts'
import { releasedHandles } from './released-handles.ts'
import { rootKeys } from './root-keys.ts'
import { runMinutes } from './run-minutes.ts'
import { runEntries, runs } from './runs.ts'
import { sandboxMessages } from './sandbox-messages.ts'
import { schemas } from './schemas.ts'
import { secondFactors } from './second-factors.ts'
import { sentCalls } from './sent-calls.ts'
import { shopCheckouts } from './shop-checkouts.ts'
import { shopOrders } from './shop-orders.ts'
import { signingKeys } from './signing-keys.ts'
import { snapshotRows, snapshots } from './snapshots.ts'
import { spending } from './spending.ts'
import { subscriptionPayments } from './subscription-payments.ts'
import { subscriptions } from './subscriptions.ts'
import type { RowOf } from './table.ts'
import { leases } from './task-leases.ts'
import { transactions } from './transactions.ts'
import { trustedIssuers } from './trusted-issuers.ts'
import { users } from './users.ts'
import { walletAgents } from './wallet-agents.ts'
import { walletPermissions } from './wallet-permissions.ts'
import { wallets } from './wallets.ts'
import { webhookDeliveries } from './webhook-deliveries.ts'
import { webhooks } from './webhooks.ts'
import { world } from './world.ts'

/**
 * The tables, which are the same on SQLite and PostgreSQL. Ids are strings, amounts are integer cents, booleans are 0
 * or 1, and structured values are JSON. Times are Unix milliseconds on the sandbox clock, unless a comment says
 * otherwise.
 */
export const tables = {
  parties,
  users,
  secondFactors,
  agents,
  wallets,
  walletAgents,
  walletPermissions,
  credentials,
  accessTokens,
  activity,
  activityResources,
  delegations,
  customerInvitations,
  invitationLinks,
  agentCards,
  cardPages,
  cardTransactions,
  ledgerEntries,
  subscriptions,
  subscriptionPayments,
  payments,
  approvals,
  spending,
  transactions,
  rootKeys,
  carriedSecrets,
  events,
  partyHeads,
  idempotencyRecords,
  schemas,
  clock,
  deployment,
  locks,
  refusedPasswords,
  knownBrowsers,
  oauthRecords,
  oauthGrants,
  grantTokens,
  trustedIssuers,
  signingKeys,
  signInSessions,
  signInLinks,
  passwords,
  mcpSessions,
  mcpEvents,
  mcpMail,
  pendingDecisions,
  sentCalls,
  shopCheckouts,
  shopOrders,
  rateLimits,
  world,
  faults,
  earlierStates,
  snapshots,
  snapshotRows,
  paymentRequests,
  externalAccounts,
  partyInvitations,
  complianceCases,
  releasedHandles,
  sandboxMessages,
  failedEffects,
  webhooks,
  webhookDeliveries,
  leases,
  runs,
  runEntries,
  runMinutes,
}

export type Tables = { [Name in keyof typeof tables]: RowOf<(typeof tables)[Name]> }

/**
 * The columns that contain cryptographic keys (`key`), each with the column that identifies the row (`name`). If
 * PAYMENTS_SECRET is set, these keys are stored encrypted.
 */
export const keysAtRest = [
  { table: 'rootKeys', name: 'id', key: 'secret' },
  { table: 'signingKeys', name: 'kid', key: 'jwk' },
] as const

import type { Tables } from './tables.ts'

/**
 * The effect of a sandbox reset or restore on a table (docs/sandbox.md#reset-save-restore). A `world` table contains
 * the world itself, so its rows are saved and restored. A `cleared` table records requests to the previous world, so
 * its rows are deleted. A `kept` table belongs to the service, or to its users and their programs, so its rows stay.
 */
type ResetScope = 'world' | 'cleared' | 'kept'

/**
 * The scopes that a table may have. Snapshots are JSON, which cannot contain bytes, so a table that has a column of
 * bytes cannot be a `world` table.
 */
type ScopeOf<Row> = Uint8Array extends Row[keyof Row] ? Exclude<ResetScope, 'world'> : ResetScope

/** The scope of each table. If a new table has no entry here, the code does not compile. */
const resetScopes: { readonly [Name in keyof Tables]: ScopeOf<Tables[Name]> } = {
  parties: 'world',
  users: 'world',
  agents: 'world',
  wallets: 'world',
  walletAgents: 'world',
  walletPermissions: 'world',
  credentials: 'world',
  delegations: 'world',
  customerInvitations: 'world',
  invitationLinks: 'world',
  agentCards: 'world',
  cardPages: 'world',
  cardTransactions: 'world',
  ledgerEntries: 'world',
  payments: 'world',
  approvals: 'world',
  transactions: 'world',
  spending: 'world',
  subscriptions: 'world',
  subscriptionPayments: 'world',
  shopCheckouts: 'world',
  shopOrders: 'world',
  paymentRequests: 'world',
  externalAccounts: 'world',
  partyInvitations: 'world',
  complianceCases: 'world',
  releasedHandles: 'world',
  sandboxMessages: 'world',
  failedEffects: 'world',
  // A restore fills `activityResources` before `activity`. On SQLite, the trigger on `activity` then finds the rows of
  // `activityResources` and does not insert them again.
  activityResources: 'world',
  activity: 'world',
  events: 'world',
  partyHeads: 'world',

  idempotencyRecords: 'cleared',
  sentCalls: 'cleared',
  pendingDecisions: 'cleared',
  earlierStates: 'cleared',
  runs: 'cleared',
  runEntries: 'cleared',
  runMinutes: 'cleared',

  // Sign-ins and their credentials stay. If a reset removes a grant's agent, the grant works again once a restore
  // brings the agent back.
  oauthGrants: 'kept',
  oauthRecords: 'kept',
  trustedIssuers: 'kept',
  accessTokens: 'kept',
  grantTokens: 'kept',
  passwords: 'kept',
  refusedPasswords: 'kept',
  secondFactors: 'kept',
  signInSessions: 'kept',
  signInLinks: 'kept',
  knownBrowsers: 'kept',
  mcpSessions: 'kept',
  mcpEvents: 'kept',
  mcpMail: 'kept',
  // Webhooks belong to the programs that receive them, just as MCP sessions belong to their hosts.
  webhooks: 'kept',
  webhookDeliveries: 'kept',
  // These tables belong to the service. In a reset or restore, other code changes the clock and the faults.
  schemas: 'kept',
  clock: 'kept',
  deployment: 'kept',
  faults: 'kept',
  world: 'kept',
  snapshots: 'kept',
  snapshotRows: 'kept',
  rootKeys: 'kept',
  carriedSecrets: 'kept',
  signingKeys: 'kept',
  rateLimits: 'kept',
  locks: 'kept',
  leases: 'kept',
}

const tablesIn = (scope: ResetScope) =>
  (Object.keys(resetScopes) as (keyof Tables)[]).filter((name) => resetScopes[name] === scope)

export const worldTables = tablesIn('world')
export const clearedTables = tablesIn('cleared')

import type { Tables } from './tables.ts'

/**
 * What a reset or a restore of the sandbox does to a table (docs/sandbox.md#reset-save-restore). `world`: its rows are of
 * the world, so they are saved and put back. `forgotten`: they tell of requests to the world as it was, so they go. `kept`:
 * they are of the service and of the people and programs at it.
 */
type Belonging = 'world' | 'forgotten' | 'kept'

/** A snapshot is JSON, in which no bytes stand. */
type BelongingOf<Row> = Uint8Array extends Row[keyof Row] ? Exclude<Belonging, 'world'> : Belonging

/** Where each table belongs: a new one does not compile without its row. */
const belongings: { readonly [Name in keyof Tables]: BelongingOf<Tables[Name]> } = {
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
  activity: 'world',
  activityResources: 'world',
  events: 'world',
  partyHeads: 'world',

  idempotencyRecords: 'forgotten',
  sentCalls: 'forgotten',
  pendingDecisions: 'forgotten',
  earlierStates: 'forgotten',
  runs: 'forgotten',
  runEntries: 'forgotten',

  // Who signed in, and with what: a grant whose agent is gone works again where the agent is put back.
  oauthGrants: 'kept',
  oauthRecords: 'kept',
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
  // They are of whoever listens, as sessions are.
  webhooks: 'kept',
  webhookDeliveries: 'kept',
  // The service's own. The clock and the faults are set besides.
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

const named = (belonging: Belonging) =>
  (Object.keys(belongings) as (keyof Tables)[]).filter((name) => belongings[name] === belonging)

export const worldTables = named('world')
export const forgottenTables = named('forgotten')

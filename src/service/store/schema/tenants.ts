import { type Kysely, sql } from 'kysely'
import { nextTurn } from '../../../core/system.ts'
import type { Tables } from './tables.ts'

/**
 * How a table lies on several machines (docs/scaling.md#tables). `party`: beside the other rows of the party that the
 * column names, which the primary key begins with. `everywhere`: on each machine, for it is small, or found by what names
 * no party; the key of one that has a party begins with it all the same. `own`: by a column of its own.
 */
type Placement =
  | { place: 'party'; by: string }
  | { place: 'everywhere'; by?: 'partyId'; because: string }
  | { place: 'own'; by: string; because: string }

const ofParty = { place: 'party', by: 'partyId' } as const
const ofSession = { place: 'own', by: 'idHash', because: 'a session is found by the hash of its id' } as const
const signIn = { place: 'everywhere', because: 'a person who signs in is found before their party is known' } as const

/** Where each table lies. */
export const placements: Readonly<Record<keyof Tables, Placement>> = {
  wallets: ofParty,
  walletAgents: ofParty,
  walletPermissions: ofParty,
  agentCards: ofParty,
  cardTransactions: ofParty,
  ledgerEntries: ofParty,
  payments: ofParty,
  approvals: ofParty,
  transactions: ofParty,
  spending: ofParty,
  subscriptions: ofParty,
  subscriptionPayments: ofParty,
  shopCheckouts: ofParty,
  shopOrders: ofParty,
  paymentRequests: ofParty,
  externalAccounts: ofParty,
  partyInvitations: ofParty,
  complianceCases: ofParty,
  sandboxMessages: ofParty,
  failedEffects: ofParty,
  webhooks: ofParty,
  webhookDeliveries: ofParty,
  idempotencyRecords: ofParty,
  activity: ofParty,
  activityHeads: ofParty,
  activityResources: ofParty,
  events: ofParty,
  eventHeads: ofParty,
  customerInvitations: ofParty,
  invitationLinks: ofParty,
  pendingDecisions: ofParty,
  sentCalls: ofParty,
  earlierStates: ofParty,
  runs: ofParty,
  runEntries: ofParty,
  delegations: { place: 'party', by: 'customerPartyId' },

  parties: { place: 'everywhere', because: 'it is found by its handle, e-mail address and phone number' },
  users: { place: 'everywhere', by: 'partyId', because: 'a user is found by their e-mail address' },
  releasedHandles: { place: 'everywhere', because: 'a handle is found whoever gave it up' },
  agents: { place: 'everywhere', by: 'partyId', because: 'an agent is found by its handle, by other parties too' },
  credentials: { place: 'everywhere', by: 'partyId', because: 'a key is found by its hash' },
  accessTokens: { place: 'everywhere', because: 'a token is found by its hash' },
  grantTokens: { place: 'everywhere', because: 'a token is found by its hash' },
  oauthGrants: { place: 'everywhere', by: 'partyId', because: 'a grant is found by the id in its tokens' },
  cardPages: { place: 'everywhere', because: 'a page is found by the hash in its address' },
  passwords: signIn,
  refusedPasswords: signIn,
  secondFactors: signIn,
  signInSessions: signIn,
  signInLinks: signIn,
  knownBrowsers: signIn,
  oauthRecords: signIn,
  clock: { place: 'everywhere', because: 'it is one row' },
  deployment: { place: 'everywhere', because: 'it is one row' },
  world: { place: 'everywhere', because: 'it is one row' },
  faults: { place: 'everywhere', because: 'they are a few rows, and of the service' },
  snapshots: { place: 'everywhere', because: 'they are few, and of the sandbox' },
  snapshotRows: { place: 'everywhere', because: 'they are of the sandbox' },
  rootKeys: { place: 'everywhere', because: 'they are a few rows, and of the service' },
  signingKeys: { place: 'everywhere', because: 'they are a few rows, and of the service' },

  mcpSessions: ofSession,
  mcpEvents: ofSession,
  mcpMail: ofSession,
  carriedSecrets: { place: 'own', by: 'textHash', because: 'it is found by the hash of a text' },
  leases: { place: 'own', by: 'name', because: 'a name is leased, whomever it is about' },
  locks: { place: 'own', by: 'name', because: 'a name is claimed, whomever it is about' },
  rateLimits: { place: 'own', by: 'keyId', because: 'a request is counted before anything else is known of it' },
}

const ofWallet = `(select o."partyId" from "wallets" o where o."id" = t."walletId")`
/** An entry has its number behind the posting's id. One of an account outside is of the wallet beside it. */
const ofSibling = `(select o."partyId" from "ledgerEntries" s join "wallets" o on o."id" = s."walletId"
  where s."id" in (t."postingId" || '_0', t."postingId" || '_1') order by s."id" limit 1)`

/** Whose the rows are of tables that did not say it: by table, the column by which it is gone through, and the party. */
const partyOfRow: Readonly<Record<string, readonly [through: string, partyId: string]>> = {
  walletAgents: ['walletId', ofWallet],
  walletPermissions: ['walletId', ofWallet],
  ledgerEntries: ['id', `coalesce(${ofWallet}, ${ofSibling})`],
  subscriptionPayments: [
    'subscriptionId',
    `(select o."partyId" from "subscriptions" o where o."id" = t."subscriptionId")`,
  ],
  transactions: ['id', `coalesce("sourcePartyId", "destinationPartyId")`],
  accessTokens: ['id', `(select o."partyId" from "credentials" o where o."id" = t."credentialId")`],
}

const batch = 500

/** Says in every row of a tenant whose it is, in batches between which the process does other things. */
export async function nameTenants(db: Kysely<unknown>): Promise<void> {
  for (const [name, [through, partyId]] of Object.entries(partyOfRow)) {
    const [table, column] = [sql.table(name), sql.ref(through)]
    for (let last = ''; ; await nextTurn()) {
      const some = sql`select ${column} as "at" from ${table} where ${column} > ${last} order by ${column} limit ${sql.lit(batch)}`
      const found = await sql<{ at: string | null }>`select max("at") as "at" from (${some}) b`.execute(db)
      const next = found.rows[0]?.at ?? null
      if (next === null) break
      const range = sql`t.${column} > ${last} and t.${column} <= ${next}`
      await sql`update ${table} as t set ${sql.ref('partyId')} = ${sql.raw(partyId)} where ${range}`.execute(db)
      last = next
    }
  }
}

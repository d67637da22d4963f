import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { createSubscriptionTransactions } from '../subscription-payments.ts'
import { sealActivityHeads } from './activity-heads-schema.ts'
import { createCardPagesSchema } from './card-pages-schema.ts'
import { addHighestTime } from './clock-schema.ts'
import { createCredentialsSchema } from './credentials-schema.ts'
import { addEnrolments } from './enrolment-schema.ts'
import { hashIdempotencyKeys } from './idempotency-schema.ts'
import { createInvitationLinksSchema } from './invitation-links-schema.ts'
import { createInvitationsSchema } from './invitations-schema.ts'
import { boundMcpSessions, createMcpSessionsSchema } from './mcp-sessions-schema.ts'
import { createOAuthSchema } from './oauth-schema.ts'
import { createPaymentSchema } from './payment-schema.ts'
import { createRootKeysSchema } from './root-keys-schema.ts'
import { createTable, type TableDefinition } from './schema.ts'
import { createSecondFactorSchema } from './second-factor-schema.ts'
import { createSignInBoundsSchema } from './sign-in-bounds-schema.ts'
import { createSpendingSchema } from './spending-schema.ts'
import type { Tables } from './tables.ts'

/**
 * Brings the schema up to date, both dialects alike. A database that is up to date costs one query. On SQLite `db` is
 * to be a transaction that has the write lock; on PostgreSQL the migrator takes a lock of its own.
 */
export async function migrate(db: Kysely<Tables>): Promise<void> {
  if ((await lastApplied(db)) === Object.keys(migrations).at(-1)) return
  const { Migrator } = await import('kysely/migration')
  const { error } = await new Migrator({ db, provider: { getMigrations: async () => migrations } }).migrateToLatest()
  if (error !== undefined) throw error
}

const firstSchema: Record<string, TableDefinition> = {
  parties: {
    text: 'id partyType displayName email?',
    integer: 'issuedCardsEnabled',
    bigint: 'createdAtMs',
    key: ['id'],
  },
  users: {
    text: 'id partyId role name email',
    bigint: 'createdAtMs',
    key: ['id'],
  },
  agents: {
    text: 'id partyId name description? handle? status createdBy?',
    bigint: 'createdAtMs',
    key: ['id'],
  },
  wallets: {
    text: 'id partyId displayName? description? status walletType tags currency',
    integer: 'isDefault version',
    bigint: 'availableCents heldCents createdAtMs',
    key: ['id'],
    checks: { available_not_negative: '"availableCents" >= 0', held_not_negative: '"heldCents" >= 0' },
    indexes: [['partyId', 'id']],
  },
  walletAgents: {
    text: 'walletId agentId',
    integer: 'isDefault',
    bigint: 'attachedAtMs',
    key: ['walletId', 'agentId'],
    indexes: [['agentId', 'walletId']],
  },
  walletPermissions: {
    text: 'walletId agentId permission',
    key: ['walletId', 'agentId', 'permission'],
  },
  credentials: {
    text: 'id kind partyId agentId? name? secretHash displayPrefix scopes?',
    integer: 'seeded',
    bigint: 'revokedAtMs? expiresAtMs? createdAtMs',
    key: ['id'],
    uniqueIndexes: [['secretHash']],
  },
  delegations: {
    text: 'id customerPartyId agentPartyId agentId permissions limits? status',
    bigint: 'createdAtMs revokedAtMs?',
    key: ['id'],
    indexes: [['agentPartyId', 'customerPartyId']],
    uniqueIndexes: [['agentId', 'customerPartyId']],
  },
  agentCards: {
    text: 'id partyId walletId agentId instanceId? merchantName currency',
    integer: 'version',
    bigint: 'maximumAmountCents expiresAtMs usedAtMs? createdAtMs updatedAtMs',
    key: ['id'],
    checks: { maximum_not_negative: '"maximumAmountCents" >= 0' },
    indexes: [
      ['partyId', 'id'],
      ['agentId', 'id'],
    ],
  },
  cardTransactions: {
    text: 'id partyId walletId cardId kind purchaseId? merchantName currency status declineCode? agentId? instanceId?',
    integer: 'version',
    bigint: 'amountCents heldCents capturedCents refundedCents holdExpiresAtMs? createdAtMs updatedAtMs',
    key: ['id'],
    checks: {
      amount_not_negative: '"amountCents" >= 0',
      captured_within_amount: '"capturedCents" between 0 and "amountCents"',
      held_within_rest: '"heldCents" between 0 and "amountCents" - "capturedCents"',
      refunded_within_captured: '"refundedCents" between 0 and "capturedCents"',
    },
    indexes: [
      ['partyId', 'id'],
      ['cardId', 'id'],
    ],
  },
  ledgerEntries: {
    text: 'id postingId account walletId? reason sourceId?',
    bigint: 'amountCents createdAtMs',
    key: ['id'],
    checks: { account_has_owner: `("account" in ('available', 'held')) = ("walletId" is not null)` },
    indexes: [['walletId']],
  },
  idempotencyRecords: {
    text: 'partyId key fingerprint state body?',
    integer: 'status?',
    bigint: 'finishedAtMs?',
    key: ['partyId', 'key'],
    indexes: [['finishedAtMs']],
  },
  clock: {
    text: '',
    integer: 'id',
    bigint: 'offsetMs',
    key: ['id'],
    checks: { one_row: '"id" = 1' },
  },
}

const subscriptionSchema: Record<string, TableDefinition> = {
  subscriptions: {
    text: 'id partyId walletId paymentIntentId mandateId? agentId? instanceId? status terms billing currency',
    integer: 'version',
    bigint: 'nextEventAtMs? createdAtMs updatedAtMs',
    key: ['id'],
    indexes: [
      ['partyId', 'id'],
      ['nextEventAtMs', 'id'],
    ],
    uniqueIndexes: [['paymentIntentId']],
  },
  subscriptionPayments: {
    text: 'subscriptionId',
    integer: 'paymentNumber',
    bigint: 'amountCents taxCents chargedAtMs',
    key: ['subscriptionId', 'paymentNumber'],
    checks: { tax_within_amount: '"taxCents" between 0 and "amountCents"' },
  },
  checkoutKey: { text: 'secret', integer: 'id', key: ['id'], checks: { one_row: '"id" = 1' } },
}

/** In the order of their names, which is the order they are applied in. A published one is never changed. */
const migrations: Record<string, Migration> = {
  '0001_first_schema': {
    async up(db) {
      for (const [name, definition] of Object.entries(firstSchema)) await createTable(db, name, definition)
      await sql`insert into ${sql.table('clock')} (${sql.ref('id')}, ${sql.ref('offsetMs')}) values (1, 0)`.execute(db)
      // Every request asks for the next hold to lapse: only those that still hold are in the index.
      await db.schema
        .createIndex('cardTransactions_by_hold')
        .on('cardTransactions')
        .column('holdExpiresAtMs')
        .where('holdExpiresAtMs', 'is not', null)
        .execute()
    },
  },
  '0002_subscriptions': {
    async up(db) {
      for (const [name, definition] of Object.entries(subscriptionSchema)) await createTable(db, name, definition)
    },
  },
  '0003_payments': { up: createPaymentSchema },
  '0004_credentials': { up: createCredentialsSchema },
  '0005_invitations': { up: createInvitationsSchema },
  '0006_second_factors': { up: createSecondFactorSchema },
  '0007_invitation_links': { up: createInvitationLinksSchema },
  '0008_oauth': { up: createOAuthSchema },
  '0009_mcp_sessions': { up: createMcpSessionsSchema },
  '0010_card_pages': { up: createCardPagesSchema },
  '0011_mcp_session_bounds': { up: boundMcpSessions },
  '0012_root_keys': {
    async up(db) {
      await createRootKeysSchema(db)
      await hashIdempotencyKeys(db)
    },
  },
  '0013_spending': { up: createSpendingSchema },
  '0014_highest_time': { up: addHighestTime },
  '0015_sign_in_bounds': { up: createSignInBoundsSchema },
  '0016_subscription_transactions': { up: createSubscriptionTransactions },
  '0017_activity_heads': { up: sealActivityHeads },
  '0018_enrolments': { up: addEnrolments },
}

async function lastApplied(db: Kysely<Tables>): Promise<string | undefined> {
  try {
    const query = sql<{ name: string }>`select name from kysely_migration order by name desc limit 1`
    return (await query.execute(db)).rows[0]?.name
  } catch (error) {
    if (error instanceof Error && isMissingTable(error)) return undefined
    throw error
  }
}

/** The answer of a new database: 42P01 is PostgreSQL's undefined_table, of SQLite's error only the message tells. */
function isMissingTable(error: Error): boolean {
  return ('code' in error && error.code === '42P01') || error.message.startsWith('no such table')
}

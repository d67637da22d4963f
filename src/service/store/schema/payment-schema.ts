import type { Kysely } from 'kysely'
import { addColumns, createTable, type TableDefinition } from './schema.ts'

/** Payments, wires, deposits, their approvals, and what is known of parties and users to decide them. */
export async function createPaymentSchema(db: Kysely<unknown>): Promise<void> {
  for (const [name, definition] of Object.entries(paymentSchema)) await createTable(db, name, definition)
  await addColumns(db, 'parties', { text: 'phone? limits?' })
  await addColumns(db, 'users', { bigint: 'mfaVerifiedAtMs?' })
}

const paymentSchema: Record<string, TableDefinition> = {
  payments: {
    text: 'id kind partyId walletId actorType agentId? instanceId? currency status description? tags recipientPartyId? recipientAgentId? claimant? claimTokenHash? beneficiary? transactionId?',
    integer: 'delegated version',
    bigint: 'amountCents heldCents createdAtMs updatedAtMs',
    key: ['id'],
    checks: {
      amount_positive: '"amountCents" > 0',
      holds_while_pending: `"heldCents" = case when "status" = 'PENDING_CLAIM' then "amountCents" else 0 end`,
    },
    indexes: [
      ['partyId', 'id'],
      ['partyId', 'createdAtMs'],
      ['claimant', 'status'],
    ],
    uniqueIndexes: [['claimTokenHash']],
  },
  approvals: {
    text: 'id partyId walletId paymentId status reasons denialReason?',
    integer: 'version',
    bigint: 'createdAtMs updatedAtMs resolvedAtMs?',
    key: ['id'],
    indexes: [['partyId', 'id']],
    uniqueIndexes: [['paymentId']],
  },
  transactions: {
    text: 'id transactionType paymentId sourcePartyId? sourceWalletId? destinationPartyId? destinationWalletId? currency description?',
    integer: 'delegated',
    bigint: 'amountCents createdAtMs',
    key: ['id'],
    indexes: [
      ['sourcePartyId', 'id'],
      ['destinationPartyId', 'id'],
    ],
    // Money arrives once.
    uniqueIndexes: [['paymentId']],
  },
}

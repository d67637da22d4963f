import { type Kysely, sql } from 'kysely'
import { createTable } from './schema.ts'

/** Invitations to delegate, and what finds a customer by how it was invited. */
export async function createInvitationsSchema(db: Kysely<unknown>): Promise<void> {
  await createTable(db, 'customerInvitations', {
    text: 'id partyId agentId recipientType recipient permissions limits? status cancelReason? message? tags tokenHash customerPartyId? createdByAgentId? createdInstanceId? canceledByAgentId? canceledInstanceId?',
    integer: 'version',
    bigint: 'expiresAtMs pendingUntilMs? acceptedAtMs? declinedAtMs? createdAtMs updatedAtMs',
    key: ['id'],
    checks: { pending_ends: `("pendingUntilMs" is not null) = ("status" = 'PENDING')` },
    indexes: [
      ['partyId', 'id'],
      ['partyId', 'recipient', 'id'],
      ['agentId', 'id'],
    ],
    uniqueIndexes: [['tokenHash']],
  })
  // Every request asks for the next one to expire: only those that wait are in the index.
  await db.schema
    .createIndex('customerInvitations_by_pending')
    .on('customerInvitations')
    .column('pendingUntilMs')
    .where('pendingUntilMs', 'is not', null)
    .execute()
  await db.schema
    .createIndex('parties_by_email')
    .on('parties')
    .expression(sql`lower(${sql.ref('email')})`)
    .execute()
  await db.schema.createIndex('parties_by_phone').on('parties').column('phone').execute()
}

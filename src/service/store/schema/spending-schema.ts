import type { Kysely } from 'kysely'

/** What limits sum up and what ends with an agent is found without going through a party's whole history. */
export async function createSpendingSchema(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('cardTransactions_by_partyId_createdAtMs')
    .on('cardTransactions')
    .columns(['partyId', 'createdAtMs'])
    .execute()
  await db.schema
    .createIndex('agentCards_by_unused')
    .on('agentCards')
    .columns(['agentId', 'expiresAtMs'])
    .where('usedAtMs' as never, 'is', null)
    .execute()
}

import type { Kysely } from 'kysely'
import { addColumns, createTable, type TableDefinition } from './schema.ts'

const tables: Record<string, TableDefinition> = {
  accessTokens: {
    text: 'id credentialId secretHash',
    bigint: 'expiresAtMs',
    key: ['id'],
    indexes: [['expiresAtMs']],
    uniqueIndexes: [['secretHash']],
  },
  activity: {
    text: 'id partyId operation actorType agentId? userId? keyId instanceId? customerPartyId? resourceIds code? previousHash hash',
    integer: 'status',
    bigint: 'sequence createdAtMs',
    key: ['id'],
    indexes: [['partyId', 'instanceId', 'sequence']],
    // Two rows with one number would be a fork of the chain.
    uniqueIndexes: [['partyId', 'sequence']],
  },
}

/** What agents and keys have besides, the tokens made from keys, and the record of what was done. */
export async function createCredentialsSchema(db: Kysely<unknown>): Promise<void> {
  await addColumns(db, 'parties', { text: 'handle?' })
  await addColumns(db, 'agents', {
    text: 'tags={} slug? limits? updatedBy?',
    bigint: 'updatedAtMs? lastActiveAtMs?',
  })
  await addColumns(db, 'credentials', {
    text: 'userId? tags={} createdBy? revokedBy?',
    bigint: 'lastUsedAtMs?',
  })
  for (const [name, definition] of Object.entries(tables)) await createTable(db, name, definition)
  const index = (table: string, columns: string[]) =>
    db.schema
      .createIndex([table, 'by', ...columns].join('_'))
      .on(table)
      .columns(columns)
  await index('agents', ['partyId', 'id']).execute()
  await index('agents', ['handle']).unique().execute()
  await index('parties', ['handle']).unique().execute()
  await index('credentials', ['partyId', 'kind', 'id']).execute()
  await index('credentials', ['agentId', 'id']).execute()
}

import { type Kysely, sql } from 'kysely'
import { addColumns, createTable } from './schema.ts'

export interface McpSessionTables {
  mcpSessions: McpSessionRow
  mcpEvents: McpEventRow
  mcpMail: McpMailRow
}

/** A session of an MCP host, which any process that shares the database can go on with. */
export interface McpSessionRow {
  /** SHA-256 of the session's id, hexadecimal; the id itself is not stored. */
  idHash: string
  /** Of the grant or key that it is bound to. */
  principalId: string
  /** Whose credential that is. */
  partyId: string
  /** JSON of what a process needs to go on with it. */
  state: string
  createdAtMs: number
  usedAtMs: number
}

/** A message on an event stream, kept for a host that lost its connection. */
export interface McpEventRow {
  idHash: string
  streamId: string
  sequence: number
  message: string
  sentAtMs: number
}

/** A message for other processes that serve the session. */
export interface McpMailRow {
  id: string
  idHash: string
  /** Empty: all of them. */
  addressee: string
  message: string
  sentAtMs: number
}

export async function createMcpSessionsSchema(db: Kysely<unknown>): Promise<void> {
  await createTable(db, 'mcpSessions', {
    text: 'idHash principalId state',
    bigint: 'createdAtMs usedAtMs',
    key: ['idHash'],
    indexes: [['principalId', 'usedAtMs'], ['usedAtMs']],
  })
  await createTable(db, 'mcpEvents', {
    text: 'idHash streamId message',
    bigint: 'sequence sentAtMs',
    key: ['idHash', 'streamId', 'sequence'],
    indexes: [['idHash', 'sentAtMs']],
  })
  await createTable(db, 'mcpMail', {
    text: 'id idHash addressee message',
    bigint: 'sentAtMs',
    key: ['id'],
    indexes: [['idHash', 'addressee']],
  })
}

/** Whose sessions they are, and what finds those that are old. What was kept before may be secret, so it goes. */
export async function boundMcpSessions(db: Kysely<unknown>): Promise<void> {
  await addColumns(db, 'mcpSessions', { text: 'partyId=' })
  await sql`update ${sql.table('mcpSessions')} set ${sql.ref('partyId')} = ${sql.ref('principalId')}`.execute(db)
  await db.schema.createIndex('mcpSessions_by_party').on('mcpSessions').columns(['partyId', 'usedAtMs']).execute()
  for (const table of ['mcpEvents', 'mcpMail']) {
    await sql`delete from ${sql.table(table)}`.execute(db)
    await db.schema.createIndex(`${table}_by_sentAtMs`).on(table).column('sentAtMs').execute()
  }
}

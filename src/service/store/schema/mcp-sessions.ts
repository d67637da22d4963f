import { bigint, filled, type RowOf, table, text } from './table.ts'

/** A session of an MCP host, which any process that shares the database can go on with. */
export const mcpSessions = table({
  '0009_mcp_sessions': {
    /** SHA-256 of the session's id, hexadecimal; the id itself is not stored. */
    idHash: text,
    /** The grant or key that the session is bound to. */
    principalId: text,
    /** JSON of what a process needs to go on with it. */
    state: text,
    createdAtMs: bigint,
    usedAtMs: bigint,
    $key: ['idHash'],
    $indexes: ['principalId usedAtMs', 'usedAtMs'],
  },
  '0011_mcp_session_bounds': {
    /** Whose credential that is. */
    partyId: filled(text, ''),
    $namedIndexes: { party: '("partyId", "usedAtMs")' },
  },
  '0023_processes': {
    /** JSON array: the addresses of resources that its host asked to hear of. */
    subscribed: filled(text, '[]'),
  },
})

export type McpSessionRow = RowOf<typeof mcpSessions>

/** A message on an event stream, kept for a host that lost its connection. */
export const mcpEvents = table({
  '0009_mcp_sessions': {
    idHash: text,
    streamId: text,
    message: text,
    sequence: bigint,
    sentAtMs: bigint,
    $key: ['idHash', 'streamId', 'sequence'],
    $indexes: ['idHash sentAtMs'],
  },
  '0011_mcp_session_bounds': {
    $indexes: ['sentAtMs'],
  },
})

export type McpEventRow = RowOf<typeof mcpEvents>

/** A message for other processes that serve the session. */
export const mcpMail = table({
  '0009_mcp_sessions': {
    id: text,
    idHash: text,
    /** Empty: all of them. */
    addressee: text,
    message: text,
    sentAtMs: bigint,
    $indexes: ['idHash addressee'],
  },
  '0011_mcp_session_bounds': {
    $indexes: ['sentAtMs'],
  },
  '0024_tenants': {
    $tenantKey: ['idHash', 'id'],
  },
})

export type McpMailRow = RowOf<typeof mcpMail>

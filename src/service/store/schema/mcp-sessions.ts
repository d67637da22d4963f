import { bigint, table, text } from './table.ts'

/** A session of an MCP host. Any process that uses this database can continue the session. */
export const mcpSessions = table({
  /** SHA-256 of the session's id, in hexadecimal. The id itself is not stored. */
  idHash: text,
  /** The grant or key that the session is bound to. */
  principalId: text,
  /** JSON of the state that a process needs to continue the session. */
  state: text,
  createdAtMs: bigint,
  usedAtMs: bigint,
  /** The party that owns the grant or key in `principalId`. */
  partyId: text,
  /** JSON array of the URIs of the resources that the session's host subscribed to. */
  subscribed: text,
  $key: ['idHash'],
  $indexes: ['principalId usedAtMs', 'usedAtMs'],
  $namedIndexes: { party: '("partyId", "usedAtMs")' },
})

/** A message on an event stream of a session. It is stored for hosts that lose the connection and resume the stream. */
export const mcpEvents = table({
  idHash: text,
  streamId: text,
  message: text,
  sequence: bigint,
  sentAtMs: bigint,
  $key: ['idHash', 'streamId', 'sequence'],
  $indexes: ['idHash sentAtMs', 'sentAtMs'],
})

/** A message from one process to others that serve the same session. */
export const mcpMail = table({
  id: text,
  idHash: text,
  /** The process that gets the message; an empty string if all processes of the session get it. */
  addressee: text,
  message: text,
  sentAtMs: bigint,
  $tenant: 'idHash',
  $indexes: ['idHash addressee', 'sentAtMs'],
})

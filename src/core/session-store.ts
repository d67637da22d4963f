/**
 * The stored sessions of MCP hosts. Any process behind the same address can continue a session, even after a restart.
 * Each function is a separate transaction. The store contains no secret: it keeps only the hash of a session's id, and
 * a note in place of each message that contains a secret.
 */
export interface SessionStore {
  /**
   * Stores a new session. If that exceeds the bounds, the least recently used sessions end with all their data. Returns
   * the hashes of the ids of the ended sessions.
   */
  create(session: SessionRecord, bounds: SessionBounds): Promise<string[]>
  find(idHash: string): Promise<SessionRecord | undefined>
  touch(idHash: string, usedAtMs: number): Promise<void>
  /** Ends a session with its events and mail. */
  remove(idHash: string): Promise<void>
  /** Changes the addresses that the session's host subscribed to. */
  subscribe(idHash: string, change: (subscribed: readonly string[]) => readonly string[]): Promise<void>
  /** Returns the addresses that each session subscribed to. Sessions without subscriptions may be left out. */
  subscriptions(idHashes: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>
  /** Stores an event. If its stream or session then exceeds the bounds, the oldest events are dropped. */
  appendEvent(event: StoredEvent, bounds: EventBounds): Promise<void>
  /** Deletes the events of a stream up to and including `upToSequence`, which the host has received. */
  forgetEvents(idHash: string, streamId: string, upToSequence: number): Promise<void>
  /** Returns the events of a stream after `afterSequence`, oldest first. */
  readEvents(idHash: string, streamId: string, afterSequence: number): Promise<StoredEvent[]>
  /** Leaves a message for the processes that serve the session, once for each id. Drops it if too many are unread. */
  deliver(mail: SessionMail, maxUnread: number): Promise<void>
  /**
   * Removes and returns the messages for `addressee`. Also returns broadcast messages, which stay until they expire.
   */
  takeMail(idHash: string, addressee: string): Promise<SessionMail[]>
  /** Calls `delivered` when another process left mail for the session. A notification may be lost. */
  onMail(idHash: string, delivered: () => void): () => void
  /** Deletes expired data. */
  sweep(cutoffs: Cutoffs): Promise<void>
}

export interface SessionRecord {
  /** SHA-256 of the session's id, hexadecimal. */
  idHash: string
  principalId: string
  /** The party of the credential. If there are too many sessions, the party with the most sessions loses one. */
  partyId: string
  /** The state that a process needs to continue the session, as JSON. The store does not read it. */
  state: string
  createdAtMs: number
  usedAtMs: number
}

export interface SessionBounds {
  sessions: number
  sessionsPerPrincipal: number
  /** Sessions that were last used before this time have ended. */
  usedSinceMs: number
}

export interface EventBounds {
  perStream: number
  perSession: number
  /** The total length of all messages of a session. */
  characters: number
}

/** The cutoff times: anything older is deleted. */
export interface Cutoffs {
  /** Sessions last used before this time are deleted with all their data. */
  usedSinceMs: number
  eventsSinceMs: number
  mailSinceMs: number
}

export interface StoredEvent {
  idHash: string
  streamId: string
  /** The event's number in its stream, beginning with 1. */
  sequence: number
  /** A JSON-RPC message as JSON. */
  message: string
  sentAtMs: number
}

export interface SessionMail {
  id: string
  idHash: string
  /** The process that the message is for; empty if it is for all processes that serve the session. */
  addressee: string
  /** A JSON-RPC message as JSON. */
  message: string
  sentAtMs: number
}

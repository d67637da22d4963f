/**
 * The stored sessions of MCP hosts. Any process behind the same address can continue a session, even after a restart.
 * The store contains no secrets: it has only the hash of a session's id, and a placeholder for each message that
 * contains a secret.
 */
export interface SessionStore {
  /**
   * Stores a new session. Deletes expired sessions and, if there are too many, the least recently used ones, with all
   * their data. Returns the hashed ids of the deleted sessions.
   */
  create(session: SessionRecord, bounds: SessionBounds): Promise<string[]>
  find(idHash: string): Promise<SessionRecord | undefined>
  touch(idHash: string, usedAtMs: number): Promise<void>
  /** Deletes a session with its events and mail. */
  remove(idHash: string): Promise<void>
  /** Applies `change` to the list of resource addresses that the session's host subscribed to. */
  subscribe(idHash: string, change: (subscribed: readonly string[]) => readonly string[]): Promise<void>
  /** Returns the resource addresses that each session subscribed to. Leaves out sessions without subscriptions. */
  subscriptions(idHashes: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>
  /** Stores an event. Then deletes the oldest events of the stream or session if it exceeds its bounds. */
  appendEvent(event: StoredEvent, bounds: EventBounds): Promise<void>
  /** Deletes the events of a stream up to and including `upToSequence`, which the host has received. */
  forgetEvents(idHash: string, streamId: string, upToSequence: number): Promise<void>
  /** Returns the events of a stream after `afterSequence`, oldest first. */
  readEvents(idHash: string, streamId: string, afterSequence: number): Promise<StoredEvent[]>
  /**
   * Stores a message for other processes that serve the session. Ignores a message whose id is already stored, and any
   * message beyond `maxUnread` unread ones.
   */
  deliver(mail: SessionMail, maxUnread: number): Promise<void>
  /** Removes and returns the mail for `addressee`. Also returns broadcast messages, which stay until they expire. */
  takeMail(idHash: string, addressee: string): Promise<SessionMail[]>
  /**
   * Calls `delivered` when mail for the session is stored, unless the notification from the storing process is lost.
   * Returns a function that unsubscribes.
   */
  onMail(idHash: string, delivered: () => void): () => void
  /** Deletes all data from before the cutoff times. */
  sweep(cutoffs: Cutoffs): Promise<void>
}

export interface SessionRecord {
  /** SHA-256 of the session's id, hexadecimal. */
  idHash: string
  principalId: string
  /** The credential's party. If there are too many sessions in total, the party with the most sessions loses one. */
  partyId: string
  /** The state that a process needs to continue the session, as JSON. The store does not interpret it. */
  state: string
  createdAtMs: number
  usedAtMs: number
}

export interface SessionBounds {
  sessions: number
  sessionsPerPrincipal: number
  /** Sessions that were last used before this time have expired. */
  usedSinceMs: number
}

export interface EventBounds {
  perStream: number
  perSession: number
  /** The maximum total length of a session's messages. */
  characters: number
}

/** The times before which data has expired. */
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

/** A message from one process to another that serves the same session, or to all of them. */
export interface SessionMail {
  id: string
  idHash: string
  /** The process that the message is for; empty for all processes. */
  addressee: string
  /** A JSON-RPC message as JSON. */
  message: string
  sentAtMs: number
}

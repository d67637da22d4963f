/**
 * The stored sessions of MCP hosts. Any process behind the same address can continue a session, even after a restart.
 * The store contains no secrets: it has only the hash of a session's id, and a placeholder for each message that
 * contains a secret.
 */
export interface SessionStore {
  /**
   * Stores a new session. Deletes expired sessions. If there are still too many sessions, also deletes the least
   * recently used ones. The data of a session is deleted with it. Returns the hashed ids of the deleted sessions.
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
  /**
   * Stores an event, then deletes the oldest events of its stream if the stream has more than `bounds` allows. Does the
   * same for the session, but not after every event.
   */
  appendEvent(event: StoredEvent, bounds: EventBounds): Promise<void>
  /** Deletes a stream's events up to and including `upToSequence`. The host has received these events. */
  forgetEvents(idHash: string, streamId: string, upToSequence: number): Promise<void>
  /** Returns the events of a stream after `afterSequence`, oldest first. */
  readEvents(idHash: string, streamId: string, afterSequence: number): Promise<StoredEvent[]>
  /**
   * Stores a message for other processes that serve the session. Ignores the message if its id is already stored, or if
   * `maxUnread` messages for the session are already stored.
   */
  deliver(mail: SessionMail, maxUnread: number): Promise<void>
  /** Removes and returns the mail for `addressee`. Also returns broadcast messages, which stay until they expire. */
  takeMail(idHash: string, addressee: string): Promise<SessionMail[]>
  /**
   * Calls `delivered` when a process stores mail for the session. Misses the mail if the notification from that process
   * is lost. Returns a function that unsubscribes.
   */
  onMail(idHash: string, delivered: () => void): () => void
  /** Deletes all data that is older than the cutoff time for its kind. */
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

/** The cutoff times for each kind of data. Older data has expired. */
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

/** A message between processes that serve the same session. It is for one process, or for all of them. */
export interface SessionMail {
  id: string
  idHash: string
  /** The id of the process that the message is for. An empty string means all processes. */
  addressee: string
  /** A JSON-RPC message as JSON. */
  message: string
  sentAtMs: number
}

/**
 * The sessions of MCP hosts, kept where any process behind the same address can go on with one, also after a restart.
 * Each function is a transaction of its own. Nothing in it is a secret: a session's id is stored as its hash, and of a
 * message that tells a secret only that there was one.
 */
export interface SessionStore {
  /**
   * Keeps a new session. Beyond the bounds, those that were used the longest ago end with all that is theirs; it gives
   * back the hashes of their ids.
   */
  create(session: SessionRecord, bounds: SessionBounds): Promise<string[]>
  find(idHash: string): Promise<SessionRecord | undefined>
  touch(idHash: string, usedAtMs: number): Promise<void>
  /** Ends a session with its events and mail. */
  remove(idHash: string): Promise<void>
  /** Changes the addresses that the session's host asked to hear of. */
  subscribe(idHash: string, change: (subscribed: readonly string[]) => readonly string[]): Promise<void>
  /** Returns the addresses that each session subscribed to; a session without any may be left out. */
  subscriptions(idHashes: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>
  /** Keeps an event, of its stream and of its session no more than the latest within the bounds. */
  appendEvent(event: StoredEvent, bounds: EventBounds): Promise<void>
  /** Forgets the events of a stream up to that one, which its host has. */
  forgetEvents(idHash: string, streamId: string, upToSequence: number): Promise<void>
  /** The events of a stream after that one, oldest first. */
  readEvents(idHash: string, streamId: string, afterSequence: number): Promise<StoredEvent[]>
  /** Leaves a message for the processes that serve the session, once for an id; drops it where too many are unread. */
  deliver(mail: SessionMail, unread: number): Promise<void>
  /** The messages for that addressee, which are removed, and those for everybody, which stay until they are too old. */
  takeMail(idHash: string, addressee: string): Promise<SessionMail[]>
  /** Calls back when another process left mail for the session; may fail to. */
  onMail(idHash: string, delivered: () => void): () => void
  /** Forgets what nobody will ask for any more. */
  sweep(before: Ages): Promise<void>
}

export interface SessionRecord {
  /** SHA-256 of the session's id, hexadecimal. */
  idHash: string
  principalId: string
  /** The party of the credential. When room is needed, a session of the party with the most ends. */
  partyId: string
  /** JSON of what a process needs to go on with it; the store does not look at it. */
  state: string
  createdAtMs: number
  usedAtMs: number
}

export interface SessionBounds {
  sessions: number
  sessionsPerPrincipal: number
  /** Sessions that were not used since then have ended. */
  usedSinceMs: number
}

export interface EventBounds {
  perStream: number
  perSession: number
  /** The length of all messages of a session together. */
  characters: number
}

/** From when on something is kept. */
export interface Ages {
  /** Sessions, with all that is theirs, by their last use. */
  usedSinceMs: number
  eventsSinceMs: number
  mailSinceMs: number
}

export interface StoredEvent {
  idHash: string
  streamId: string
  /** 1, 2, 3 … in a stream. */
  sequence: number
  /** A JSON-RPC message as JSON. */
  message: string
  sentAtMs: number
}

export interface SessionMail {
  id: string
  idHash: string
  /** The process that it is for; empty: all that serve the session. */
  addressee: string
  /** A JSON-RPC message as JSON. */
  message: string
  sentAtMs: number
}

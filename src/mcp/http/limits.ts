/** The default limits of the MCP endpoint, its sessions and their streams. */
export const defaultLimits = Object.freeze({
  /** The greatest length of a request's body in bytes. */
  bodyBytes: 4 * 1024 * 1024,
  /**
   * The most sessions of all principals together. Beyond this limit, the party with the most sessions loses its least
   * recently used session.
   */
  sessions: 10_000,
  sessionsPerPrincipal: 2_000,
  /** The idle time after which a session ends. */
  idleMs: 30 * 60_000,
  /** The most open event streams of an MCP 2025 session. In MCP 2026, `sessions` limits the subscriptions instead. */
  streamsPerSession: 16,
  /** The most concurrent requests of a session. */
  runningPerSession: 256,
  /** The greatest total length, in characters, of the bodies of a session's running requests. */
  runningCharactersPerSession: 8 * 1024 * 1024,
  /** The most events that a stream stores for a host that lost its connection. */
  eventsPerStream: 256,
  /**
   * The greatest length of a stored message. A longer message is sent, but only a note is stored in its place. If the
   * connection breaks before the host has read the message, the host gets the note when it resumes the stream.
   */
  eventBytes: 256 * 1024,
  /** The most stored events of all streams of a session together. Beyond this limit, the oldest event is dropped. */
  eventsPerSession: 1_000,
  eventCharactersPerSession: 8 * 1024 * 1024,
  /** How long an event is stored, so that a host can resume its stream. */
  eventKeptMs: 10 * 60_000,
  /** The most unread messages between the processes that serve a session. Further messages are dropped. */
  mailPerSession: 100,
  /** How long a message between processes is stored. */
  mailKeptMs: 60_000,
  /** How often expired and delivered data is deleted from the store. */
  sweepMs: 15_000,
  /**
   * The most bytes that wait for a slow host. Beyond this limit, the response ends, but the host can resume the stream.
   */
  unreadBytes: 256 * 1024,
  /** How often to write to an open stream, so that no proxy closes it. */
  heartbeatMs: 15_000,
  /**
   * How often to poll the store for messages and events from other processes while a request is running or a stream is
   * being resumed.
   */
  pollMs: 200,
  /** How often to poll the store for changes while a host listens. */
  watchMs: 1_000,
  /** How long to wait after the first of several changes, so that they are announced together. */
  gatherMs: 50,
  /** The longest time that a resumed stream waits for an answer from another process. */
  followMs: 5 * 60_000,
  /** The longest time that `close` waits for running requests. */
  drainMs: 5_000,
})

export type Limits = Readonly<Record<keyof typeof defaultLimits, number>>

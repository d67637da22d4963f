/**
 * The bounds of an endpoint, a session and a stream. Beyond them a request is refused, or the oldest entry is dropped.
 */
export const defaultLimits = Object.freeze({
  /** The greatest length of a request's body. */
  bodyBytes: 4 * 1024 * 1024,
  /** The most sessions of all principals together. Beyond this limit, the least recently used session ends. */
  sessions: 10_000,
  sessionsPerPrincipal: 2_000,
  /** The idle time after which a session ends. */
  idleMs: 30 * 60_000,
  /** The most open event streams of a session. In MCP 2026, the whole endpoint may have `sessions` streams. */
  streamsPerSession: 16,
  /** The most concurrent requests of a session. */
  runningPerSession: 256,
  /** The greatest total length of the bodies of a session's running requests. */
  runningCharactersPerSession: 8 * 1024 * 1024,
  /** The most events that a stream stores for a host that lost its connection. */
  eventsPerStream: 256,
  /** The largest stored event. A larger message is sent once and cannot be resumed. */
  eventBytes: 256 * 1024,
  /** The most stored events of a session's streams together. Beyond this limit, the oldest is dropped. */
  eventsPerSession: 1_000,
  eventCharactersPerSession: 8 * 1024 * 1024,
  /** How long after an event a stream can be resumed. */
  eventKeptMs: 10 * 60_000,
  /** The most unread messages from other processes, and how long each is kept. */
  mailPerSession: 100,
  mailKeptMs: 60_000,
  /** How often the store deletes expired and delivered data. */
  sweepMs: 15_000,
  /** The most bytes that wait for a slow reader. Beyond this limit, the connection ends, and the host may resume. */
  unreadBytes: 256 * 1024,
  /** How often to write to an open stream, so that no proxy closes it. */
  heartbeatMs: 15_000,
  /** How often to poll the store for messages from other processes while a request waits for one. */
  pollMs: 200,
  /** How often to poll the store for changes while a host listens. */
  watchMs: 1_000,
  /** Changes within this time are announced together. */
  gatherMs: 50,
  /** How long a resumed stream waits for an answer from another process. */
  followMs: 5 * 60_000,
  /** How long `close` waits for running requests. */
  drainMs: 5_000,
})

export type Limits = Readonly<Record<keyof typeof defaultLimits, number>>

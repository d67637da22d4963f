/** The bounds of an endpoint, a session and a stream. Beyond them a request is refused, or the oldest gives way. */
export const defaultLimits = Object.freeze({
  /** Length of a request's body. */
  bodyBytes: 4 * 1024 * 1024,
  /** Sessions of all principals together; beyond it the session that was used the longest ago ends. */
  sessions: 10_000,
  sessionsPerPrincipal: 2_000,
  /** A session that nobody uses for so long ends. */
  idleMs: 30 * 60_000,
  /** Open event streams of a session; of the 2026 era, those of the whole endpoint are `sessions`. */
  streamsPerSession: 16,
  /** Requests of a session that run at the same time. */
  runningPerSession: 256,
  /** Length of the bodies of all that run. */
  runningCharactersPerSession: 8 * 1024 * 1024,
  /** Events that a stream keeps for a host that lost its connection. */
  eventsPerStream: 256,
  /** A larger message goes out once and is not kept for a resumption. */
  eventBytes: 256 * 1024,
  /** Events that all streams of a session keep; the oldest gives way. */
  eventsPerSession: 1_000,
  eventCharactersPerSession: 8 * 1024 * 1024,
  /** How long after an event a stream can be resumed. */
  eventKeptMs: 10 * 60_000,
  /** Messages between processes that nobody took, and how long one waits for somebody. */
  mailPerSession: 100,
  mailKeptMs: 60_000,
  /** How often the store forgets what is too old, or was delivered. */
  sweepMs: 15_000,
  /** Bytes that wait for a slow reader; beyond it the connection ends, and the host may resume. */
  unreadBytes: 256 * 1024,
  /** How often an open stream is written to, so that no proxy takes it for dead. */
  heartbeatMs: 15_000,
  /** How often the store is asked for what another process left there, while somebody waits for it. */
  pollMs: 200,
  /** How often it is asked what changed, while a host listens. */
  watchMs: 1_000,
  /** Changes within this time are told together. */
  gatherMs: 50,
  /** How long a resumed stream waits for an answer that another process owes. */
  followMs: 5 * 60_000,
  /** How long `close` waits for what runs. */
  drainMs: 5_000,
})

export type Limits = Readonly<Record<keyof typeof defaultLimits, number>>

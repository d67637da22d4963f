/** What one endpoint, session or stream may take up. Beyond it the request is refused or the oldest gives way. */
export interface Limits {
  /** Length of a request's body. */
  bodyBytes: number
  /** Sessions of all principals together; beyond it the session that was used the longest ago ends. */
  sessions: number
  sessionsPerPrincipal: number
  /** A session that nobody uses for so long ends. */
  idleMs: number
  /** Open event streams of a session; of the 2026 era, those of the whole endpoint are `sessions`. */
  streamsPerSession: number
  /** Requests of a session that run at the same time. */
  runningPerSession: number
  /** Length of the bodies of all that run. */
  runningCharactersPerSession: number
  /** What a stream keeps for a host that lost its connection. */
  eventsPerStream: number
  /** A larger message goes out once and is not kept for a resumption. */
  eventBytes: number
  /** What all streams of a session keep; the oldest gives way. */
  eventsPerSession: number
  eventCharactersPerSession: number
  /** How long after an event a stream can be resumed. */
  eventKeptMs: number
  /** Messages between processes that nobody took, and how long one waits for somebody. */
  mailPerSession: number
  mailKeptMs: number
  /** How often the store forgets what is too old, or was delivered. */
  sweepMs: number
  /** What waits for a reader who does not read; beyond it the connection ends, and the host may resume. */
  unreadBytes: number
  /** How often an open stream is written to, so that no proxy takes it for dead. */
  heartbeatMs: number
  /** How often the store is asked for what another process left there, while somebody waits for it. */
  pollMs: number
  /** How often it is asked what changed, while a host listens. */
  watchMs: number
  /** What changes within it is told together. */
  gatherMs: number
  /** How long a resumed stream waits for an answer that another process owes. */
  followMs: number
  /** How long `close` waits for what runs. */
  drainMs: number
}

export const defaultLimits: Limits = Object.freeze({
  bodyBytes: 4 * 1024 * 1024,
  sessions: 10_000,
  sessionsPerPrincipal: 2_000,
  idleMs: 30 * 60_000,
  streamsPerSession: 16,
  runningPerSession: 256,
  runningCharactersPerSession: 8 * 1024 * 1024,
  eventsPerStream: 256,
  eventBytes: 256 * 1024,
  eventsPerSession: 1_000,
  eventCharactersPerSession: 8 * 1024 * 1024,
  eventKeptMs: 10 * 60_000,
  mailPerSession: 100,
  mailKeptMs: 60_000,
  sweepMs: 15_000,
  unreadBytes: 256 * 1024,
  heartbeatMs: 15_000,
  pollMs: 200,
  watchMs: 1_000,
  gatherMs: 50,
  followMs: 5 * 60_000,
  drainMs: 5_000,
})

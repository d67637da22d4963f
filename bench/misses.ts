import type { Row } from './table.ts'

/** The known reasons for missed goals. Each pattern matches the names of the measurements that its reason explains. */
const knownReasons: readonly (readonly [RegExp, string])[] = [
  [
    /^CPU of callTool in process, get_agent_card/,
    'A read takes so little time that the extra work of a tool call matters: describing the result in words for the model (a tenth of the time) and validating the result.',
  ],
  [
    /^CPU of callTool in process, .*repeat detection/,
    'The call is stored before it is sent, so that a repeat is recognized even if the process dies in between. This takes a second durable transaction.',
  ],
  [
    /^(?:CPU of a tool call over HTTP|tool calls over (?:stdio|HTTP))/,
    'A tool call takes two durable transactions: the first stores the call, to recognize a repeat; the second performs it and records its idempotency key, activity and events. The result is also described in words for the model. A REST request needs only the second transaction, and the one-tool server writes one row at most.',
  ],
  [
    /^authorizations, SQLite/,
    'The service also handles requests, checks permissions, validates against schemas and records events; the bare statements do not. More than half of its CPU time is spent in JavaScript, spread over many small functions.',
  ],
  [
    /^authorizations, PostgreSQL/,
    'The service also handles requests, checks permissions, validates against schemas and records events; the bare statements do not. The service saves time only if several requests arrive together and share a transaction.',
  ],
  [
    /^authorizations on one wallet/,
    'Writes to one wallet run one after another. Each of their statements takes a round trip to PostgreSQL, but only a function call in SQLite.',
  ],
  [
    /^\d+ authorizations at once on one wallet/,
    'One thread serves authorizations and health checks. Between two turns of its event loop, it accepts all waiting connections, and a health check waits for that.',
  ],
  [/^p99 of a quiet party/, 'SQLite allows one writer at a time, so the quiet party waits for the hot one.'],
  [
    /^records created over REST/,
    'This package commits each record to disk, with its idempotency key, activity and events; the other program only creates an object in memory.',
  ],
  [
    /: with (?:events|run entries) against without/,
    'The additional rows are written to the same disk and, on PostgreSQL, over the same connections.',
  ],
  [
    /^resident memory/,
    'About 55 MB are pages of the Node executable, which all Node processes share; a bare Node process uses 33 MB of them. About 44 MB belong to the process alone: 30 MB of heap for the SDK, zod and all operations, and the rest for the database and compiled code.',
  ],
  [
    /^time until/,
    'The first call also opens the database, checks its schema, reads the root keys and compiles the schemas of the operations.',
  ],
  [
    /^bytes on disk/,
    'Recorded answers without secrets are neither compressed nor encrypted, because doing so took a fifth of the CPU time of a write. PostgreSQL also adds a header to each row.',
  ],
  [
    /^list_events, .* the agent key$/,
    'Whether an agent may read an event depends on the record that the event is about, so a page reads up to 1,000 events and their records. The small database has fewer.',
  ],
  [
    /rows against/,
    'The indexes of a large database have more levels, and less of them fits into the cache. A few slow calls are enough to raise the p99; measure again on a quiet machine.',
  ],
]

/** Marks each missed goal with the number of its reason. Returns the marked rows and the numbered reasons. */
export function explainMisses(rows: readonly Row[]): { marked: Row[]; notes: string[] } {
  const notes: string[] = []
  const marked = rows.map((row) => {
    if (row.reached !== 'no') return row
    const known = knownReasons.find(([measurement]) => measurement.test(row.measurement))
    const reason = known?.[1] ?? 'The reason is not known. Measure again on a quiet machine, then profile.'
    if (!notes.includes(reason)) notes.push(reason)
    return { ...row, reached: `no (${notes.indexOf(reason) + 1})` as const }
  })
  return { marked, notes: notes.map((note, index) => `(${index + 1}) ${note}`) }
}

import type { Row } from './table.ts'

/** The reasons why this package misses certain goals. Each pattern matches the names of the measurements. */
const knownReasons: readonly (readonly [RegExp, string])[] = [
  [
    /^CPU of callTool in process, get_agent_card/,
    'A read is cheap, so writing its answer in words for the model (a tenth of the call) and checking the result against the schema weigh more.',
  ],
  [
    /^CPU of callTool in process, .*remembered/,
    'A call that pays is stored before it is sent, so that its repeat is recognized even if the process dies. This is a second durable transaction.',
  ],
  [
    /^(?:CPU of a tool call over HTTP|tool calls over (?:stdio|HTTP))/,
    'A tool call is two durable transactions: the memory of sent calls, then the request with its key, activity, events and ledger. Its answer is also written in words for the model. The echo stores nothing.',
  ],
  [
    /^authorizations, SQLite/,
    'The bare statements have no authentication, schemas, sealed activity chain, events or recorded answer. More than half of the CPU is JavaScript, in many small pieces.',
  ],
  [
    /^authorizations, PostgreSQL/,
    'The reason is the same as on SQLite. Requests that arrive together share a transaction, which needs more than one request in flight to gain.',
  ],
  [
    /^authorizations on one wallet/,
    "Writes of one wallet run in sequence, and each of their statements is a round trip to PostgreSQL; SQLite's are function calls.",
  ],
  [
    /^\d+ authorizations at once on one wallet/,
    'One thread serves requests and health. Between two turns of its event loop it accepts all connections that wait.',
  ],
  [/^p99 of a quiet party/, 'SQLite has one writer, so a quiet party waits for the commit of the hot one.'],
  [
    /^records created over REST/,
    'Ours commits each record to the disk, with its key, activity and events; the other keeps an object in memory.',
  ],
  [
    /: with (?:events|run entries) against without/,
    'The rows are written to the same disk. On PostgreSQL they also share its connections.',
  ],
  [
    /^resident memory/,
    'About 55 MB are pages of the Node program, which processes share; a bare Node process touches 33 MB of them. About 44 MB belong to the process: 30 MB of heap with the SDK, zod and all operations, and the rest for the database and compiled code.',
  ],
  [
    /^time until/,
    'The first call also opens the database, checks its schema, reads the root keys and compiles the schemas of the operations.',
  ],
  [
    /^bytes on disk/,
    "An answer without a secret is recorded as plain text: compressing and sealing it took a fifth of a write's CPU. PostgreSQL adds a header to each row.",
  ],
  [
    /^list_events, .* an agent$/,
    "Each event's record decides whether an agent may read it, so a page reads up to 1,000 events and their records. A small database has fewer.",
  ],
  [
    /rows against/,
    'Lists seek through an index, which grows deeper and fits less into the cache. A single slow call sets a p99 of 100 samples; measure again on a quiet machine.',
  ],
]

/** Marks the missed goals with a number. Returns the marked rows and the numbered reasons. */
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

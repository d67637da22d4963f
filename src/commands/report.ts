import { once } from 'node:events'
import { createWriteStream, existsSync } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { ConfigError } from '../config/load.ts'
import { createLogger } from '../config/log.ts'
import type { Config } from '../config/settings.ts'
import { show } from '../core/errors.ts'
import { foreignName } from '../core/foreign-text.ts'
import { realSystem } from '../core/system.ts'
import { type ReportFormat, reportFormats } from '../service/pages/console/report/report-file.ts'
import { fileOf, makeReport } from '../service/pages/console/report/report-page.ts'
import type { Store } from '../service/store/engine/store.ts'
import { findRunsById, newestRuns } from '../service/store/runs.ts'
import type { RunRow } from '../service/store/schema/runs.ts'
import { commandConfig, type Flags } from './command-config.ts'
import { openEmbedded } from './embedded-service.ts'
import { explainErrors } from './explain.ts'

type ReportFlags = Flags & { run: string; format?: string; output?: string; party?: string }

/** Writes the report of a run that is stored in the configured database. Other processes may be using the database. */
export async function report(flags: ReportFlags): Promise<void> {
  await explainErrors(async () => {
    const config = commandConfig('report', flags)
    const format = formatOf(flags)
    if (config.baseUrl !== undefined) {
      const path = flags.run.startsWith('run_') ? `/console/runs/${encodeURIComponent(flags.run)}/report` : '/console'
      throw new ConfigError(`The runs are at ${config.baseUrl}: download the report from ${config.baseUrl}${path}.`)
    }
    const { store, close } = await openToRead(config)
    try {
      const run = await namedRun(store, flags)
      const report = await makeReport(store, run, { environment: config.environment, purpose: 'command' })
      const file = fileOf(store, report, format)
      await write(isForTerminal(flags) ? asPlainText(file) : file, flags.output)
    } finally {
      await close()
    }
  })
}

/** Opens the configured database. Refuses to create a SQLite file that does not exist. @throws ConfigError */
export async function openToRead(config: Config) {
  const path = /^sqlite:(.+)$/.exec(config.databaseUrl)?.[1]
  if (path !== undefined && !existsSync(path)) {
    throw new ConfigError(
      `PAYMENTS_DATABASE_URL (--database-url) got ${show(config.databaseUrl)}, where there is no database; it accepts the database that contains the runs.`,
    )
  }
  const log = createLogger({ level: 'error' })
  return openEmbedded(config, realSystem, log, undefined, { hasUpkeep: false })
}

/** Returns whether the report is printed for a person: no format or file was chosen, and stdout is a terminal. */
const isForTerminal = ({ format, output }: ReportFlags) =>
  format === undefined && output === undefined && process.stdout.isTTY === true

/** Removes the backslashes that escape Markdown in untrusted text, because a terminal does not render Markdown. */
export async function* asPlainText(markdown: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const part of markdown) yield part.replace(/\\([!-/:-@[-`{-~])/g, '$1')
}

function formatOf(flags: ReportFlags): ReportFormat {
  const { format } = flags
  if (format === undefined) return isForTerminal(flags) ? 'md' : 'html'
  const knownFormat = reportFormats.find((name) => name === format)
  if (knownFormat === undefined)
    throw new ConfigError(`--format got ${show(format)}; it accepts ${reportFormats.join(', ')}.`)
  return knownFormat
}

async function namedRun(store: Store, { run: name, party }: ReportFlags): Promise<RunRow> {
  const found = await store.read((tx) => findRunsById(tx, name, party))
  // Prefers the run with this id to a run whose instance id is the same string.
  const run = found.find(({ id }) => id === name) ?? found[0]
  if (run !== undefined && (found.length === 1 || run.id === name)) return run
  if (run !== undefined) {
    const parties = found.map(({ partyId }) => partyId).join(', ')
    throw new ConfigError(
      `--run got ${show(name)}, but several parties have a run with that id: add --party with one of ${parties}.`,
    )
  }
  const newest = await store.read((tx) => newestRuns(tx, 5))
  const names = newest.map(({ id, instanceId }) => (instanceId === null ? id : foreignName(instanceId, id)))
  const advice = newest.length === 0 ? 'there are no runs' : `the newest runs are ${names.join(', ')}`
  throw new ConfigError(`--run got ${show(name)}, which is not a run in this database; ${advice}.`)
}

async function write(file: AsyncGenerator<string>, output: string | undefined): Promise<void> {
  if (output === undefined) {
    for await (const part of file) if (!process.stdout.write(part)) await once(process.stdout, 'drain')
    return
  }
  try {
    await pipeline(file, createWriteStream(output, { mode: 0o600 }))
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === undefined) throw cause
    throw new ConfigError(`--output got ${show(output)}, which cannot be written (${code}).`, { cause })
  }
}

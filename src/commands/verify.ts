import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { StringDecoder } from 'node:string_decoder'
import { ConfigError } from '../config/load.ts'
import { show } from '../core/errors.ts'
import { type Verified, verifyReport } from '../service/pages/console/report/verify-report.ts'
import { activityAfter, activityHead, headIsSealed } from '../service/store/activity.ts'
import type { Store } from '../service/store/engine/store.ts'
import { commandConfig, type Flags } from './command-config.ts'
import { explainErrors } from './explain.ts'
import { openToRead } from './report.ts'

type VerifyFlags = Flags & { againstDatabase?: boolean }

/**
 * Verifies a report, optionally against the database. Exits with code 1 if the report is broken or differs from the
 * database, and with code 2 if the input is not a report.
 */
export async function verify(flags: VerifyFlags, path = '-'): Promise<void> {
  await explainErrors(async () => {
    const config = commandConfig('verify', flags)
    const verified = await verifyReport(linesOf(path))
    if (verified.result === 'no report') throw new ConfigError(`${show(path)} is not a payments-mcp report.`)
    const compares = flags.againstDatabase === true || flags.databaseUrl !== undefined
    if (verified.result === 'broken') return refuse(verified.what)
    if (compares) {
      const { store, close } = await openToRead(config)
      try {
        const differs = await difference(store, verified)
        if (differs !== undefined) return refuse(differs)
      } finally {
        await close()
      }
    }
    const { entries, first, last } = verified
    const comparisonNote = compares ? ', as in the database' : ''
    process.stdout.write(
      `verified: ${entries} entries, first ${first?.hash ?? 'none'}, last ${last?.hash ?? 'none'}${comparisonNote}\n`,
    )
  })
}

function refuse(problem: string): void {
  process.stderr.write(`payments-mcp: not verified: ${problem}.\n`)
  process.exitCode = 1
}

/** Returns the first difference between a report and the activity chain in the database; undefined if they agree. */
async function difference(store: Store, outcome: Verified & { result: 'verified' }): Promise<string | undefined> {
  const { partyId, first, last } = outcome
  for (const entry of [first, last]) {
    if (entry === null) continue
    const [row] = await store.read((tx) => activityAfter(tx, partyId, entry.sequence - 1, 1))
    if (row?.sequence !== entry.sequence || row.hash !== entry.hash)
      return `entry ${entry.sequence} differs in the database`
  }
  if (last === null) return undefined
  const head = await store.read((tx) => activityHead(tx, partyId))
  const isSealed = head !== undefined && (await store.read((tx) => headIsSealed(tx, head)))
  if (head === undefined || !isSealed) return 'the chain in the database is not sealed'
  if (head.sequence === last.sequence && head.hash !== last.hash)
    return `entry ${last.sequence} differs from the sealed entry in the database`
  return head.sequence < last.sequence ? `the chain in the database ends before entry ${last.sequence}` : undefined
}

/** The limits for one line (in characters) and for the whole report (in bytes), so that reading always ends. */
const longestLine = 1024 * 1024
const maxBytes = 2 * 1024 * 1024 * 1024

/** Yields the lines of a file or of stdin. @throws ConfigError */
async function* linesOf(path: string): AsyncGenerator<string> {
  const name = path === '-' ? 'stdin' : show(path)
  let bytes = 0
  // Lines end only at line feeds, because strings in a report may contain other line breaks.
  let rest = ''
  const decoder = new StringDecoder('utf8')
  for await (const part of partsOf(path, name)) {
    bytes += part.length
    if (bytes > maxBytes)
      throw new ConfigError(`${name} is larger than 2 GiB, the limit of verify; verify the report of a shorter run.`)
    const lines = `${rest}${decoder.write(part)}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
    if (rest.length > longestLine)
      throw new ConfigError(
        `${name} has a line of more than ${longestLine} characters, which no report has; use an unchanged file from payments-mcp report.`,
      )
  }
  yield `${rest}${decoder.end()}`
}

/** Reads a file or stdin in parts. @throws ConfigError if the file is unreadable or not a regular file */
async function* partsOf(path: string, name: string): AsyncGenerator<Buffer> {
  try {
    if (path === '-') return yield* process.stdin
    // Opening a named pipe without a writer would block forever, hence O_NONBLOCK.
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      if (!(await file.stat()).isFile())
        throw new ConfigError(`${name} is not a file; give a file, or pipe a report to payments-mcp verify -.`)
      yield* file.createReadStream({ autoClose: false })
    } finally {
      await file.close()
    }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === undefined) throw cause
    throw new ConfigError(`${name} cannot be read (${code}).`, { cause })
  }
}

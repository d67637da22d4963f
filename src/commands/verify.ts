import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { StringDecoder } from 'node:string_decoder'
import { ConfigError } from '../config/load.ts'
import { show } from '../core/errors.ts'
import { type Verified, verifyReport } from '../service/pages/console/report/verify-report.ts'
import { activityAfter, activityHead, headIsSealed } from '../service/store/activity.ts'
import type { Store } from '../service/store/engine/store.ts'
import { configured, type Flags } from './configured.ts'
import { orExplain } from './explain.ts'
import { openToRead } from './report.ts'

type VerifyFlags = Flags & { againstDatabase?: boolean }

/** Recomputes a report; what does not fit ends the process with 1, what is no report with 2. */
export async function verify(flags: VerifyFlags, path = '-'): Promise<void> {
  await orExplain(async () => {
    const config = configured('verify', flags)
    const verified = await verifyReport(linesOf(path))
    if (verified.result === 'no report') throw new ConfigError(`${show(path)} is no report of payments-mcp report.`)
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
    const kept = compares ? ', as in the database' : ''
    process.stdout.write(
      `verified: ${entries} entries, first ${first?.hash ?? 'none'}, last ${last?.hash ?? 'none'}${kept}\n`,
    )
  })
}

function refuse(what: string): void {
  process.stderr.write(`payments-mcp: not verified: ${what}.\n`)
  process.exitCode = 1
}

/** Returns the first difference between the report and the chain in the database. */
async function difference(store: Store, told: Verified & { result: 'verified' }): Promise<string | undefined> {
  const { partyId, first, last } = told
  for (const place of [first, last]) {
    if (place === null) continue
    const [row] = await store.read((tx) => activityAfter(tx, partyId, place.sequence - 1, 1))
    if (row?.sequence !== place.sequence || row.hash !== place.hash)
      return `entry ${place.sequence} is another one in the database`
  }
  if (last === null) return undefined
  const head = await store.read((tx) => activityHead(tx, partyId))
  const isSealed = head !== undefined && (await store.read((tx) => headIsSealed(tx, head)))
  if (head === undefined || !isSealed) return 'the chain in the database is not sealed'
  if (head.sequence === last.sequence && head.hash !== last.hash) return `entry ${last.sequence} is not what was sealed`
  return head.sequence < last.sequence ? `the chain in the database ends before entry ${last.sequence}` : undefined
}

/** More characters than a line of a report has, and more bytes than this reads; whatever comes in, it ends. */
const longestLine = 1024 * 1024
const mostBytes = 2 * 1024 * 1024 * 1024

/** The lines of a file or of stdin. @throws ConfigError */
async function* linesOf(path: string): AsyncGenerator<string> {
  const name = path === '-' ? 'stdin' : show(path)
  let bytes = 0
  // A whole line feed ends a line, and nothing else that somebody may have written into a text.
  let rest = ''
  const decoder = new StringDecoder('utf8')
  for await (const part of partsOf(path, name)) {
    bytes += part.length
    if (bytes > mostBytes)
      throw new ConfigError(
        `${name} is larger than 2 GiB, which is all that this reads; verify the report of a shorter run.`,
      )
    const lines = `${rest}${decoder.write(part)}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
    if (rest.length > longestLine)
      throw new ConfigError(
        `${name} has a line of more than ${longestLine} characters, which no report has; name a file as payments-mcp report wrote it.`,
      )
  }
  yield `${rest}${decoder.end()}`
}

/** @throws ConfigError where it cannot be read, or may never end. */
async function* partsOf(path: string, name: string): AsyncGenerator<Buffer> {
  try {
    if (path === '-') return yield* process.stdin
    // Nobody may ever write into what has a name and is no file: that is not waited for.
    const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    try {
      if (!(await file.stat()).isFile())
        throw new ConfigError(`${name} is no file; name one, or give it to payments-mcp verify - on stdin.`)
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

import { createReadStream } from 'node:fs'
import { ConfigError } from '../config/load.ts'
import { show } from '../core/errors.ts'
import { type Verified, verifyReport } from '../service/pages/console/report/verify-report.ts'
import { activityAfter, activityHead, headIsSealed } from '../service/store/activity.ts'
import type { Store } from '../service/store/engine/store.ts'
import { configured, type Flags } from './configured.ts'
import { orExplain } from './explain.ts'
import { openToRead } from './report.ts'

export type VerifyFlags = Flags & { againstDatabase?: boolean }

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

/** What the chain in the database has otherwise. */
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

/** The lines of a file or of stdin. @throws ConfigError where it cannot be read. */
async function* linesOf(path: string): AsyncGenerator<string> {
  const input = path === '-' ? process.stdin : createReadStream(path)
  try {
    // A whole line feed ends a line, and nothing else that somebody may have written into a text.
    let rest = ''
    for await (const part of input.setEncoding('utf8')) {
      const lines = `${rest}${part}`.split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
    yield rest
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === undefined) throw cause
    throw new ConfigError(`${show(path)} cannot be read (${code}).`, { cause })
  }
}

import { hashedColumns, hashOf } from '../../../request/activity.ts'
import type { ChainPlace } from '../../../rules/run-report.ts'
import type { ActivityRow } from '../../../store/schema/activity.ts'
import {
  around,
  chainBegins,
  dataBegins,
  dataEnds,
  dataHead,
  digestOf,
  figuresOf,
  type MadeReport,
  reportFormats,
  shownDigest,
} from './report-file.ts'

/** What became of verifying a file. */
export type Verified =
  | { result: 'no report' }
  | { result: 'broken'; what: string }
  | { result: 'verified'; partyId: string; entries: number; first: ChainPlace | null; last: ChainPlace | null }

/** What does not fit ends the reading. */
class Broken extends Error {}

const broken = (what: string): never => {
  throw new Broken(what)
}

/** Recomputes all hashes and digests of a report in any of its formats, a line at a time. */
export async function verifyReport(lines: AsyncIterable<string>): Promise<Verified> {
  try {
    return await verify(lines)
  } catch (error) {
    if (error instanceof Broken) return { result: 'broken', what: error.message }
    // What is nested too deep for this program was not written by it.
    if (error instanceof RangeError)
      return { result: 'broken', what: 'the data is nested too deep, or a line is too long' }
    throw error
  }
}

interface Head extends MadeReport {
  shown: string
  digest: string
  figures: Record<string, string>
}

async function verify(lines: AsyncIterable<string>): Promise<Verified> {
  const outside: string[] = []
  const written: string[] = []
  let part: 'before' | 'head' | 'rows' | 'after' = 'before'
  let head: Head | undefined
  let chain: Chain | undefined
  for await (const given of lines) {
    const line = given.replace(/\r$/, '')
    if (part === 'before' && line === dataBegins) part = 'head'
    if (part === 'head') {
      written.push(line)
      if (line !== chainBegins) continue
      head = readHead(written)
      chain = new Chain(head)
      part = 'rows'
    } else if (part === 'rows') {
      if (line === dataEnds) part = 'after'
      else chain?.take(line)
    } else outside.push(line)
  }
  if (part === 'before') return { result: 'no report' }
  if (part === 'head') broken(`the figures end before their chain, at line ${written.length} of the data`)
  if (head === undefined || chain === undefined || part === 'rows')
    return broken(`the chain breaks off behind entry ${chain?.last?.sequence ?? 'none'}`)
  await checkShown(head, outside)
  return chain.end()
}

function readHead(written: readonly string[]): Head {
  const head = parsedHead(written)
  const { figures: kept, shown, digest, madeAt, report } = head
  const made = { madeAt, report }
  const found = figuresOf(made)
  for (const [path, hash] of Object.entries(found)) if (kept[path] !== hash) broken(`the figure ${path} does not fit`)
  for (const path of Object.keys(kept)) if (!(path in found)) broken(`the figure ${path} is missing`)
  if (digestOf(made) !== digest) broken('the digest of the figures does not fit')
  const canonical = dataHead(made, shown).split('\n')
  const at = canonical.findIndex((line, index) => line !== written[index])
  if (at !== -1 || canonical.length !== written.length)
    broken(`line ${at + 1} of the data does not fit: ${brief(written[at] ?? '')}`)
  return head
}

function parsedHead(written: readonly string[]): Head {
  try {
    const head = JSON.parse(`${written.join('\n')}]}`) as Head
    const isWhole = [head.figures, head.report, head.report.chain].every(
      (part) => typeof part === 'object' && part !== null,
    )
    return isWhole ? head : broken('a part of the figures is missing')
  } catch (error) {
    if (error instanceof Broken) throw error
    const at = Number(/\(line (\d+) /.exec(error instanceof Error ? error.message : '')?.[1] ?? 1)
    return broken(`line ${at} of the data cannot be read: ${brief(written[at - 1] ?? '')}`)
  }
}

/** Compares what a person reads with what it was made as; where it differs, it is made anew to name the line. */
async function checkShown(head: Head, outside: readonly string[]): Promise<void> {
  if (shownDigest(outside.join('\n')) === head.shown) return
  for (const format of reportFormats) {
    const { before, after } = await around(head, format)
    const text = `${before}${after}`
    if (shownDigest(text) !== head.shown) continue
    const at = text.split('\n').findIndex((line, index) => line !== (outside[index] ?? ''))
    broken(`what is shown does not fit, at line ${at + 1}: ${brief(outside[at] ?? '')}`)
  }
  broken('what is shown does not fit the figures')
}

const brief = (line: string) => JSON.stringify(line.trim().slice(0, 160))

/** The rows of a report's chain, of which only the last is held. */
class Chain {
  last: ActivityRow | undefined
  #count = 0
  readonly #head: Head

  constructor(head: Head) {
    this.#head = head
  }

  take(line: string): void {
    const { chain, partyId } = this.#head.report
    const expected = this.last === undefined ? chain.first?.sequence : this.last.sequence + 1
    const row = rowIn(line) ?? broken(`entry ${expected} of the chain cannot be read`)
    const { hash, ...rest } = row
    if (row.sequence !== expected) broken(`entry ${expected} of the chain is missing, or its number was changed`)
    if (hashOf(rest) !== hash) broken(`entry ${expected} of the chain (${row.id}) does not fit its hash`)
    const before = this.last?.hash
    if (before !== undefined && row.previousHash !== before)
      broken(`entry ${expected} of the chain (${row.id}) does not follow the one before it`)
    if (row.partyId !== partyId) broken(`entry ${expected} of the chain (${row.id}) is of another party`)
    if (this.last === undefined && hash !== chain.first?.hash)
      broken(`entry ${expected} is not the first of the report`)
    this.last = row
    this.#count++
  }

  end(): Verified {
    const { chain, partyId } = this.#head.report
    const { last } = this
    if (this.#count !== chain.rows) broken(`the chain has ${this.#count} entries where the report says ${chain.rows}`)
    if (last?.hash !== chain.last?.hash) broken(`entry ${last?.sequence} is not the last of the report`)
    return { result: 'verified', partyId, entries: this.#count, first: chain.first, last: chain.last }
  }
}

function rowIn(line: string): ActivityRow | undefined {
  try {
    const cells = JSON.parse(line.replace(/,$/, '')) as unknown[]
    if (!Array.isArray(cells) || cells.length !== hashedColumns.length + 1) return undefined
    const names = [...hashedColumns, 'hash']
    return Object.fromEntries(names.map((name, at) => [name, cells[at]])) as unknown as ActivityRow
  } catch {
    return undefined
  }
}

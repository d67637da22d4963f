import { hashedColumns, hashOf } from '../../../request/activity.ts'
import type { ChainPlace } from '../../../rules/run-report.ts'
import type { ActivityRow } from '../../../store/schema/activity.ts'
import {
  chainBegins,
  dataBegins,
  dataEnds,
  dataHead,
  escapedJson,
  figuresOf,
  type MadeReport,
  partsAround,
  reportFormats,
  shownDigest,
} from './report-file.ts'

/** The result of the verification of a report file. */
export type Verified =
  | { result: 'no report' }
  | { result: 'broken'; what: string }
  | { result: 'verified'; partyId: string; entries: number; first: ChainPlace | null; last: ChainPlace | null }

/** The error that ends the verification at the first mismatch. */
class Broken extends Error {}

/**
 * Stops the verification with a message. The message may contain text from the file, so it is cut off at 500
 * characters, and all characters except printable ASCII are escaped.
 */
const failBroken = (what: string): never => {
  const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  throw new Broken(what.slice(0, 500).replace(/[^\x20-\x7e]/g, escaped))
}

/** The maximum number of characters outside the data. Real reports have far fewer. */
const maxOtherCharacters = 64 * 1024 * 1024
/** The maximum number of characters in the data before the chain. Real reports have far fewer. */
const maxDataCharacters = 256 * 1024 * 1024

/** Verifies a report file in any format by recomputing all hashes and digests. Reads the file one line at a time. */
export async function verifyReport(lines: AsyncIterable<string>): Promise<Verified> {
  try {
    return await verify(lines)
  } catch (error) {
    if (error instanceof Broken) return { result: 'broken', what: error.message }
    // These errors come from very deep nesting or from a value of the wrong type. A real report contains neither.
    if (error instanceof RangeError || error instanceof TypeError)
      return { result: 'broken', what: 'the data is nested too deeply, or has a value of the wrong type' }
    throw error
  }
}

interface Head extends MadeReport {
  shown: string
  figures: Record<string, string>
}

async function verify(lines: AsyncIterable<string>): Promise<Verified> {
  const outside = new BoundedLines(maxOtherCharacters)
  const written = new BoundedLines(maxDataCharacters)
  let part: 'before' | 'head' | 'rows' | 'after' = 'before'
  let head: Head | undefined
  let chain: Chain | undefined
  let isFirst = true
  for await (const rawLine of lines) {
    // Some editors add a byte order mark or change the line endings.
    const line = (isFirst ? rawLine.replace(/^\uFEFF/, '') : rawLine).replace(/\r$/, '')
    isFirst = false
    if (part === 'before' && line === dataBegins) part = 'head'
    if (part === 'head') {
      if (!written.add(line)) failBroken('the data before the chain is longer than in any real report')
      if (line !== chainBegins) continue
      head = readHead(written.lines)
      chain = new Chain(head)
      part = 'rows'
    } else if (part === 'rows') {
      if (line === dataEnds) part = 'after'
      else chain?.take(line)
    } else if (!outside.add(line)) {
      if (part === 'before') return { result: 'no report' }
      failBroken('the text around the data is longer than in any real report')
    }
  }
  if (part === 'before') return { result: 'no report' }
  if (part === 'head') failBroken(`the file ends at line ${written.lines.length} of the data, before the chain`)
  if (head === undefined || chain === undefined || part === 'rows')
    return failBroken(`the file ends in the middle of the chain (last entry: ${chain?.last?.sequence ?? 'none'})`)
  await checkShown(head, outside.lines)
  return chain.end()
}

/** A list of lines with a limit on their total length in characters. */
class BoundedLines {
  readonly lines: string[] = []
  #left: number

  constructor(maxCharacters: number) {
    this.#left = maxCharacters
  }

  /** Adds a line, unless the line would exceed the limit. Returns whether the line was added. */
  add(line: string): boolean {
    this.#left -= line.length + 1
    if (this.#left < 0) return false
    this.lines.push(line)
    return true
  }
}

function readHead(written: readonly string[]): Head {
  const head = parsedHead(written)
  const { figures, shown, madeAt, report } = head
  const madeReport = { madeAt, report }
  const found = figuresOf(madeReport)
  for (const [path, hash] of Object.entries(found))
    if (figures[path] !== hash) failBroken(`the figure ${path} does not match its hash`)
  for (const path of Object.keys(figures)) if (!(path in found)) failBroken(`the figure ${path} is missing`)
  const canonical = dataHead(madeReport, shown).split('\n')
  const at = canonical.findIndex((line, index) => line !== written[index])
  if (at !== -1 || canonical.length !== written.length)
    failBroken(`line ${at + 1} of the data was changed: ${lineExcerpt(written[at] ?? '')}`)
  return head
}

function parsedHead(written: readonly string[]): Head {
  try {
    const head = JSON.parse(`${written.join('\n')}]}`) as Head
    const isWhole = [head.figures, head.report, head.report.chain].every(
      (part) => typeof part === 'object' && part !== null,
    )
    return isWhole ? head : failBroken('the report, its chain or its figures are missing')
  } catch (error) {
    if (error instanceof Broken) throw error
    const at = Number(/\(line (\d+) /.exec(error instanceof Error ? error.message : '')?.[1] ?? 1)
    return failBroken(`line ${at} of the data cannot be read: ${lineExcerpt(written[at - 1] ?? '')}`)
  }
}

/**
 * Compares the readable text with its digest. If the two do not match, generates the original text again to find the
 * first line that was changed.
 */
async function checkShown(head: Head, outside: readonly string[]): Promise<void> {
  if (shownDigest(outside.join('\n')) === head.shown) return
  for (const format of reportFormats) {
    // A report may come from a different version of the program. This version may be unable to generate the text of
    // such a report.
    const { before, after } = await partsAround(head, format).catch(() => ({ before: '', after: '' }))
    const text = `${before}${after}`
    if (shownDigest(text) !== head.shown) continue
    const at = text.split('\n').findIndex((line, index) => line !== (outside[index] ?? ''))
    failBroken(`the visible text does not match the data, at line ${at + 1}: ${lineExcerpt(outside[at] ?? '')}`)
  }
  failBroken('the visible text does not match the figures')
}

const lineExcerpt = (line: string) => JSON.stringify(line.trim().slice(0, 160))

/** A checker for the chain of a report. It checks the chain row by row, and keeps only the last row in memory. */
class Chain {
  last: ActivityRow | undefined
  #count = 0
  /** Whether the last line ended with a comma, which means that another row must follow. */
  #expectsMore = false
  readonly #head: Head

  constructor(head: Head) {
    this.#head = head
  }

  take(line: string): void {
    const { chain, partyId } = this.#head.report
    const expected = this.last === undefined ? chain.first?.sequence : this.last.sequence + 1
    const row = rowIn(line) ?? failBroken(`entry ${expected} of the chain cannot be read`)
    if (this.#count > 0 && !this.#expectsMore) failBroken(`entry ${expected} comes after the end of the chain`)
    this.#expectsMore = line.endsWith(',')
    const { hash, ...rest } = row
    if (row.sequence !== expected) failBroken(`entry ${expected} of the chain is missing, or its number was changed`)
    if (hashOf(rest) !== hash) failBroken(`entry ${expected} of the chain (${row.id}) does not match its hash`)
    const before = this.last?.hash
    if (before !== undefined && row.previousHash !== before)
      failBroken(`entry ${expected} of the chain (${row.id}) does not contain the hash of the entry before it`)
    if (row.partyId !== partyId) failBroken(`entry ${expected} of the chain (${row.id}) belongs to another party`)
    if (this.last === undefined && hash !== chain.first?.hash)
      failBroken(`the chain begins with entry ${expected}, which is not the first entry that the report states`)
    this.last = row
    this.#count++
  }

  end(): Verified {
    const { chain, partyId } = this.#head.report
    const { last } = this
    if (this.#count !== chain.rows || this.#expectsMore)
      failBroken(`the chain has ${this.#count} entries, but the report states ${chain.rows}`)
    if (last === undefined && (chain.first !== null || chain.last !== null))
      failBroken('the report states a first or last entry, but its chain is empty')
    if (last?.hash !== chain.last?.hash || last?.sequence !== chain.last?.sequence)
      failBroken(`the chain ends with entry ${last?.sequence}, which is not the last entry that the report states`)
    return { result: 'verified', partyId, entries: this.#count, first: chain.first, last: chain.last }
  }
}

/** Parses a line of the chain. Returns undefined for a line that the service could not have written. */
function rowIn(line: string): ActivityRow | undefined {
  try {
    const text = line.replace(/,$/, '')
    const cells = JSON.parse(text) as unknown[]
    const names = [...hashedColumns, 'hash']
    if (!Array.isArray(cells) || cells.length !== names.length || escapedJson(cells) !== text) return undefined
    const row = Object.fromEntries(names.map((name, at) => [name, cells[at]])) as unknown as ActivityRow
    const areValid = [row.id, row.partyId, row.hash].every(
      (cell) => typeof cell === 'string' && /^\w{1,100}$/.test(cell),
    )
    return areValid && Number.isSafeInteger(row.sequence) ? row : undefined
  } catch {
    return undefined
  }
}

import { sha256 } from '../../../../core/system.ts'
import { hashedColumns } from '../../../request/activity.ts'
import type { RunReport } from '../../../rules/run-report.ts'
import type { ActivityRow } from '../../../store/schema/activity.ts'
import { reportMarkdown } from './markdown.ts'
import { reportDocument } from './view.ts'

export const reportFormats = ['html', 'md', 'json'] as const
export type ReportFormat = (typeof reportFormats)[number]

/** A report, with the time when it was made. */
export interface MadeReport {
  madeAt: string
  report: RunReport
}

/** The first line of a report file's data, in every format. */
export const dataBegins = '{"format":"payments-mcp-run-report","version":1,'
/** The line before the rows of the report's activity chain. */
export const chainBegins = '"chain":['
/** The last line of the data. */
export const dataEnds = ']}'

/** Yields a report file in pieces, so that the rows of the chain are never all in memory at the same time. */
export async function* reportFile(
  madeReport: MadeReport,
  format: ReportFormat,
  rows: AsyncIterable<readonly ActivityRow[]>,
): AsyncGenerator<string> {
  const { before, after } = await partsAround(madeReport, format)
  yield `${before}${dataHead(madeReport, shownDigest(`${before}${after}`))}\n`
  let comma = ''
  for await (const batch of rows) {
    yield batch
      .map((row) => {
        const line = `${comma}${escapedJson(cellsOf(row))}`
        comma = ',\n'
        return line
      })
      .join('')
  }
  yield `${comma === '' ? '' : '\n'}${dataEnds}\n${after}`
}

/** Returns the readable text before and after the data in a report file. */
export async function partsAround({ report, madeAt }: MadeReport, format: ReportFormat) {
  if (format === 'json') return { before: '', after: '' }
  if (format === 'md') {
    const about = 'payments-mcp verify recomputes the chain and every figure from this block.'
    return { before: `${reportMarkdown(report, madeAt)}\n\n## Data\n\n${about}\n\n\`\`\`\`json\n`, after: '````\n' }
  }
  const [main = '', end = ''] = reportDocument(report, madeAt).split('<!-- data -->\n')
  return { before: `${main}<script type="application/json" id="run-report">\n`, after: `</script>\n${end}` }
}

/** Returns the data that precedes the rows of the chain, with one figure on each line. */
export function dataHead(madeReport: MadeReport, shownHash: string): string {
  return [
    dataBegins,
    `"shown":"${shownHash}",`,
    `"digest":"${digestOf(madeReport)}",`,
    `"madeAt":${escapedJson(madeReport.madeAt)},`,
    `"report":${escapedJson(madeReport.report, 1)},`,
    `"figures":${escapedJson(figuresOf(madeReport), 1)},`,
    `"columns":${escapedJson([...hashedColumns, 'hash'])},`,
    chainBegins,
  ].join('\n')
}

export const digestOf = ({ madeAt, report }: MadeReport): string => sha256(JSON.stringify({ madeAt, report }))

/** Returns the hash of the readable text. The hash does not depend on the line endings. */
export const shownDigest = (text: string): string => sha256(text.replaceAll('\r', '').trimEnd())

/**
 * Returns a short hash of each figure, by the figure's path. `payments-mcp verify` uses these hashes to find out which
 * figure was changed.
 */
export function figuresOf({ madeAt, report }: MadeReport): Record<string, string> {
  const figures: Record<string, string> = {}
  const visit = (path: string, value: unknown) => {
    if (typeof value === 'object' && value !== null && Object.keys(value).length > 0)
      for (const [name, part] of Object.entries(value)) visit(path === '' ? name : `${path}.${name}`, part)
    else figures[path] = sha256(`${path}=${JSON.stringify(value)}`).slice(0, 16)
  }
  visit('', { madeAt, ...report })
  return figures
}

function cellsOf(row: ActivityRow) {
  return [...hashedColumns.map((column) => row[column]), row.hash]
}

/**
 * Returns a value as JSON. Escapes control characters and non-ASCII characters, because some of them change the
 * direction of the text. Also escapes `<`, `>`, `&` and backtick, because these could end the HTML element or the
 * Markdown code block around the JSON.
 */
export function escapedJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    /[^\x20-\x7e\n]|[<>&`]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

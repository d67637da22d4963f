import type { RunReport } from '../../../rules/run-report.ts'
import { type Cell, missingParts, readableRows, type Section, sectionsOf, titleOf } from './words.ts'

/** Returns the readable part of a report as Markdown, without the data block that `payments-mcp verify` reads. */
export function reportMarkdown(report: RunReport, madeAt: string): string {
  const notes = missingParts(report).map((note) => `> ${note}`)
  const parts = sectionsOf(report, madeAt).map(section)
  return [`# ${escaped(titleOf(report))}`, ...notes, ...parts].join('\n\n')
}

function section(part: Section): string {
  const { title, none, note, columns, amounts = [] } = part
  const { visibleRows, more } = readableRows(part)
  const heading = `## ${title}`
  if (visibleRows.length === 0) return `${heading}\n\n${none}`
  const rules = columns.map((_, at) => (amounts.includes(at) ? '---:' : '---'))
  const lines = [columns, rules, ...visibleRows.map((row) => row.map(text))].map((cells) => `| ${cells.join(' | ')} |`)
  const table = lines.join('\n')
  return [heading, note, table, more].filter((text) => text !== undefined).join('\n\n')
}

const text = (cell: Cell): string => (typeof cell === 'string' ? cell : escaped(cell.foreign))

/** Escapes all ASCII punctuation in an untrusted text, so that none of it acts as Markdown or HTML. */
function escaped(foreign: string): string {
  return foreign.replace(/[!-/:-@[-`{-~]/g, '\\$&')
}

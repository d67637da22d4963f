import type { RunReport } from '../../../rules/run-report.ts'
import { bounded, type Cell, readable, type Section, sectionsOf, titleOf } from './words.ts'

/** A report as Markdown, but for what `verify` reads. */
export function reportMarkdown(report: RunReport, madeAt: string): string {
  const note = bounded(report)
  const parts = sectionsOf(report, madeAt).map(section)
  return [`# ${escaped(titleOf(report))}`, ...(note === undefined ? [] : [`> ${note}`]), ...parts].join('\n\n')
}

function section(part: Section): string {
  const { title, none, columns, amounts = [] } = part
  const { shown, more } = readable(part)
  const heading = `## ${title}`
  if (shown.length === 0) return `${heading}\n\n${none}`
  const rules = columns.map((_, at) => (amounts.includes(at) ? '---:' : '---'))
  const lines = [columns, rules, ...shown.map((row) => row.map(text))].map((cells) => `| ${cells.join(' | ')} |`)
  return `${heading}\n\n${lines.join('\n')}${more === undefined ? '' : `\n\n${more}`}`
}

const text = (cell: Cell): string => (typeof cell === 'string' ? cell : escaped(cell.foreign))

/** A foreign text in which nothing is Markdown: no table, link, address, code, heading or element. */
function escaped(foreign: string): string {
  return foreign.replace(/[!-/:-@[-`{-~]/g, '\\$&')
}

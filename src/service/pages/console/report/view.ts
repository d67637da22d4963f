import { html } from 'hono/html'
import { standalonePage } from '../../../../display/standalone-page.ts'
import { baseStyle, partsStyle } from '../../../../display/style.ts'
import { table } from '../../../../display/table.ts'
import type { RunReport } from '../../../rules/run-report.ts'
import type { Html } from '../../frame/document.ts'
import { type Cell, missingParts, readableRows, type Section, sectionsOf, titleOf } from './words.ts'

type Show = (text: string) => Html | string

/** Renders the sections of a run's report. @param show Renders a string that may contain record ids. */
export function reportParts(report: RunReport, madeAt: string, show: Show): Html {
  return html`<article class="report stack">
<h1><bdi>${titleOf(report)}</bdi></h1>
${missingParts(report).map(asideText)}
${sectionsOf(report, madeAt).map((part) => section(part, show))}
</article>`
}

function section(part: Section, show: Show): Html {
  const { id, title, none, note, columns, amounts = [] } = part
  const { visibleRows, more } = readableRows(part)
  const heading = html`<h2 id="${id}">${title}</h2>`
  if (visibleRows.length === 0) return html`<section aria-labelledby="${id}">${heading}\n${asideText(none)}</section>\n`
  const [first, ...rest] = columns.map((name, at) => ({
    name,
    isNumber: amounts.includes(at),
    cell: (row: Section['rows'][number]) => cellText(row[at] ?? '', show),
  }))
  if (first === undefined) throw new Error(`Bug: the section ${id} has no columns.`)
  return html`<section aria-labelledby="${id}">${heading}${asideText(note)}
${table(title, [first, ...rest], visibleRows)}${asideText(more)}</section>
`
}

const asideText = (words: string | undefined) => (words === undefined ? '' : html`<p class="aside">${words}</p>`)

/** Renders a cell. Puts untrusted text, long ids and hashes in a `<bdi>` element, in which lines may break anywhere. */
function cellText(cell: Cell, show: Show): Html | string {
  if (typeof cell !== 'string') return html`<bdi>${show(cell.foreign)}</bdi>`
  return /^(?:[a-z]{2,5}_)?[0-9a-f]{32,64}$/.test(cell) ? html`<bdi>${show(cell)}</bdi>` : show(cell)
}

/** Renders the download links of the report page. */
export function downloads(runId: string): Html {
  const names = [
    ['html', 'HTML'],
    ['md', 'Markdown'],
    ['json', 'JSON'],
  ] as const
  return html`<p class="line tools"><a href="/console/runs/${runId}">Back to the run</a> Download: ${names.map(
    ([format, name]) => html`<a href="/console/runs/${runId}/report?format=${format}" download>${name}</a> `,
  )}</p>`
}

/**
 * Returns a report as a self-contained HTML file that has no scripts and no links to the service. The caller replaces
 * the `<!-- data -->` comment with the data that `payments-mcp verify` reads.
 */
export function reportDocument(report: RunReport, madeAt: string): string {
  return standalonePage({
    title: titleOf(report),
    style: `${baseStyle()}${partsStyle()}`,
    body: `${html`<main class="full">
${reportParts(report, madeAt, (text) => text)}
</main>
<!-- data -->`}`,
  })
}

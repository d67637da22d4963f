import { html, raw } from 'hono/html'
import { sha256Base64 } from '../../../../core/system.ts'
import { iconSvg, markPath } from '../../../../display/mark.ts'
import { brand } from '../../../../display/small-page.ts'
import type { RunReport } from '../../../rules/run-report.ts'
import type { Html } from '../../frame/document.ts'
import { type Cell, missing, readable, type Section, sectionsOf, titleOf } from './words.ts'

/** What a page of the console and a file say of a run. */
export function reportParts(report: RunReport, madeAt: string): Html {
  return html`<article class="report">
<h1><bdi>${titleOf(report)}</bdi></h1>
${missing(report).map(aside)}
${sectionsOf(report, madeAt).map(section)}
</article>`
}

function section(part: Section): Html {
  const { id, title, none, note, columns, amounts = [] } = part
  const { shown, more } = readable(part)
  const heading = html`<h2 id="${id}">${title}</h2>`
  if (shown.length === 0) return html`<section aria-labelledby="${id}">${heading}\n${aside(none)}</section>\n`
  const kind = (at: number) => (amounts.includes(at) ? html` class="amount"` : '')
  return html`<section aria-labelledby="${id}">${heading}${aside(note)}
<div class="wide-table" tabindex="0" role="group" aria-labelledby="${id}"><table>
<thead><tr>${columns.map((name, at) => html`<th scope="col"${kind(at)}>${name}</th>`)}</tr></thead>
<tbody>
${shown.map((row) => html`<tr>${row.map((cell, at) => html`<td${isLong(cell) ? html` class="id"` : kind(at)}>${text(cell)}</td>`)}</tr>\n`)}</tbody>
</table></div>${aside(more)}</section>
`
}

/** An id or a hash, which has no place where a line could end. */
const isLong = (cell: Cell) => typeof cell === 'string' && /^(?:[a-z]{2,5}_)?[0-9a-f]{32,64}$/.test(cell)

const aside = (words: string | undefined) => (words === undefined ? '' : html`<p class="aside">${words}</p>`)

const text = (cell: Cell) => (typeof cell === 'string' ? cell : html`<bdi>${cell.foreign}</bdi>`)

/** The page's links to its files. */
export function downloads(runId: string): Html {
  const names = [
    ['html', 'HTML'],
    ['md', 'Markdown'],
    ['json', 'JSON'],
  ] as const
  return html`<p class="downloads"><a href="/console/runs/${runId}">Back to the run</a> Download: ${names.map(
    ([format, name]) => html`<a href="/console/runs/${runId}/report?format=${format}" download>${name}</a> `,
  )}</p>`
}

/** A report as a file that needs nothing else: it loads nothing and has no script. What `verify` reads follows it. */
export function reportDocument(report: RunReport, madeAt: string, style: string): string {
  const policy = `default-src 'none'; style-src 'sha256-${sha256Base64(style)}'; img-src data:; base-uri 'none'; form-action 'none'`
  return `${html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${raw(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>${titleOf(report)}</title>
<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(iconSvg(markPath))}">
<style>${raw(style)}</style>
</head>
<body>
${raw(brand)}
<main class="console">
${reportParts(report, madeAt)}
</main>
<!-- data -->
</body>
</html>`}`
}

import { html } from 'hono/html'
import type { Html } from './html.ts'

/** A column of a table. */
export interface Column<Row> {
  name: string
  isNumber?: boolean
  /** Whether only screen readers get the column's name, because the cells explain themselves. */
  hidesName?: boolean
  /** Returns the content of the column's cell in a row. */
  cell: (row: Row) => Html | string | readonly Html[]
}

/**
 * Renders a table. The cells of the first column are the row headers. On a phone, each row becomes a block: the row
 * header, followed by the other cells with their column names.
 * @param caption A caption in HTML is visible. A string is for screen readers only.
 * @param idOf Returns a row's element id. Needed only if something links to the rows.
 */
export function table<Row>(
  caption: string | Html,
  [first, ...rest]: readonly [Column<Row>, ...Column<Row>[]],
  rows: readonly Row[],
  idOf?: (row: Row) => string,
): Html {
  const number = ({ isNumber = false }: Column<Row>) => (isNumber ? html` class="number"` : '')
  const heads = [first, ...rest].map(
    (column) =>
      html`<th scope="col"${number(column)}>${column.hidesName ? html`<span class="unseen">${column.name}</span>` : column.name}</th>`,
  )
  return html`<div class="wide"><table class="stacked"><caption${typeof caption === 'string' ? html` class="unseen"` : ''}>${caption}</caption><thead><tr>${heads}</tr></thead>
<tbody>${rows.map(
    (row) => html`<tr${idOf === undefined ? '' : html` id="${idOf(row)}"`}><th scope="row">${first.cell(row)}</th>
${rest.map((column) => html`<td${column.hidesName ? '' : html` data-label="${column.name}"`}${number(column)}>${column.cell(row)}</td>`)}</tr>\n`,
  )}</tbody></table></div>`
}

import { html } from 'hono/html'
import type { Html } from '../frame/document.ts'

/** A column: its name, and what it shows of a row. */
export interface Column<Row> {
  name: string
  isNumber?: boolean
  /** What stands in it says what it is. */
  isUnseen?: boolean
  of: (row: Row) => Html | string
}

/** The first column names each row. On a phone a row is a block in which every other figure has its column's name. */
export function stackedTable<Row extends { id: string }>(
  caption: string,
  [first, ...rest]: readonly [Column<Row>, ...Column<Row>[]],
  rows: readonly Row[],
  idPrefix = '',
): Html {
  const number = ({ isNumber = false }: Column<Row>) => (isNumber ? html` class="number"` : '')
  return html`<div class="wide"><table class="stacked"><caption class="unseen">${caption}</caption><thead><tr>${[
    first,
    ...rest,
  ].map(
    (column) =>
      html`<th scope="col"${number(column)}>${column.isUnseen ? html`<span class="unseen">${column.name}</span>` : column.name}</th>`,
  )}</tr></thead>
<tbody>${rows.map(
    (row) => html`<tr id="${idPrefix}${row.id}"><th scope="row">${first.of(row)}</th>
${rest.map((column) => html`<td${column.isUnseen ? '' : html` data-label="${column.name}"`}${number(column)}>${column.of(row)}</td>`)}</tr>`,
  )}</tbody></table></div>`
}

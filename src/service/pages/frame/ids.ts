import { html } from 'hono/html'
import { foreignName } from '../../../core/foreign-text.ts'
import type { Html } from './document.ts'

/**
 * The format of the ids of records and ledger entries. Each of these ids has a page. A ledger entry's id is the id of
 * its posting, followed by an index. Strings that start with `idk_` are idempotency keys, which have no page.
 */
const idPattern = /\b(?!idk_)[a-z]{3}_[0-9a-f]{32}(?:_\d{1,2})?\b/

/** Returns whether a string has the format of an id with a page. Does not check whether the record exists. */
export const isId = (text: string) => new RegExp(`^${idPattern.source}$`).test(text)

/** Returns the address of the console's page about a record. */
export const recordAddress = (id: string) => `/console/records/${encodeURIComponent(id)}`

/** Renders an id as a link to its record. */
export const idLink = (id: string): Html =>
  isId(id) ? html`<a href="${recordAddress(id)}"><code>${id}</code></a>` : html`<code>${id}</code>`

/** Renders an id for a table cell, as a link that shows only the id's prefix and last eight characters. */
export const shortIdLink = (id: string): Html =>
  isId(id)
    ? html`<a href="${recordAddress(id)}" title="${id}"><code>${id.slice(0, 4)}…${id.slice(-8)}</code></a>`
    : html`<code>${id}</code>`

/** Renders a link with a record's name and the end of its id, or with the whole id if the record has no name. */
export const namedIdLink = (id: string, name: string | null): Html =>
  name === null
    ? idLink(id)
    : html`<a href="${recordAddress(id)}" title="${id}"><bdi>${foreignName(name, 'Without a readable name', 80)}</bdi> <code>…${id.slice(-8)}</code></a>`

/** Renders a string in which every id becomes a link to its record. */
export function withLinkedIds(text: string): Html {
  const parts = text.split(new RegExp(`(${idPattern.source})`, 'g'))
  // The pattern is a capture group, so `split` also returns the ids, at the odd indexes.
  return html`${parts.map((part, at) => (at % 2 === 0 ? part : html`<a href="${recordAddress(part)}">${part}</a>`))}`
}

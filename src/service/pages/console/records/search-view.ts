import { html } from 'hono/html'
import { foreignName } from '../../../../core/foreign-text.ts'
import type { RunDetail } from '../../../rules/runs.ts'
import type { Html } from '../../frame/document.ts'
import { escaped } from '../../frame/texts.ts'
import { addressOf } from '../runs/words.ts'
import type { EntriesFound, EntryFound } from './read-record.ts'
import { entriesTable } from './view.ts'

interface SearchShown {
  /** The text to search for; empty until the person enters a text. */
  text: string
  found: EntriesFound
}

/** Renders the page that searches requests and answers for a text. */
export function searchMain({ text, found }: SearchShown): Html {
  const { rows, lastId } = found
  const onward = lastId === null ? null : addressOf('/console/search', { text, before: lastId })
  const excerpt = {
    name: 'Excerpt',
    cell: (entry: EntryFound) => html`<span class="excerpt"><bdi>${excerptOf(entry, text)}</bdi></span>`,
  }
  return html`<p class="aside"><a href="/console">Runs</a></p>
<h1>Search</h1>
<form method="get" action="/console/search" role="search" class="filters">
<label>Text in requests and answers <input name="text" value="${text}" required maxlength="200" autocomplete="off" spellcheck="false"></label>
<button type="submit" class="quiet">Search</button>
</form>
<p class="aside">Searches the masked requests and answers of all runs, newest first. To save a search, bookmark its page.</p>
${text === '' ? '' : rows.length === 0 ? html`<p role="status">Nothing was found for “<bdi>${foreignName(text, 'this text', 200)}</bdi>”${onward === null ? '' : ' so far'}.</p>` : html`<div class="box">${entriesTable('Entries with this text, newest first', found, [excerpt])}</div>`}
${onward === null ? '' : html`<p><a href="${onward}">Continue the search</a></p>`}`
}

/** The number of characters that an excerpt shows on each side of a match. */
const contextLength = 60

/** Renders the first match in an entry, highlighted, with the text before and after it. */
function excerptOf({ detail }: EntryFound, text: string): Html {
  const { path, body, answer, facts = [], remark } = JSON.parse(detail) as RunDetail
  for (const one of [body, answer, path, ...facts, remark]) {
    const place = one?.toLowerCase().indexOf(text.toLowerCase()) ?? -1
    if (one === undefined || place === -1) continue
    const [start, end] = [Math.max(0, place - contextLength), place + text.length + contextLength]
    const [before, match, after] = [
      one.slice(start, place),
      one.slice(place, place + text.length),
      one.slice(place + text.length, end),
    ]
    return html`${start > 0 ? '…' : ''}${escaped(before)}<mark>${escaped(match)}</mark>${escaped(after)}${end < one.length ? '…' : ''}`
  }
  return html`–`
}

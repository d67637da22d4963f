import type { Context, Hono } from 'hono'
import { redirectTo, type Show } from '../../frame/answers.ts'
import type { Html } from '../../frame/document.ts'
import { consoleHeaders } from '../../frame/headers.ts'
import { isId, recordAddress } from '../../frame/ids.ts'
import { consolePage } from '../console-page.ts'
import { addressOf } from '../runs/words.ts'
import { type ConsoleDependencies, type ConsolePath, servePage } from '../serve-page.ts'
import { createRecordReads, type RecordReads } from './read-record.ts'
import { searchMain } from './search-view.ts'
import { nothingFoundMain, recordMain } from './view.ts'

interface RecordPages extends ConsoleDependencies {
  reads: RecordReads
}

/** Mounts the record pages, the text search, and the address that the Find form submits to. */
export function mountRecords(app: Hono, dependencies: ConsoleDependencies): void {
  const pages: RecordPages = { ...dependencies, reads: createRecordReads(dependencies) }
  const on = (path: ConsolePath, show: Show<RecordPages>) =>
    servePage(app, path, dependencies, (c, _, signedIn) => show(c, pages, signedIn))
  on('/console/find', findOne)
  on('/console/requests/:id', showRecord)
  on('/console/records/:recordId', showRecord)
  on('/console/search', search)
}

/**
 * Redirects to the page of the run, entry or record with the entered id. If the input is not an id, redirects to the
 * text search.
 */
const findOne: Show<RecordPages> = async (c, { reads }, { user: { partyId } }) => {
  const sought = (c.req.query('id') ?? '').trim()
  const address = await reads.findAddress(partyId, sought)
  if (address !== undefined) return redirectTo(c, address)
  return redirectTo(c, isId(sought) ? recordAddress(sought) : addressOf('/console/search', { text: sought }))
}

const showRecord: Show<RecordPages> = async (c, { reads }, { user }) => {
  const id = c.req.param('recordId') ?? c.req.param('id') ?? ''
  const address = await reads.findAddress(user.partyId, id)
  if (address !== undefined) return redirectTo(c, address)
  const events = Number(c.req.query('events'))
  const page = {
    calls: c.req.query('calls') ?? null,
    money: c.req.query('money') ?? null,
    events: Number.isSafeInteger(events) && events > 0 ? events : null,
  }
  const record = await reads.record(user, id, page)
  if (record === undefined) return framed(c, 'Not found', nothingFoundMain(id), 404)
  return framed(c, id, recordMain(record, page))
}

const longestText = 200

const search: Show<RecordPages> = async (c, { reads }, { user: { partyId } }) => {
  const text = (c.req.query('text') ?? '').trim().slice(0, longestText)
  const found =
    text === '' ? { rows: [], lastId: null } : await reads.search(partyId, text, c.req.query('before') ?? null)
  return framed(c, 'Search', searchMain({ text, found }))
}

function framed(c: Context, title: string, main: Html, status: 200 | 404 = 200) {
  return c.html(consolePage({ title, main }), status, consoleHeaders)
}

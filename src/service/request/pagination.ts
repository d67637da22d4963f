import { fail } from '../../core/errors.ts'
import { sha256 } from '../../core/system.ts'
import type { PageOf, PageRequest } from '../store/engine/page.ts'
import type { Page } from './reply.ts'

/** A list, with its account and all its filters. They show whether a cursor belongs to another list. */
export type ListIdentity = Readonly<Record<string, string | null | undefined>>

/** Reads `limit` and `cursor` (docs/service.md#lists). @throws 400 `invalid_value` for a cursor of another list. */
export function pageRequest(input: { limit: number; cursor?: string | undefined }, list: ListIdentity): PageRequest {
  if (input.cursor === undefined) return { limit: input.limit, beforeId: null }
  const text = /^cur_([\w-]+)$/.exec(input.cursor)?.[1] ?? ''
  const decoded = Buffer.from(text, 'base64url').toString()
  const [, mark, beforeId] = /^([0-9a-f]{12}) ([a-z]{3}_[0-9a-f]{32})$/.exec(decoded) ?? []
  if (mark !== markOf(list) || beforeId === undefined) {
    fail('invalid_value', {
      detail: 'cursor must be the nextCursor of a page of the same list with the same filters.',
      source: { parameter: 'cursor' },
    })
  }
  return { limit: input.limit, beforeId }
}

/** Returns the page in the API's format. */
export function page<Row, Resource>(
  rows: PageOf<Row>,
  list: ListIdentity,
  view: (row: Row) => Resource,
): Page<Resource> {
  const nextCursor =
    rows.lastId === null ? null : `cur_${Buffer.from(`${markOf(list)} ${rows.lastId}`).toString('base64url')}`
  return { items: rows.rows.map(view), nextCursor }
}

/**
 * Returns a short hash that identifies a list. It does not matter if it can be guessed, because a cursor grants no
 * access.
 */
function markOf(list: ListIdentity): string {
  const narrowed = Object.entries(list).filter(([, value]) => value !== undefined && value !== null)
  return sha256(JSON.stringify(narrowed.sort())).slice(0, 12)
}

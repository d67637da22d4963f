import { fail } from '../../core/errors.ts'
import { sha256 } from '../../core/system.ts'
import type { PageOf, PageRequest } from '../store/engine/page.ts'
import type { Page } from './reply.ts'

/** The account and the filters that identify a list. A cursor is valid only for the list that it came from. */
export type ListIdentity = Readonly<Record<string, string | null | undefined>>

/**
 * Reads `limit` and `cursor` (docs/service.md#lists).
 * @throws 400 `invalid_value` if the cursor is malformed or comes from a different list.
 */
export function pageRequest(input: { limit: number; cursor?: string | undefined }, list: ListIdentity): PageRequest {
  if (input.cursor === undefined) return { limit: input.limit, beforeId: null }
  const encoded = /^cur_([\w-]+)$/.exec(input.cursor)?.[1] ?? ''
  const decoded = Buffer.from(encoded, 'base64url').toString()
  const [, hash, beforeId] = /^([0-9a-f]{12}) ([a-z]{3}_[0-9a-f]{32})$/.exec(decoded) ?? []
  if (hash !== listHash(list) || beforeId === undefined) {
    fail('invalid_value', {
      detail: 'cursor must be the nextCursor of a page of the same list with the same filters.',
      source: { parameter: 'cursor' },
    })
  }
  return { limit: input.limit, beforeId }
}

/** Returns a page of resources, with the cursor of the next page. */
export function page<Row, Resource>(
  rows: PageOf<Row>,
  list: ListIdentity,
  view: (row: Row) => Resource,
): Page<Resource> {
  const nextCursor =
    rows.lastId === null ? null : `cur_${Buffer.from(`${listHash(list)} ${rows.lastId}`).toString('base64url')}`
  return { items: rows.rows.map(view), nextCursor }
}

/** Returns a short hash that identifies a list. The hash may be guessable, because a cursor grants no access. */
function listHash(list: ListIdentity): string {
  const filters = Object.entries(list).filter(([, value]) => value !== undefined && value !== null)
  return sha256(JSON.stringify(filters.sort())).slice(0, 12)
}

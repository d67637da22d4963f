import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { show } from '../../core/errors.ts'

/**
 * The maximum number of items on a page. Some hosts never request a second page, so every list of today fits on one.
 */
const longestPage = 200

/**
 * Returns one page of a list with a stable order. The cursor contains the name of the last item on the previous page,
 * so no item appears twice, even if other items are added or removed between two requests.
 */
export function pageOf<T>(
  items: readonly T[],
  name: (item: T) => string,
  cursor: string | undefined,
  length = longestPage,
) {
  const start = cursor === undefined ? 0 : indexAfter(items, name, cursor)
  const page = items.slice(start, start + length)
  const last = page.at(-1)
  if (last === undefined || start + length >= items.length) return { page }
  return { page, nextCursor: Buffer.from(name(last)).toString('base64url') }
}

function indexAfter<T>(items: readonly T[], name: (item: T) => string, cursor: string): number {
  const last = Buffer.from(cursor, 'base64url').toString()
  const index = items.findIndex((item) => name(item) === last)
  if (index !== -1) return index + 1
  throw new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `cursor must be the nextCursor of the previous page; got ${show(cursor)}.`,
  )
}

import type { z } from 'zod'
import type { Event } from '../../tools/events.ts'
import { Failure } from '../core/errors.ts'
import type { System } from '../core/system.ts'
import { ApiError } from './api-error.ts'
import type { Client } from './client.ts'

export type EventResource = z.output<typeof Event>

interface FollowOptions {
  client: Client
  system: Pick<System, 'sleep'>
  /**
   * The id of the event to continue after. `oldest` starts with the oldest stored event; if undefined, only new events
   * are yielded.
   */
  since?: string | undefined
  signal: AbortSignal
  /** Reports that the events cannot be read at the moment. */
  onTrouble(error: unknown): void
}

/** The time between two checks for new events. */
const pauseMs = 1_000
const longestPauseMs = 30_000
const pageSize = 100
/** The maximum number of pages per check. If more than 100,000 events are new, `followEvents` fails. */
const maxPages = 1_000
/**
 * The maximum number of event ids to remember. If the sandbox is restored to an earlier state, the newest remembered
 * event that still exists shows where to continue.
 */
const maxSeenIds = 10_000

/**
 * Yields all events that the credential may read, each exactly once and in order, until the signal aborts. No event is
 * lost in an outage: reading continues after the last event that was yielded.
 * @throws ApiError if no event has the id `since`, or if the credential is refused; Failure if too many events are new
 */
export async function* followEvents(options: FollowOptions): AsyncGenerator<EventResource> {
  const { client, system, signal, onTrouble } = options
  const seenIds = new Set(await startIds(options).catch(ignoreAfterAbort(signal)))
  let waitMs = 0
  while (!signal.aborted) {
    try {
      for await (const page of newPages(client, seenIds, signal)) {
        waitMs = pauseMs
        for (const event of page) {
          yield event
          seenIds.add(event.id)
        }
        forgetOldest(seenIds)
      }
      waitMs = pauseMs
    } catch (error) {
      if (signal.aborted) return
      if (isRefusal(error)) throw error
      onTrouble(error)
      waitMs = Math.min(longestPauseMs, Math.max(pauseMs, waitMs * 2))
    }
    await system.sleep(waitMs, signal).catch(() => {})
  }
}

/** Returns the ids of the events that count as seen at the start, oldest first. */
async function startIds({ client, since, signal }: FollowOptions): Promise<string[]> {
  if (since === 'oldest') return []
  if (since !== undefined) return [(await client.operations.getEvent({ eventId: since }, { signal })).data.id]
  const { data } = await client.operations.listEvents({ limit: pageSize }, { signal })
  return data.map(({ id }) => id).reverse()
}

/** Removes the oldest ids if there are more than `maxSeenIds`. */
function forgetOldest(seenIds: Set<string>): void {
  for (const id of seenIds) {
    if (seenIds.size <= maxSeenIds) return
    seenIds.delete(id)
  }
}

/**
 * Yields pages with the events that follow the last seen event, oldest first. The API lists the newest events first.
 * Therefore, this function reads pages until it finds a seen event, then reads the same pages again in reverse order.
 * It holds at most two pages in memory.
 */
async function* newPages(client: Client, seenIds: ReadonlySet<string>, signal: AbortSignal) {
  const read = async (cursor: string | undefined) => {
    const pageQuery = { limit: pageSize, ...(cursor === undefined ? {} : { cursor }) }
    const { data, meta } = await client.operations.listEvents(pageQuery, { signal })
    const at = data.findIndex(({ id }) => seenIds.has(id))
    const nextCursor = at < 0 ? (meta?.pagination?.nextCursor ?? undefined) : undefined
    return { events: (at < 0 ? data : data.slice(0, at)).reverse(), nextCursor }
  }
  const newest = await read(undefined)
  const cursors: string[] = []
  let oldest = newest
  while (oldest.nextCursor !== undefined) {
    if (cursors.push(oldest.nextCursor) === maxPages) throw tooMany()
    oldest = await read(oldest.nextCursor)
  }
  if (cursors.pop() !== undefined) yield oldest.events
  for (const cursor of cursors.reverse()) yield (await read(cursor)).events
  // The newest page is not read again, because in the meantime, newer events may have moved some of this page's events
  // to the next page.
  yield newest.events
}

function tooMany(): Failure {
  const detail = `More than ${maxPages * pageSize} events are waiting to be read. Follow only new events instead.`
  return new Failure('conflict', { detail })
}

/** Returns an error handler. The handler returns no ids if the signal has aborted; otherwise, it rethrows the error. */
function ignoreAfterAbort(signal: AbortSignal): (error: unknown) => string[] {
  return (error) => {
    if (signal.aborted) return []
    throw error
  }
}

/** Returns whether the same request would fail again with this error. */
function isRefusal(error: unknown): boolean {
  if (error instanceof Failure) return error.code === 'conflict'
  return error instanceof ApiError && [400, 401, 403, 404].includes(error.status)
}

import { sql } from 'kysely'
import { type EventType, wordOf } from '../rules/event-types.ts'
import { changeFeed } from './change-feed.ts'
import { deletingOldest } from './engine/deletions.ts'
import { finderOf } from './engine/find.ts'
import { preparedInsert } from './engine/insert.ts'
import { Journal, type Posted } from './engine/journal.ts'
import { prepared } from './engine/prepared.ts'
import type { Store, Transaction } from './engine/store.ts'
import { type EventState, stateJson } from './event-states.ts'
import { deferEvent, findPartyHead, nextEventNumber } from './party-heads.ts'
import type { EventRow } from './schema/events.ts'

/** The identity of a changed record. If `agentId` is set, the record's events are hidden from other agents. */
type Changed = { partyId: string; id: string; agentId: string | null }

/**
 * Adds events about a record to its party's outbox. Every function that writes the record calls this function. Events
 * get their numbers at the end of the transaction. Numbering locks the party's row in `partyHeads`. Because the lock is
 * taken late, other transactions do not wait for it long.
 */
export function recordEvents<Type extends EventType>(
  tx: Transaction,
  changed: Changed & EventState<Type>,
  types: readonly Type[],
  createdAtMs: number,
): void {
  const { partyId, id: resourceId, agentId } = changed
  const [first] = types
  if (first === undefined) return
  tx.journal.parties.add(partyId)
  const state = stateJson(wordOf(first), changed)
  for (const type of types) deferEvent(tx, { partyId, type, resourceId, agentId, state, createdAtMs })
}

/**
 * Wraps the store so that it reports what each commit added: `onEvents` gets the parties that have new events, and
 * `onPostings` gets the new postings.
 */
export function withAnnouncements(
  store: Store,
  onEvents: (partyIds: ReadonlySet<string>) => void,
  onPostings: (postings: readonly Posted[]) => void,
): Store {
  return {
    dialect: store.dialect,
    clock: store.clock,
    settling: store.settling,
    transaction: async (work, options) => {
      let journal = new Journal()
      const result = await store.transaction((tx) => {
        journal = tx.journal
        return work(tx)
      }, options)
      const { parties, postings } = journal
      if (parties.size > 0) onEvents(parties)
      if (postings.length > 0) onPostings(postings)
      return result
    },
    aside: (work) => store.aside(work),
    read: (work) => store.read(work),
    readBehind: store.readBehind,
    ...(store.load === undefined ? {} : { load: store.load.bind(store) }),
    close: () => store.close(),
  }
}

/** Creates a feed of new events, including events that other processes recorded. */
export function eventFeed(store: Store) {
  return changeFeed(store, {
    head: 'eventSequence',
    rows: async (tx, by) => (await eventsAfter(tx, by)).rows,
    changeOf: (event: EventRow) => event,
  })
}

const eventsAfter = prepared((db, by: { partyId: string; sequence: number; upTo: number; limit: number }) =>
  db
    .selectFrom('events')
    .selectAll()
    .where('partyId', '=', by.partyId)
    .where('sequence', '>', by.sequence)
    .where('sequence', '<=', by.upTo)
    .orderBy('sequence')
    .limit(by.limit),
)

/** Returns the numbers of a party's first and last stored events; undefined if no events are stored. */
export async function eventRange(tx: Transaction, partyId: string) {
  const [{ rows }, head] = await Promise.all([firstOfParty(tx, { partyId }), findPartyHead(tx, partyId)])
  const first = rows[0]?.first ?? null
  return first === null || head === undefined ? undefined : { first, last: head.eventSequence }
}

const firstOfParty = prepared((db, by: { partyId: string }) =>
  db
    .selectFrom('events')
    .where('partyId', '=', by.partyId)
    .select(sql<number | null>`min(${sql.ref('sequence')})`.as('first')),
)

export const findEvent = finderOf('events', 'partyId', 'sequence')

/**
 * A filter for a party's events. An event matches if its number is at least `from` and less than `before`, and if it
 * meets all other conditions.
 */
export interface EventFilter {
  partyId: string
  from: number
  before: number
  types: readonly EventType[]
  createdAfterMs?: number | undefined
  createdBeforeMs?: number | undefined
  limit: number
}

/** Returns the matching events, newest first. */
export function listEvents({ db }: Transaction, filter: EventFilter): Promise<EventRow[]> {
  const { partyId, from, before, types, createdAfterMs, createdBeforeMs, limit } = filter
  let query = db
    .selectFrom('events')
    .selectAll()
    .where('partyId', '=', partyId)
    .where('sequence', '>=', from)
    .where('sequence', '<', before)
    .where('type', 'in', types)
  if (createdAfterMs !== undefined) query = query.where('createdAtMs', '>', createdAfterMs)
  if (createdBeforeMs !== undefined) query = query.where('createdAtMs', '<', createdBeforeMs)
  return query.orderBy('sequence', 'desc').limit(limit).execute()
}

/** How long an event is stored, by the real clock (docs/service.md#events). */
export const eventKeptMs = 30 * 24 * 60 * 60_000

export const deleteEvents = deletingOldest('events', ['partyId', 'sequence'], 'recordedAtMs')

/** Returns at most `limit` events of a party in order, with numbers greater than `sequence` and not above `upTo`. */
export async function nextEvents(
  tx: Transaction,
  by: { partyId: string; sequence: number; upTo: number; limit: number },
): Promise<EventRow[]> {
  return (await eventsAfter(tx, by)).rows
}

/** Returns the number of a party's last event; 0 if the party never had an event. */
export async function lastEventNumber(tx: Transaction, partyId: string): Promise<number> {
  return (await findPartyHead(tx, partyId))?.eventSequence ?? 0
}

/**
 * Adds an event immediately instead of at the end of the transaction, and returns the numbered event. Other
 * transactions that add events for the party then wait until this transaction ends.
 */
export async function recordEventNow<Type extends EventType>(
  tx: Transaction,
  changed: Changed & EventState<Type>,
  type: Type,
  createdAtMs: number,
): Promise<EventRow> {
  const { partyId, id: resourceId, agentId } = changed
  tx.journal.parties.add(partyId)
  const sequence = await nextEventNumber(tx, partyId)
  const values = { partyId, sequence, type, resourceId, agentId, state: stateJson(wordOf(type), changed) }
  const event: EventRow = { ...values, createdAtMs, recordedAtMs: tx.clock.lastMs }
  await insertEvent(tx, event)
  return event
}

const insertEvent = preparedInsert('events')

/** Finds a party's events by their numbers. Omits events that have been deleted. */
export function eventsByNumber({ db }: Transaction, partyId: string, numbers: readonly number[]): Promise<EventRow[]> {
  return db.selectFrom('events').selectAll().where('partyId', '=', partyId).where('sequence', 'in', numbers).execute()
}

/** The maximum number of events that one call of `eventsOfRecord` searches. */
export const maxEventsSearched = 10_000

/**
 * Returns a party's events about one record, newest first. If `before` is set, returns only events with lower numbers.
 * To continue the search, pass the returned `lastSequence` as `before`. If `lastSequence` is null, the search is
 * complete.
 */
export async function eventsOfRecord(
  tx: Transaction,
  { partyId, resourceId }: { partyId: string; resourceId: string },
  { limit, before }: { limit: number; before: number | null },
): Promise<{ rows: EventRow[]; lastSequence: number | null }> {
  const end = before ?? ((await findPartyHead(tx, partyId))?.eventSequence ?? 0) + 1
  const rows = await tx.db
    .selectFrom('events')
    .selectAll()
    .where('partyId', '=', partyId)
    .where('sequence', '<', end)
    .where('sequence', '>=', end - maxEventsSearched)
    .where('resourceId', '=', resourceId)
    .orderBy('sequence', 'desc')
    .limit(limit + 1)
    .execute()
  if (rows.length > limit) return { rows: rows.slice(0, limit), lastSequence: rows[limit - 1]?.sequence ?? null }
  return { rows, lastSequence: end > maxEventsSearched ? end - maxEventsSearched : null }
}

import { sql } from 'kysely'
import { type EventType, wordOf } from '../rules/event-types.ts'
import { changeFeed } from './change-feed.ts'
import { deletingOldest } from './engine/deletions.ts'
import { finderOf } from './engine/find.ts'
import { inserting } from './engine/insert.ts'
import { Journal, type Posted } from './engine/journal.ts'
import { prepared } from './engine/prepared.ts'
import type { Store, Transaction } from './engine/store.ts'
import { type EventState, stateJson } from './event-states.ts'
import { deferEvent, findPartyHead, nextEventNumber } from './party-heads.ts'
import type { EventRow } from './schema/events.ts'

/** The current state of a changed record. Its events go to its party and to this agent. */
type Changed = { partyId: string; id: string; agentId: string | null }

/**
 * Adds events about a record to its party's outbox. Every function that writes the record calls this function. The
 * events are written with the transaction's last statements, because giving an event its number locks the party's head,
 * and other transactions wait for this lock.
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
 * Wraps the store. After each commit, it calls `onEvents` with the parties that got events, and `onPostings` with the
 * postings.
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

/** Returns a feed of the outbox, with the events that all processes wrote. */
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

/** Returns the first and the last number of a party's events; undefined if it has none. */
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
 * A filter for a party's events: the range of their numbers, from `from` up to but not including `before`, and further
 * conditions.
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

/** How long an event is kept, in real time (docs/service.md#events). */
export const eventKeptMs = 30 * 24 * 60 * 60_000

export const deleteEvents = deletingOldest('events', ['partyId', 'sequence'], 'recordedAtMs')

/** Returns a party's events after one number and up to another, in order. */
export async function nextEvents(
  tx: Transaction,
  by: { partyId: string; sequence: number; upTo: number; limit: number },
): Promise<EventRow[]> {
  return (await eventsAfter(tx, by)).rows
}

/** Returns the number of a party's last event; 0 if it has none. */
export async function lastEventNumber(tx: Transaction, partyId: string): Promise<number> {
  return (await findPartyHead(tx, partyId))?.eventSequence ?? 0
}

/**
 * Adds an event immediately, not at the end of the transaction, and returns it with its number. Other transactions that
 * add events for the party wait until this one ends.
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
  const of = { partyId, sequence, type, resourceId, agentId, state: stateJson(wordOf(type), changed) }
  const event: EventRow = { ...of, createdAtMs, recordedAtMs: tx.clock.lastMs }
  await insertWhole(tx, event)
  return event
}

const insertWhole = inserting('events')

/** Returns a party's events with these numbers that are still kept. */
export function eventsByNumber({ db }: Transaction, partyId: string, numbers: readonly number[]): Promise<EventRow[]> {
  return db.selectFrom('events').selectAll().where('partyId', '=', partyId).where('sequence', 'in', numbers).execute()
}

/** The maximum number of events that one search reads. */
export const maxEventsSearched = 10_000

/**
 * Returns a party's events about one record with numbers below `before`, newest first. To continue, pass `lastSequence`
 * as `before`.
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

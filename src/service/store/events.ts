import { sql } from 'kysely'
import { type EventType, wordOf } from '../rules/event-types.ts'
import { deletingOldest } from './engine/deleting.ts'
import { finding } from './engine/find.ts'
import { inserting } from './engine/insert.ts'
import { Journal, type Posted } from './engine/journal.ts'
import { prepared } from './engine/prepared.ts'
import type { Store, Transaction } from './engine/store.ts'
import { type StateTold, stateText } from './event-states.ts'
import { feedOf } from './feed.ts'
import { findPartyHead, leaveEvent, nextEventNumber } from './party-heads.ts'
import type { EventRow } from './schema/events.ts'

/** A record that something happened to, as it is now; the agent is the one that is told of it, besides its party. */
type Changed = { partyId: string; id: string; agentId: string | null }

/**
 * Tells the party of a record what happened to it, for those who write the record. It is written with the transaction's
 * last statements: the number of an event is taken by locking the party's head, for which others wait.
 */
export function tell<Type extends EventType>(
  tx: Transaction,
  changed: Changed & StateTold<Type>,
  types: readonly Type[],
  createdAtMs: number,
): void {
  const { partyId, id: resourceId, agentId } = changed
  const [first] = types
  if (first === undefined) return
  tx.journal.parties.add(partyId)
  const state = stateText(wordOf(first), changed)
  for (const type of types) leaveEvent(tx, { partyId, type, resourceId, agentId, state, createdAtMs })
}

/** Returns the store, which says after each commit which parties it wrote events for, and what it posted. */
export function announcing(
  store: Store,
  happened: (partyIds: ReadonlySet<string>) => void,
  posted: (postings: readonly Posted[]) => void,
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
      if (parties.size > 0) happened(parties)
      if (postings.length > 0) posted(postings)
      return result
    },
    aside: (work) => store.aside(work),
    read: (work) => store.read(work),
    readBehind: store.readBehind,
    ...(store.load === undefined ? {} : { load: store.load.bind(store) }),
    close: () => store.close(),
  }
}

/** What the outbox tells of parties, whichever process wrote it. */
export function eventFeed(store: Store) {
  return feedOf(store, {
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

/** The first and the last number of a party's events; undefined where it has none. */
export async function eventEnds(tx: Transaction, partyId: string) {
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

export const findEvent = finding('events', 'partyId', 'sequence')

/** Which events of a party are wanted: those from one number to before another, and what narrows them. */
export interface EventFilter {
  partyId: string
  from: number
  before: number
  types: readonly EventType[]
  createdAfterMs?: number | undefined
  createdBeforeMs?: number | undefined
  limit: number
}

/** The newest first. */
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

/** The events of a party behind a number, up to another one, in their order. */
export async function nextEvents(
  tx: Transaction,
  by: { partyId: string; sequence: number; upTo: number; limit: number },
): Promise<EventRow[]> {
  return (await eventsAfter(tx, by)).rows
}

/** The number of a party's last event; 0 where it has none. */
export async function lastEvent(tx: Transaction, partyId: string): Promise<number> {
  return (await findPartyHead(tx, partyId))?.eventSequence ?? 0
}

/** Tells a party something whose number is known at once. Until the transaction ends, others wait to tell it something. */
export async function tellAtOnce<Type extends EventType>(
  tx: Transaction,
  changed: Changed & StateTold<Type>,
  type: Type,
  createdAtMs: number,
): Promise<EventRow> {
  const { partyId, id: resourceId, agentId } = changed
  tx.journal.parties.add(partyId)
  const sequence = await nextEventNumber(tx, partyId)
  const of = { partyId, sequence, type, resourceId, agentId, state: stateText(wordOf(type), changed) }
  const event: EventRow = { ...of, createdAtMs, recordedAtMs: tx.clock.lastMs }
  await insertWhole(tx, event)
  return event
}

const insertWhole = inserting('events')

/** The events of a party with these numbers, as far as they are kept. */
export function eventsOfNumbers({ db }: Transaction, partyId: string, numbers: readonly number[]): Promise<EventRow[]> {
  return db.selectFrom('events').selectAll().where('partyId', '=', partyId).where('sequence', 'in', numbers).execute()
}

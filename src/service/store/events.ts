import { type Kysely, type RawBuilder, sql } from 'kysely'
import { type EventType, wordOf } from '../rules/event-types.ts'
import { deletingOldest } from './engine/deleting.ts'
import { inserting } from './engine/insert.ts'
import { Journal, type Posted } from './engine/journal.ts'
import { prepared, writing } from './engine/prepared.ts'
import type { Store, Transaction } from './engine/store.ts'
import { type StateTold, stateText } from './event-states.ts'
import { feedOf } from './feed.ts'
import type { EventRow } from './schema/events.ts'
import type { Tables } from './schema/tables.ts'

type Given = 'partyId' | 'type' | 'resourceId' | 'state' | 'createdAtMs' | 'recordedAtMs'

interface Row extends Pick<EventRow, Given> {
  /** What tells whose it is: the agent, or a card. */
  of: string | null
  /** How many events of the same party come behind it. */
  behind: number
}

/** An event that waits for the end of its transaction. */
interface Told {
  event: Omit<Row, 'behind' | 'recordedAtMs'>
  insert: (tx: Transaction, row: Row) => Promise<void>
}

/** A record that something happened to, as it is now. */
type Changed<Of extends string> = { partyId: string; id: string } & Readonly<Record<Of, string | null>>

/** Tells the party of a record what happened to it. */
type Tell<Of extends string> = <Type extends EventType>(
  tx: Transaction,
  changed: Changed<Of> & StateTold<Type>,
  types: readonly Type[],
  atMs: number,
) => void

/**
 * What tells a record's party what happened to it, for those who write the record. It is written with the transaction's
 * last words: the number of an event is taken by locking the end of the party's, for which others wait.
 * @param of The field that tells whose record it is.
 * @param agentOf Gives the agent that the field tells.
 */
export function telling<Of extends string>(
  of: Of,
  agentOf: (db: Kysely<Tables>, row: Row) => RawBuilder<string | null>,
): Tell<Of> {
  const insert = writing((db, row: Row) => inserted(db, row, agentOf(db, row)))
  return (tx, changed, types, createdAtMs) => {
    const { partyId, id: resourceId } = changed
    const [first] = types
    if (first === undefined) return
    tx.journal.parties.add(partyId)
    const state = stateText(wordOf(first), changed)
    for (const type of types) {
      const event = { partyId, type, resourceId, state, createdAtMs, of: changed[of] }
      tx.atEnd(writeAll, { event, insert })
    }
  }
}

const text = (value: string | null) => sql<string>`cast(${value} as text)`
const whole = (value: number) => sql<number>`cast(${value} as bigint)`

/** As above, of a record that names its agent, or none. */
export const tell = telling('agentId', (_db, row) => text(row.of))

/** Parties go in the order of their ids, so that two who tell each other wait for one another. */
async function writeAll(tx: Transaction, told: readonly Told[]): Promise<void> {
  const recordedAtMs = tx.clock.lastMs
  const byParty = [...Map.groupBy(told, ({ event }) => event.partyId)].sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [partyId, of] of byParty) {
    await moveHead(tx, { partyId, count: of.length })
    for (const [at, { event, insert }] of of.entries()) {
      await insert(tx, { ...event, recordedAtMs, behind: of.length - 1 - at })
    }
  }
}

const moveHead = writing((db, { partyId, count }: { partyId: string; count: number }) =>
  db
    .insertInto('eventHeads')
    .values({ partyId, sequence: count })
    .onConflict((conflict) =>
      conflict.column('partyId').doUpdateSet((head) => ({ sequence: head('eventHeads.sequence', '+', count) })),
    ),
)

function inserted(db: Kysely<Tables>, event: Row, agentId: RawBuilder<string | null>) {
  return db
    .insertInto('events')
    .columns(['partyId', 'sequence', 'type', 'resourceId', 'agentId', 'state', 'createdAtMs', 'recordedAtMs'])
    .expression(
      db
        .selectFrom('eventHeads')
        .where('partyId', '=', event.partyId)
        .select([
          'partyId',
          sql`${sql.ref('sequence')} - ${whole(event.behind)}`.as('sequence'),
          text(event.type).as('type'),
          text(event.resourceId).as('resourceId'),
          agentId.as('agentId'),
          text(event.state).as('state'),
          whole(event.createdAtMs).as('createdAtMs'),
          whole(event.recordedAtMs).as('recordedAtMs'),
        ]),
    )
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
    heads: 'eventHeads',
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
  const [ends] = (await endsOfParty(tx, { partyId })).rows
  return ends === undefined || ends.first === null ? undefined : { first: ends.first, last: ends.last }
}

const endsOfParty = prepared((db, by: { partyId: string }) =>
  db
    .selectFrom('eventHeads')
    .where('partyId', '=', by.partyId)
    .select([
      'sequence as last',
      db
        .selectFrom('events')
        .where('partyId', '=', by.partyId)
        .select(sql<number | null>`min(${sql.ref('sequence')})`.as('first'))
        .$asScalar()
        .as('first'),
    ]),
)

export async function findEvent(tx: Transaction, partyId: string, sequence: number): Promise<EventRow | undefined> {
  return (await eventOf(tx, { partyId, sequence })).rows[0]
}

const eventOf = prepared((db, by: { partyId: string; sequence: number }) =>
  db.selectFrom('events').selectAll().where('partyId', '=', by.partyId).where('sequence', '=', by.sequence),
)

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
  return (await headOf(tx, { partyId })).rows[0]?.sequence ?? 0
}

const headOf = prepared((db, by: { partyId: string }) =>
  db.selectFrom('eventHeads').select('sequence').where('partyId', '=', by.partyId),
)

/** Tells a party something whose number is known at once. Until the transaction ends, others wait to tell it something. */
export async function tellAtOnce<Type extends EventType>(
  tx: Transaction,
  changed: Changed<'agentId'> & StateTold<Type>,
  type: Type,
  createdAtMs: number,
): Promise<EventRow> {
  const { partyId, id: resourceId, agentId } = changed
  tx.apart()
  tx.journal.parties.add(partyId)
  await moveHead(tx, { partyId, count: 1 })
  const sequence = await lastEvent(tx, partyId)
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

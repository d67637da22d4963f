import { type Kysely, sql } from 'kysely'
import { epochIn } from './clock.ts'
import { finderOf } from './engine/find.ts'
import { maxRows, preparedBulkInsert } from './engine/insert.ts'
import { preparedWrite } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { EventRow } from './schema/events.ts'
import type { PartyHeadRow } from './schema/party-heads.ts'
import type { Tables } from './schema/tables.ts'

/** An event that has no number yet. */
export type NewEvent = Omit<EventRow, 'sequence' | 'recordedAtMs'>

/** The end of a party's activity chain, with the signature that seals it. */
export type SealedEnd = Pick<PartyHeadRow, 'partyId' | 'activitySequence' | 'hash' | 'seal'>

export const findPartyHead = finderOf('partyHeads', 'partyId')

/** The columns of a party's head that contain the number of its last activity row and of its last event. */
export type LastNumber = 'activitySequence' | 'eventSequence'

/** Returns the value of `column` for each party, and the sandbox's current epoch. Omits parties with the value 0. */
export function lastNumbers({ db }: Transaction, partyIds: readonly string[], column: LastNumber) {
  return db
    .selectFrom('partyHeads')
    .select(['partyId', `${column} as sequence`, epochIn(db).as('epoch')])
    .where('partyId', 'in', partyIds)
    .where(column, '>', 0)
    .execute()
}

/** Finds the first party with an id above `after` that has activity. */
export async function nextActiveParty({ db }: Transaction, after: string): Promise<string | undefined> {
  const active = db.selectFrom('partyHeads').select('partyId').where('activitySequence', '>', 0)
  return (await active.where('partyId', '>', after).orderBy('partyId').limit(1).executeTakeFirst())?.partyId
}

/** Defers an event to the end of the transaction, when the event gets its party's next event number. */
export function deferEvent(tx: Transaction, event: NewEvent): void {
  tx.atEnd(writeHeads, event)
}

/** Defers writing the new end of a party's activity chain to the end of the transaction. */
export function deferEnd(tx: Transaction, end: SealedEnd): void {
  tx.atEnd(writeHeads, end)
}

/** Returns the latest end of a party's activity chain that this transaction has deferred but not written yet. */
export function deferredEnd(tx: Transaction, partyId: string): SealedEnd | undefined {
  return tx.deferred(writeHeads).findLast((one) => 'seal' in one && one.partyId === partyId) as SealedEnd | undefined
}

/** Writes deferred events and chain ends in the order of party ids, so that concurrent transactions cannot deadlock. */
async function writeHeads(tx: Transaction, deferred: readonly (NewEvent | SealedEnd)[]): Promise<void> {
  const byParty = [...Map.groupBy(deferred, ({ partyId }) => partyId)].sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [partyId, items] of byParty) {
    const events = items.filter((one) => 'type' in one)
    const end = items.findLast((one) => 'seal' in one)
    const recordedAtMs = tx.clock.lastMs
    const numbered = events.map((event, index) => ({ ...event, recordedAtMs, laterEvents: events.length - 1 - index }))
    const [first, ...rest] = numbered
    if (tx.dialect === 'postgres' && end !== undefined && first !== undefined && numbered.length <= maxRows) {
      const { activitySequence, hash, seal } = end
      await extendAndInsert(tx, [{ ...first, activitySequence, hash, seal, eventSequence: events.length }, ...rest])
      continue
    }
    if (end === undefined) await advance(tx, { partyId, count: events.length })
    else await extend(tx, { ...end, eventSequence: events.length })
    await insertEvents(tx, numbered)
  }
}

interface NumberedEvent extends Omit<EventRow, 'sequence'> {
  /** How many events of the same party follow this event in the transaction. */
  laterEvents: number
}

const insertEvents = preparedBulkInsert('events', (db: Kysely<Tables>, { laterEvents, ...event }: NumberedEvent) => {
  const last = db.selectFrom('partyHeads').select('eventSequence').where('partyId', '=', event.partyId)
  return { ...event, sequence: sql<number>`(${last}) - cast(${laterEvents} as bigint)` }
})

const extend = preparedWrite((db, row: PartyHeadRow) => extendQuery(db, row))

function extendQuery(db: Kysely<Tables>, row: PartyHeadRow) {
  return db
    .insertInto('partyHeads')
    .values(row)
    .onConflict((conflict) =>
      conflict.column('partyId').doUpdateSet((head) => ({
        activitySequence: row.activitySequence,
        hash: row.hash,
        seal: row.seal,
        eventSequence: head('partyHeads.eventSequence', '+', row.eventSequence),
      })),
    )
}

/**
 * Does the work of `extend` and `insertEvents` in one statement. Only Postgres supports such a statement. The first
 * event must also have the columns of the head.
 */
const extendAndInsert = preparedBulkInsert(
  'events',
  (_db, { laterEvents, activitySequence: _, hash: __, seal: ___, eventSequence: ____, ...event }: HeadedEvent) => ({
    ...event,
    sequence: sql<number>`(select "eventSequence" from "head") - cast(${laterEvents} as bigint)`,
  }),
  (db, { partyId, activitySequence, hash, seal, eventSequence }) =>
    db.with('head', (inner) =>
      extendQuery(
        inner as Kysely<Tables>,
        { partyId, activitySequence, hash, seal, eventSequence } as PartyHeadRow,
      ).returning('eventSequence'),
    ) as unknown as Kysely<Tables>,
)

type HeadedEvent = NumberedEvent & Partial<PartyHeadRow>

const advance = preparedWrite((db, { partyId, count }: { partyId: string; count: number }) =>
  db
    .insertInto('partyHeads')
    .values({ partyId, activitySequence: 0, hash: null, seal: null, eventSequence: count })
    .onConflict((conflict) =>
      conflict
        .column('partyId')
        .doUpdateSet((head) => ({ eventSequence: head('partyHeads.eventSequence', '+', count) })),
    ),
)

/**
 * Reserves the number of a party's next event immediately, and returns the number. Other transactions that need an
 * event number of this party wait until this transaction ends.
 */
export async function nextEventNumber(tx: Transaction, partyId: string): Promise<number> {
  tx.runAlone()
  await advance(tx, { partyId, count: 1 })
  return (await findPartyHead(tx, partyId))?.eventSequence ?? 0
}

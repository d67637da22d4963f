import { type Kysely, sql } from 'kysely'
import { epochIn } from './clock.ts'
import { finderOf } from './engine/find.ts'
import { insertingSeveral, maxRows } from './engine/insert.ts'
import { writing } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { EventRow } from './schema/events.ts'
import type { PartyHeadRow } from './schema/party-heads.ts'
import type { Tables } from './schema/tables.ts'

/** An event that has no number yet. */
export type NewEvent = Omit<EventRow, 'sequence' | 'recordedAtMs'>

/** The sealed end of a party's activity chain. */
export type SealedEnd = Pick<PartyHeadRow, 'partyId' | 'activitySequence' | 'hash' | 'seal'>

export const findPartyHead = finderOf('partyHeads', 'partyId')

/** The numbers in a head: the number of the last activity row, and the number of the last event. */
export type LastNumber = 'activitySequence' | 'eventSequence'

/** Reads the parties' last numbers, and the clock's current epoch. Omits parties that have no numbered rows. */
export function lastNumbers({ db }: Transaction, partyIds: readonly string[], of: LastNumber) {
  return db
    .selectFrom('partyHeads')
    .select(['partyId', `${of} as sequence`, epochIn(db).as('epoch')])
    .where('partyId', 'in', partyIds)
    .where(of, '>', 0)
    .execute()
}

/** Finds the first party with an id above `after` that has activity. */
export async function nextActiveParty({ db }: Transaction, after: string): Promise<string | undefined> {
  const active = db.selectFrom('partyHeads').select('partyId').where('activitySequence', '>', 0)
  return (await active.where('partyId', '>', after).orderBy('partyId').limit(1).executeTakeFirst())?.partyId
}

/** Defers an event to the end of the transaction, where it gets its party's next event number. */
export function deferEvent(tx: Transaction, event: NewEvent): void {
  tx.atEnd(writeHeads, event)
}

/** Defers writing the new end of a party's chain to the end of the transaction. */
export function deferEnd(tx: Transaction, end: SealedEnd): void {
  tx.atEnd(writeHeads, end)
}

/** Returns the new end of a party's chain that this transaction has deferred and not written yet. */
export function deferredEnd(tx: Transaction, partyId: string): SealedEnd | undefined {
  return tx.deferred(writeHeads).findLast((one) => 'seal' in one && one.partyId === partyId) as SealedEnd | undefined
}

/** Writes the heads of all parties in the order of their ids, so that concurrent transactions do not deadlock. */
async function writeHeads(tx: Transaction, left: readonly (NewEvent | SealedEnd)[]): Promise<void> {
  const byParty = [...Map.groupBy(left, ({ partyId }) => partyId)].sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [partyId, of] of byParty) {
    const events = of.filter((one) => 'type' in one)
    const end = of.findLast((one) => 'seal' in one)
    const recordedAtMs = tx.clock.lastMs
    const numbered = events.map((event, at) => ({ ...event, recordedAtMs, laterEvents: events.length - 1 - at }))
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
  /** How many events of the same party follow in this transaction. The head contains the number of the last event. */
  laterEvents: number
}

const insertEvents = insertingSeveral('events', (db: Kysely<Tables>, { laterEvents, ...event }: NumberedEvent) => {
  const last = db.selectFrom('partyHeads').select('eventSequence').where('partyId', '=', event.partyId)
  return { ...event, sequence: sql<number>`(${last}) - cast(${laterEvents} as bigint)` }
})

const extend = writing((db, row: PartyHeadRow) => extendQuery(db, row))

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
 * Does the work of `extend` and `insertEvents` in one statement, which SQLite does not support. The first event also
 * carries the head's columns.
 */
const extendAndInsert = insertingSeveral(
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

const advance = writing((db, { partyId, count }: { partyId: string; count: number }) =>
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
 * Takes the number of a party's next event immediately. Other transactions that need a number for this party wait until
 * this transaction ends.
 */
export async function nextEventNumber(tx: Transaction, partyId: string): Promise<number> {
  tx.runAlone()
  await advance(tx, { partyId, count: 1 })
  return (await findPartyHead(tx, partyId))?.eventSequence ?? 0
}

import { type Kysely, type OnConflictBuilder, sql } from 'kysely'
import { startOfDayAndMonth } from '../rules/calendar.ts'
import type { Spent } from '../rules/limits.ts'
import { prepared, writing } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { SpendingRow } from './schema/spending.ts'
import type { Tables } from './schema/tables.ts'

/** Whose spending is limited: everything that leaves a party's wallets, or what one agent starts on them. */
export interface Spender {
  partyId: string
  agentId: string | null
}

/** What was spent in the day and in the month of an instant: a row for an agent, for a party one for each of its spenders. */
export async function spentBy(tx: Transaction, { partyId, agentId }: Spender, nowMs: number): Promise<Spent> {
  const by = { partyId, ...startOfDayAndMonth(nowMs) }
  const { rows } = agentId === null ? await spentByParty(tx, by) : await spentByAgent(tx, { ...by, agentId })
  const [spent] = rows
  // The sum of a bigint is a numeric on PostgreSQL, which arrives as text.
  return { dayCents: Number(spent?.dayCents ?? 0), monthCents: Number(spent?.monthCents ?? 0) }
}

interface Windows {
  dayStartMs: number
  monthStartMs: number
}

const spentByParty = prepared((db, by: Windows & { partyId: string }) => spent(db, by))
const spentByAgent = prepared((db, by: Windows & { partyId: string; agentId: string }) =>
  spent(db, by).where('agentId', '=', by.agentId),
)

/** A row that counts another day says nothing of this one. */
function spent(db: Kysely<Tables>, { partyId, dayStartMs, monthStartMs }: Windows & { partyId: string }) {
  const since = (start: 'dayMs' | 'monthMs', cents: 'dayCents' | 'monthCents', startMs: number) =>
    sql<number>`sum(case when ${sql.ref(start)} >= ${startMs} then ${sql.ref(cents)} else 0 end)`
  return db
    .selectFrom('spending')
    .select([
      since('dayMs', 'dayCents', dayStartMs).as('dayCents'),
      since('monthMs', 'monthCents', monthStartMs).as('monthCents'),
    ])
    .where('partyId', '=', partyId)
}

/** An amount by which what was spent at an instant turned out to be more, or less. */
export interface Difference {
  cents: number
  /** When what it is about was started: the day and month in which it counts. */
  atMs: number
  /** When that turned out. */
  nowMs: number
}

/** Counts what an agent, or nobody's agent, spends. */
export async function addSpending(tx: Transaction, spender: Spender, difference: Difference): Promise<void> {
  if (isUnasked(difference)) return
  await add(tx, { partyId: spender.partyId, agentId: spender.agentId ?? '', ...added(difference) })
}

/** Nobody asks for a month that is over. */
function isUnasked({ cents, atMs, nowMs }: Difference): boolean {
  return cents === 0 || startOfDayAndMonth(atMs).monthStartMs < startOfDayAndMonth(nowMs).monthStartMs
}

type Added = Omit<SpendingRow, 'partyId' | 'agentId'>

function added({ cents, atMs }: Difference): Added {
  const { dayStartMs, monthStartMs } = startOfDayAndMonth(atMs)
  return { dayMs: dayStartMs, dayCents: cents, monthMs: monthStartMs, monthCents: cents }
}

const add = writing((db, row: SpendingRow) => db.insertInto('spending').values(row).onConflict(moved))

/** The total of the same day moves, that of a later day takes its place, and one that is over stays as it is. */
function moved(conflict: OnConflictBuilder<Tables, 'spending'>) {
  const [row, other] = [(name: string) => sql.ref(`spending.${name}`), (name: string) => sql.ref(`excluded.${name}`)]
  const total = (start: string, cents: string) =>
    sql<number>`case when ${row(start)} = ${other(start)} then ${row(cents)} + ${other(cents)}
      when ${row(start)} < ${other(start)} then ${other(cents)} else ${row(cents)} end`
  const latest = (start: string) =>
    sql<number>`case when ${row(start)} < ${other(start)} then ${other(start)} else ${row(start)} end`
  return conflict.columns(['partyId', 'agentId']).doUpdateSet({
    dayMs: latest('dayMs'),
    dayCents: total('dayMs', 'dayCents'),
    monthMs: latest('monthMs'),
    monthCents: total('monthMs', 'monthCents'),
  })
}

import { type Kysely, type OnConflictBuilder, sql } from 'kysely'
import { startOfDayAndMonth } from '../rules/calendar.ts'
import type { Spent } from '../rules/limits.ts'
import { prepared, preparedWrite } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { SpendingRow } from './schema/spending.ts'
import type { Tables } from './schema/tables.ts'

/**
 * The spender that a limit applies to: the party as a whole or, if `agentId` is set, one agent that spends the party's
 * money.
 */
export interface Spender {
  partyId: string
  agentId: string | null
}

/**
 * Returns the amounts that the spender has spent on the day and in the month of the given time. The totals of an agent
 * are in one row. The totals of a party are the sums over all rows of the party.
 */
export async function readSpent(tx: Transaction, { partyId, agentId }: Spender, nowMs: number): Promise<Spent> {
  const by = { partyId, ...startOfDayAndMonth(nowMs) }
  const { rows } = agentId === null ? await spentByParty(tx, by) : await spentByAgent(tx, { ...by, agentId })
  const [spent] = rows
  // On PostgreSQL, the sum of a bigint column is a numeric, which the driver returns as a string.
  return { dayCents: Number(spent?.dayCents ?? 0), monthCents: Number(spent?.monthCents ?? 0) }
}

interface Windows {
  dayStartMs: number
  monthStartMs: number
}

const spentByParty = prepared((db, by: Windows & { partyId: string }) => spendingQuery(db, by))
const spentByAgent = prepared((db, by: Windows & { partyId: string; agentId: string }) =>
  spendingQuery(db, by).where('agentId', '=', by.agentId),
)

/** Builds the query that sums the spending. Totals for an earlier day or month count as zero. */
function spendingQuery(db: Kysely<Tables>, { partyId, dayStartMs, monthStartMs }: Windows & { partyId: string }) {
  const centsSince = (start: 'dayMs' | 'monthMs', cents: 'dayCents' | 'monthCents', startMs: number) =>
    sql<number>`sum(case when ${sql.ref(start)} >= ${startMs} then ${sql.ref(cents)} else 0 end)`
  return db
    .selectFrom('spending')
    .select([
      centsSince('dayMs', 'dayCents', dayStartMs).as('dayCents'),
      centsSince('monthMs', 'monthCents', monthStartMs).as('monthCents'),
    ])
    .where('partyId', '=', partyId)
}

/** A change in the amount spent: new spending, or a correction of earlier spending. */
export interface Difference {
  cents: number
  /** The time of the original payment or purchase. The change counts toward the day and the month of that time. */
  atMs: number
  /** The time of the change. */
  nowMs: number
}

/**
 * Adds a change to an agent's totals or, if `agentId` is null, to the totals of the party's spending without an agent.
 */
export async function addSpending(tx: Transaction, spender: Spender, difference: Difference): Promise<void> {
  if (isIrrelevant(difference)) return
  await add(tx, { partyId: spender.partyId, agentId: spender.agentId ?? '', ...addition(difference) })
}

/**
 * Returns whether a change can be ignored, because it is zero or belongs to a past month. Limits apply only to spending
 * in the current day and month.
 */
function isIrrelevant({ cents, atMs, nowMs }: Difference): boolean {
  return cents === 0 || startOfDayAndMonth(atMs).monthStartMs < startOfDayAndMonth(nowMs).monthStartMs
}

type AddedTotals = Omit<SpendingRow, 'partyId' | 'agentId'>

function addition({ cents, atMs }: Difference): AddedTotals {
  const { dayStartMs, monthStartMs } = startOfDayAndMonth(atMs)
  return { dayMs: dayStartMs, dayCents: cents, monthMs: monthStartMs, monthCents: cents }
}

const add = preparedWrite((db, row: SpendingRow) => db.insertInto('spending').values(row).onConflict(addToTotals))

/**
 * Updates the stored totals. If the stored total is for the same day as the new amount, the amount is added to the
 * total. If the total is for an earlier day, the amount replaces it. If the total is for a later day, the amount is
 * ignored. The same applies to months.
 */
function addToTotals(conflict: OnConflictBuilder<Tables, 'spending'>) {
  const [stored, added] = [(name: string) => sql.ref(`spending.${name}`), (name: string) => sql.ref(`excluded.${name}`)]
  const total = (start: string, cents: string) =>
    sql<number>`case when ${stored(start)} = ${added(start)} then ${stored(cents)} + ${added(cents)}
      when ${stored(start)} < ${added(start)} then ${added(cents)} else ${stored(cents)} end`
  const latest = (start: string) =>
    sql<number>`case when ${stored(start)} < ${added(start)} then ${added(start)} else ${stored(start)} end`
  return conflict.columns(['partyId', 'agentId']).doUpdateSet({
    dayMs: latest('dayMs'),
    dayCents: total('dayMs', 'dayCents'),
    monthMs: latest('monthMs'),
    monthCents: total('monthMs', 'monthCents'),
  })
}

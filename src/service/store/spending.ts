import { type Kysely, type OnConflictBuilder, sql } from 'kysely'
import { startOfDayAndMonth } from '../rules/calendar.ts'
import type { Spent } from '../rules/limits.ts'
import { prepared, writing } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { SpendingRow } from './schema/spending.ts'
import type { Tables } from './schema/tables.ts'

/** The spender that a limit applies to: the whole party, or one agent that pays from the party's wallets. */
export interface Spender {
  partyId: string
  agentId: string | null
}

/**
 * Returns the amounts spent on the day and in the month of the given time. An agent's spending is one row; a party's is
 * the sum of all its rows.
 */
export async function spentBy(tx: Transaction, { partyId, agentId }: Spender, nowMs: number): Promise<Spent> {
  const by = { partyId, ...startOfDayAndMonth(nowMs) }
  const { rows } = agentId === null ? await spentByParty(tx, by) : await spentByAgent(tx, { ...by, agentId })
  const [spent] = rows
  // On PostgreSQL the sum of a bigint is a numeric, which arrives as text.
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

/** Sums the spending. Rows of another day or month count as zero. */
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

/** A change of the amount spent: new spending, or a correction of earlier spending. */
export interface Difference {
  cents: number
  /** When the spending started. It counts in the day and month of this time. */
  atMs: number
  /** The time of the change. */
  nowMs: number
}

/** Adds spending by an agent, or by the party itself, to the totals. */
export async function addSpending(tx: Transaction, spender: Spender, difference: Difference): Promise<void> {
  if (isIrrelevant(difference)) return
  await add(tx, { partyId: spender.partyId, agentId: spender.agentId ?? '', ...addition(difference) })
}

/**
 * Returns whether the difference need not be counted, because it is zero or belongs to a past month, which no limit
 * covers.
 */
function isIrrelevant({ cents, atMs, nowMs }: Difference): boolean {
  return cents === 0 || startOfDayAndMonth(atMs).monthStartMs < startOfDayAndMonth(nowMs).monthStartMs
}

type Added = Omit<SpendingRow, 'partyId' | 'agentId'>

function addition({ cents, atMs }: Difference): Added {
  const { dayStartMs, monthStartMs } = startOfDayAndMonth(atMs)
  return { dayMs: dayStartMs, dayCents: cents, monthMs: monthStartMs, monthCents: cents }
}

const add = writing((db, row: SpendingRow) => db.insertInto('spending').values(row).onConflict(addToTotals))

/**
 * Adds the amount to a total for the same day, replaces a total for an earlier day, and keeps a total for a later day.
 * Does the same for the month.
 */
function addToTotals(conflict: OnConflictBuilder<Tables, 'spending'>) {
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

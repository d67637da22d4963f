import { sql } from 'kysely'
import { refusedOutcomes } from '../rules/runs.ts'
import { deletingOldest } from './engine/deletions.ts'
import { writing } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { RunMinuteRow } from './schema/run-minutes.ts'
import type { RunEntryRow } from './schema/runs.ts'

/** A filter for a party's runs. */
export interface RunScope {
  partyId: string
  agentId?: string | undefined
  host?: string | undefined
  /** Selects only runs that were active between these times on the service's clock, inclusive. */
  fromMs?: number | undefined
  untilMs?: number | undefined
}

const minuteMs = 60_000

/** Returns the beginning of the minute that contains a time. */
const minuteOf = (ms: number) => ms - (ms % minuteMs)

/** An entry of a run, and the money that it took from the party's available balance. */
interface Counted {
  row: Pick<RunEntryRow, 'partyId' | 'runId' | 'kind' | 'outcome' | 'atMs'>
  spentCents: number
}

/** Returns whether an entry is a call that counts as a failure of its run. */
export const isFailed = ({ row }: Counted) => row.kind === 'call' && refusedOutcomes.has(row.outcome)

export function totalsOf(entries: readonly Counted[]): Pick<RunMinuteRow, 'calls' | 'refused' | 'spentCents'> {
  return {
    calls: entries.filter(({ row }) => row.kind === 'call').length,
    refused: entries.filter(isFailed).length,
    spentCents: entries.reduce((sum, { spentCents }) => sum + spentCents, 0),
  }
}

/** Adds the entries of one run to the run's totals for each minute. */
export async function addToMinutes(tx: Transaction, entries: readonly Counted[], recordedAtMs: number): Promise<void> {
  for (const [minute, of] of Map.groupBy(entries, ({ row }) => minuteOf(row.atMs))) {
    const row = of[0]?.row
    if (row === undefined) continue
    const { partyId, runId } = row
    await addToMinute(tx, { partyId, runId, minuteMs: minute, ...totalsOf(of), recordedAtMs })
  }
}

/** Adds to the totals of a run for one minute. */
const addToMinute = writing((db, row: RunMinuteRow) =>
  db
    .insertInto('runMinutes')
    .values(row)
    .onConflict((conflict) =>
      conflict.columns(['partyId', 'minuteMs', 'runId']).doUpdateSet((minute) => ({
        calls: minute('runMinutes.calls', '+', row.calls),
        refused: minute('runMinutes.refused', '+', row.refused),
        spentCents: minute('runMinutes.spentCents', '+', row.spentCents),
        recordedAtMs: row.recordedAtMs,
      })),
    ),
)

export const deleteRunMinutes = deletingOldest('runMinutes', ['partyId', 'minuteMs', 'runId'], 'recordedAtMs')

/** The totals of a party's runs in one stretch of time. */
export interface Bucket {
  /** The beginning of the stretch. */
  atMs: number
  calls: number
  refused: number
  spentCents: number
}

/** Returns the first and the last minute in which a party has entries; undefined if there are none. */
export async function spanOfRuns(
  { db }: Transaction,
  partyId: string,
): Promise<{ firstMs: number; lastMs: number } | undefined> {
  const minutes = db.selectFrom('runMinutes').where('partyId', '=', partyId)
  const first = await minutes.select('minuteMs').orderBy('minuteMs').limit(1).executeTakeFirst()
  const last = await minutes.select('minuteMs').orderBy('minuteMs', 'desc').limit(1).executeTakeFirst()
  return first && last && { firstMs: first.minuteMs, lastMs: last.minuteMs }
}

/**
 * Returns the totals of a party's runs for each stretch of time that has entries, in order.
 * @param scope A range on the service's clock, which is widened to whole minutes, and a filter for the runs.
 * @param bucketMs The length of a stretch. Each stretch begins at a multiple of this length since 1970.
 */
export async function bucketsOfRuns({ db }: Transaction, scope: RunScope, bucketMs: number): Promise<Bucket[]> {
  const { partyId, agentId, host, fromMs, untilMs } = scope
  let query = db.selectFrom('runMinutes').where('runMinutes.partyId', '=', partyId)
  if (fromMs !== undefined) query = query.where('minuteMs', '>=', minuteOf(fromMs))
  if (untilMs !== undefined) query = query.where('minuteMs', '<=', untilMs)
  if (agentId !== undefined || host !== undefined) {
    let runs = db.selectFrom('runs').select('id').where('partyId', '=', partyId)
    if (agentId !== undefined) runs = runs.where('agentId', '=', agentId)
    if (host !== undefined) runs = runs.where('host', '=', host)
    // The `is true` keeps PostgreSQL from turning this condition into a join. A join takes seconds if PostgreSQL
    // misjudges the number of runs.
    query = query.where(sql<boolean>`(${sql.ref('runId')} in (${runs})) is true`)
  }
  const sum = (name: 'calls' | 'refused' | 'spentCents') => sql<string | number>`sum(${sql.ref(name)})`.as(name)
  const rows = await query
    .select([
      sql<number>`"minuteMs" - "minuteMs" % ${sql.lit(bucketMs)}`.as('atMs'),
      sum('calls'),
      sum('refused'),
      sum('spentCents'),
    ])
    .groupBy('atMs')
    .orderBy('atMs')
    .execute()
  return rows.map(({ atMs, calls, refused, spentCents }) => ({
    ...{ atMs: Number(atMs), calls: Number(calls), refused: Number(refused), spentCents: Number(spentCents) },
  }))
}

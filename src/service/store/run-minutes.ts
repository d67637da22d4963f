import { sql } from 'kysely'
import { refusedOutcomes } from '../rules/runs.ts'
import { deletingOldest } from './engine/deletions.ts'
import { preparedWrite } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { RunMinuteRow } from './schema/run-minutes.ts'
import type { RunEntryRow } from './schema/runs.ts'

/** A filter for a party's runs. */
export interface RunScope {
  partyId: string
  agentId?: string | undefined
  host?: string | undefined
  /** The start of a time range, by the sandbox clock. Only runs that were active in this range match. */
  fromMs?: number | undefined
  /** The end of the range. The range includes its start and its end. */
  untilMs?: number | undefined
}

const minuteMs = 60_000

/** Returns the start of the minute that contains a time. */
const startOfMinute = (ms: number) => ms - (ms % minuteMs)

/** An entry of a run, and the entry's effect on the party's available balance. */
interface CountedEntry {
  row: Pick<RunEntryRow, 'partyId' | 'runId' | 'kind' | 'outcome' | 'atMs'>
  /** The amount by which the call or due effect reduced the party's available balance. */
  spentCents: number
}

/** Returns whether an entry is a call that failed, was declined, was refused or was left unanswered. */
export const isFailed = ({ row }: CountedEntry) => row.kind === 'call' && refusedOutcomes.has(row.outcome)

export function totalsOf(entries: readonly CountedEntry[]): Pick<RunMinuteRow, 'calls' | 'refused' | 'spentCents'> {
  return {
    calls: entries.filter(({ row }) => row.kind === 'call').length,
    refused: entries.filter(isFailed).length,
    spentCents: entries.reduce((sum, { spentCents }) => sum + spentCents, 0),
  }
}

/** Adds the entries of one run to the run's totals per minute. The time of an entry decides its minute. */
export async function addToMinutes(
  tx: Transaction,
  entries: readonly CountedEntry[],
  recordedAtMs: number,
): Promise<void> {
  for (const [minute, inMinute] of Map.groupBy(entries, ({ row }) => startOfMinute(row.atMs))) {
    const row = inMinute[0]?.row
    if (row === undefined) continue
    const { partyId, runId } = row
    await addToMinute(tx, { partyId, runId, minuteMs: minute, ...totalsOf(inMinute), recordedAtMs })
  }
}

const addToMinute = preparedWrite((db, row: RunMinuteRow) =>
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

/** The totals of a party's runs in one time interval. */
export interface Bucket {
  /** The start of the interval. */
  atMs: number
  calls: number
  refused: number
  spentCents: number
}

/** Returns the starts of the first and last minutes in which a party has entries; undefined if there are no entries. */
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
 * Returns the totals of a party's runs for each time interval that has entries, earliest first.
 * @param scope A filter for the runs. Its time range is widened to whole minutes.
 * @param bucketMs The length of an interval. Intervals start at multiples of this length, counted from 1970.
 */
export async function bucketsOfRuns({ db }: Transaction, scope: RunScope, bucketMs: number): Promise<Bucket[]> {
  const { partyId, agentId, host, fromMs, untilMs } = scope
  let query = db.selectFrom('runMinutes').where('runMinutes.partyId', '=', partyId)
  if (fromMs !== undefined) query = query.where('minuteMs', '>=', startOfMinute(fromMs))
  if (untilMs !== undefined) query = query.where('minuteMs', '<=', untilMs)
  if (agentId !== undefined || host !== undefined) {
    let runs = db.selectFrom('runs').select('id').where('partyId', '=', partyId)
    if (agentId !== undefined) runs = runs.where('agentId', '=', agentId)
    if (host !== undefined) runs = runs.where('host', '=', host)
    // The `is true` keeps PostgreSQL from turning this condition into a join. A join can take seconds, because
    // PostgreSQL may misjudge the number of runs.
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

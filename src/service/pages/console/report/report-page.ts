import { timestamp } from '../../../../core/system.ts'
import { boundsOfFile, boundsOfPage, runReport } from '../../../operations/steps/run-report.ts'
import { activityAfter } from '../../../store/activity.ts'
import { readTimes } from '../../../store/clock.ts'
import type { Store } from '../../../store/engine/store.ts'
import { findRun } from '../../../store/runs.ts'
import type { ActivityRow } from '../../../store/schema/activity.ts'
import type { RunRow } from '../../../store/schema/runs.ts'
import { type MadeReport, type ReportFormat, reportFile } from './report-file.ts'

type Reads = Pick<Store, 'read'>

/** The report of a party's run, as a page shows it; undefined: the party has no such run. */
export async function reportFor(
  store: Reads,
  { partyId, runId, whole }: { partyId: string; runId: string; whole: boolean },
): Promise<MadeReport | undefined> {
  const run = await store.read((tx) => findRun(tx, partyId, runId))
  return run === undefined ? undefined : madeReport(store, run, whole)
}

export async function madeReport(store: Reads, run: RunRow, whole = true): Promise<MadeReport> {
  const { nowMs } = await store.read(readTimes)
  const report = await runReport(store, run, { bounds: whole ? boundsOfFile : boundsOfPage, nowMs })
  return { madeAt: timestamp(nowMs), report }
}

/** A report as a file, with the rows of its chain as they are read. */
export function fileOf(store: Reads, made: MadeReport, format: ReportFormat): AsyncGenerator<string> {
  return reportFile(made, format, chainRows(store, made))
}

const batch = 500

async function* chainRows(store: Reads, { report: { partyId, chain } }: MadeReport): AsyncGenerator<ActivityRow[]> {
  if (chain.first === null || chain.last === null) return
  const end = chain.last.sequence
  for (let after = chain.first.sequence - 1; after < end; ) {
    const [behind, limit] = [after, Math.min(batch, end - after)]
    const rows: ActivityRow[] = await store.read((tx) => activityAfter(tx, partyId, behind, limit))
    if (rows.length === 0) return
    yield rows
    after = rows.at(-1)?.sequence ?? end
  }
}

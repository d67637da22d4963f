import type { Environment } from '../../../../core/operation.ts'
import { nextTurn, timestamp } from '../../../../core/system.ts'
import { commandBounds, downloadBounds, pageBounds, runReport } from '../../../operations/steps/run-report.ts'
import { settleDue } from '../../../request/due-effects.ts'
import { activityAfter } from '../../../store/activity.ts'
import { readTimes } from '../../../store/clock.ts'
import type { Store } from '../../../store/engine/store.ts'
import { findRun } from '../../../store/runs.ts'
import type { ActivityRow } from '../../../store/schema/activity.ts'
import type { RunRow } from '../../../store/schema/runs.ts'
import type { ConsoleDependencies } from '../serve-page.ts'
import { type MadeReport, type ReportFormat, reportFile } from './report-file.ts'

type Reads = Pick<Store, 'read'>

/**
 * Returns the report of a party's run; undefined if the party has no such run. Due effects are applied first, so the
 * report includes them.
 */
export async function reportFor(
  pages: ConsoleDependencies,
  { partyId, runId, ...options }: { partyId: string; runId: string } & Options,
): Promise<MadeReport | undefined> {
  const { store, runLog } = pages
  await settleDue(pages, { partyId })
  await runLog.flush()
  const run = await store.read((tx) => findRun(tx, partyId, runId))
  return run === undefined ? undefined : makeReport(store, run, options)
}

interface Options {
  environment: Environment
  /** The purpose of the report. It limits how many of the run's entries and changes the report covers. */
  purpose: keyof typeof bounds
}

const bounds = { page: pageBounds, download: downloadBounds, command: commandBounds }

export async function makeReport(store: Reads, run: RunRow, { environment, purpose }: Options): Promise<MadeReport> {
  const { nowMs } = await store.read(readTimes)
  const report = await runReport(withPauses(store), run, { bounds: bounds[purpose], nowMs, environment })
  return { madeAt: timestamp(nowMs), report }
}

/** Returns the pieces of a report file. The rows of the chain are read from the store as the pieces are consumed. */
export function fileOf(store: Reads, madeReport: MadeReport, format: ReportFormat): AsyncGenerator<string> {
  return reportFile(madeReport, format, chainRows(store, madeReport))
}

/** Wraps the store so that, after each read, the process can do other work. */
function withPauses(store: Reads): Reads {
  return {
    read: async (work) => {
      const found = await store.read(work)
      await nextTurn()
      return found
    },
  }
}

const batch = 500

async function* chainRows(store: Reads, { report: { partyId, chain } }: MadeReport): AsyncGenerator<ActivityRow[]> {
  if (chain.first === null || chain.last === null) return
  const end = chain.last.sequence
  for (let after = chain.first.sequence - 1; after < end; ) {
    const [behind, limit] = [after, Math.min(batch, end - after)]
    const rows: ActivityRow[] = await withPauses(store).read((tx) => activityAfter(tx, partyId, behind, limit))
    if (rows.length === 0) return
    yield rows
    after = rows.at(-1)?.sequence ?? end
  }
}

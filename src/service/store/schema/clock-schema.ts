import type { Kysely } from 'kysely'
import { addColumns } from './schema.ts'

/** One row: the service's clock. */
export interface ClockRow {
  id: 1
  /** How far the sandbox's clock is ahead of real time. */
  offsetMs: number
  /** The latest real time that any process has seen. The clock never runs below it, whatever a machine's clock says. */
  highestMs: number
  /** Rises with a reset or a restore of the sandbox: only then may time begin again. */
  epoch: number
}

export async function addHighestTime(db: Kysely<unknown>): Promise<void> {
  await addColumns(db, 'clock', { bigint: 'highestMs=0', integer: 'epoch=1' })
}

import type { Logger } from '../../../config/log.ts'
import type { System } from '../../../core/system.ts'
import type { Signals } from './signals.ts'

/** Signals that do nothing, for a database that has no other processes to notify. */
const noSignals: Signals = { send: () => {}, subscribe: () => () => {}, close: async () => {} }

/** Opens the signals between the processes that share a PostgreSQL database. For SQLite, the signals do nothing. */
export async function openSignals({ url, system, log }: { url: string; system: System; log: Logger }) {
  if (url.startsWith('sqlite:')) return noSignals
  const { PostgresSignals } = await import('./postgres-signals.ts')
  return new PostgresSignals({ url, system, log })
}

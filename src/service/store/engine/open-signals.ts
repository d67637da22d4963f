import type { Logger } from '../../../config/log.ts'
import type { System } from '../../../core/system.ts'
import type { Signals } from './signals.ts'

/** Signals for a database that has no other processes to notify. */
const silence: Signals = { send: () => {}, subscribe: () => () => {}, close: async () => {} }

/** Opens the signals of the database that `url` names. PostgreSQL has LISTEN and NOTIFY; a file has no signals. */
export async function openSignals({ url, system, log }: { url: string; system: System; log: Logger }) {
  if (url.startsWith('sqlite:')) return silence
  const { PostgresSignals } = await import('./postgres-signals.ts')
  return new PostgresSignals({ url, system, log })
}

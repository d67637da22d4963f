import { realSystem } from '../../../core/system.ts'
import { KeyWrapping } from './key-wrapping.ts'
import { RealClock } from './real-clock.ts'
import type { Store, Transaction } from './store.ts'

/** A database opened only for reading. Reading changes neither the database nor the files next to it. */
export interface ReadOnlyDatabase {
  /** Runs `work` on a consistent snapshot of the database. */
  read: Store['read']
  /** Returns whether the current user can write to the database. */
  isWritable(tx: Transaction): Promise<boolean>
  close(): Promise<void>
}

/**
 * Opens a database for reading, whichever program created it. A database server is contacted only when `read` is
 * called.
 * @throws Error if the file of an SQLite database cannot be opened.
 */
export async function openReadOnly(url: string, secrets: readonly string[] | undefined): Promise<ReadOnlyDatabase> {
  const wrapping = new KeyWrapping(secrets, realSystem)
  return url.startsWith('sqlite:') ? openFile(url.slice('sqlite:'.length), wrapping) : openServer(url, wrapping)
}

async function openFile(path: string, wrapping: KeyWrapping): Promise<ReadOnlyDatabase> {
  const { access, constants } = await import('node:fs/promises')
  const { openWithoutTrace } = await import('./sqlite-file.ts')
  const { Connection } = await import('./sqlite-connection.ts')
  const { SqliteTransaction } = await import('./sqlite-transaction.ts')
  const connection = new Connection(openWithoutTrace(path, 1_000))
  const tx = new SqliteTransaction(connection, new RealClock(realSystem, { shared: false }), wrapping)
  return {
    async read(work) {
      connection.command('begin')
      try {
        return await work(tx)
      } finally {
        connection.command('rollback')
      }
    },
    isWritable: () =>
      access(path, constants.W_OK).then(
        () => true,
        () => false,
      ),
    close: async () => connection.close(),
  }
}

async function openServer(url: string, wrapping: KeyWrapping): Promise<ReadOnlyDatabase> {
  const { sql } = await import('kysely')
  const { openPool } = await import('./postgres-connections.ts')
  const { PostgresReaders } = await import('./postgres-readers.ts')
  const pool = openPool(url, { connections: 1 })
  const dependencies = { clock: new RealClock(realSystem, { shared: true }), wrapping }
  const readers = new PostgresReaders(pool, { dependencies, seesOneWorld: true })
  return {
    read: (work) => readers.read(work),
    async isWritable({ db }) {
      // Checks the default for new transactions, because this transaction itself is always read-only.
      const { rows } = await sql<{ may: boolean }>`
        select not pg_is_in_recovery() and current_setting('default_transaction_read_only') = 'off'
          and has_table_privilege('clock', 'UPDATE') as may`.execute(db)
      return rows[0]?.may === true
    },
    close: () => pool.end(),
  }
}

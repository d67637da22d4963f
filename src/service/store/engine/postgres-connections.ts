import pg from 'pg'
import { deadline } from '../../../core/system.ts'
import { StoreBusyError } from './store.ts'

/** The time limits of database work. Together they ensure that every request is answered within ten seconds. */
const limits = {
  /** Opening a connection, or waiting for a connection from the pool. */
  connectMs: 3_000,
  /**
   * Waiting for the answer to one statement. If the answer takes longer, the connection is closed, and the transaction
   * fails.
   */
  answerMs: 4_000,
  /**
   * Waiting for a lock. This limit is longer than `idleInTransactionMs`: if the process that holds the lock hangs, its
   * transaction is ended first, and the waiting transaction still gets the lock.
   */
  lockMs: 3_500,
  /** A pause between two statements of a transaction. */
  idleInTransactionMs: 3_000,
  /** Closing a connection that no longer answers. */
  closeMs: 1_000,
} as const

/**
 * The statements that set the limits that the server enforces. They are sent with each `begin`, because PgBouncer does
 * not pass on limits that a client sets when it connects. It may also use a different server connection for each
 * transaction.
 */
export const transactionLimits = [
  `set local lock_timeout = ${limits.lockMs}`,
  `set local statement_timeout = ${limits.answerMs}`,
  `set local idle_in_transaction_session_timeout = ${limits.idleInTransactionMs}`,
].join('; ')

interface OpenPool {
  connections: number
  /** Whether statements have no deadline. Set it for schema changes, which may take long. */
  isPatient?: boolean
  /** Whether statements are prepared under names: the result of `keepsPrepared`. */
  prepares?: boolean
}

/** The part of a `pg` pool that the store uses. */
export interface ConnectionPool {
  readonly options: object
  /** Whether statements are prepared under names. */
  readonly prepares: boolean
  connect(): Promise<pg.PoolClient>
  end(): Promise<void>
}

/** Opens a pool whose connections send statements without waiting for the answers to earlier ones. */
export function openPool(url: string, { connections, isPatient = false, prepares = false }: OpenPool): ConnectionPool {
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    pipeline: true,
    connectionTimeoutMillis: limits.connectMs,
    ...(isPatient ? {} : { query_timeout: limits.answerMs }),
    keepAlive: true,
    keepAliveInitialDelayMillis: limits.answerMs,
    types: { getTypeParser: numberParser(pg.types) },
  })
  const open = new Set<pg.PoolClient>()
  const idle = new Set<pg.PoolClient>()
  // Without a listener, an `error` event would end the process. Code that uses the failed connection gets the error
  // from its query.
  pool.on('error', () => {})
  pool.on('acquire', (client) => idle.delete(client))
  pool.on('release', (_error, client) => idle.add(client))
  pool.on('connect', (client) => {
    open.add(client)
    client.once('end', () => {
      open.delete(client)
      idle.delete(client)
    })
    // When one connection fails, the idle connections to the same server are closed too, so that the next request does
    // not fail on one of them.
    client.on('error', () => {
      for (const other of idle) cutConnection(other)
      idle.clear()
    })
    // `readOnlyCode` means that the server has become a standby. A new connection may reach the new primary.
    client.connection.on('errorMessage', ({ code }: pg.DatabaseError) => {
      if (code === readOnlyCode) cutConnection(client)
    })
  })
  return {
    options: pool.options,
    prepares,
    connect: () => pool.connect(),
    async end() {
      const timer = deadline(limits.closeMs, () => open.forEach(cutConnection))
      const ends = Array.from(open, (client) => new Promise((resolve) => client.once('end', resolve)))
      await Promise.all([pool.end(), ...ends])
      timer.clear()
    },
  }
}

const probe = {
  name: 'payments_probe',
  text: "select pg_backend_pid() as pid, exists (select from pg_prepared_statements where name = 'payments_probe') as found",
}

/**
 * Returns whether named prepared statements still work in later transactions. A pooler such as PgBouncer may use a
 * different server connection for each transaction. Some poolers make named statements work nevertheless, by renaming
 * them. With other poolers, the next server connection may lack the statement, or have another client's statement with
 * the same name.
 */
export async function keepsPrepared(pool: ConnectionPool): Promise<boolean> {
  const client = await pool.connect()
  try {
    const { rows } = await client.query<{ pid: number; found: boolean }>(probe)
    // A pooler that renames statements also renames the probe, which then does not find its own name. Without a pooler,
    // the query runs in the server process whose id was received when the connection was opened.
    return rows[0]?.found === false || rows[0]?.pid === (client as unknown as { processID: number }).processID
  } catch (error) {
    if (asBusy(error) !== undefined) throw error
    // The query probably failed because a pooler's server connection still has the statement of an earlier probe.
    return false
  } finally {
    client.release()
  }
}

function cutConnection(client: pg.PoolClient): void {
  client.connection.stream.destroy()
}

type Types = typeof import('pg')['types']

/**
 * Returns a function that makes `pg` parse int8 values as numbers instead of strings. All amounts and times are safe
 * integers.
 */
function numberParser(types: Types): Types['getTypeParser'] {
  const parser = (id: number, format?: 'text' | 'binary') =>
    id === types.builtins.INT8 && format !== 'binary' ? Number : types.getTypeParser(id, format as 'text')
  return parser as Types['getTypeParser']
}

/** read_only_sql_transaction */
const readOnlyCode = '25006'

/**
 * SQLSTATE classes and codes of errors that are the server's fault, not the statement's (PostgreSQL manual, Appendix
 * A). In this order: connection errors, lack of resources, shutdown, query_canceled, lock_not_available,
 * idle_in_transaction_session_timeout, read_only_sql_transaction, io_error, and the codes of socket errors.
 */
const busyCodes =
  /^(08...|53...|57P0[1-5]|57014|55P03|25P03|25006|58030|ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH|ENOENT)$/
/** The messages of errors that `pg` raises about its own connections. These errors have no code. */
const busyMessages =
  /^(Connection terminated|timeout (expired|exceeded when trying to connect)|Client has encountered a connect|Query read timeout)/

/** Returns whether the database server raised the error. */
export function isServerError(error: unknown): boolean {
  return error instanceof pg.DatabaseError
}

/**
 * Returns a StoreBusyError caused by `error` if the database is at fault; otherwise undefined. If only the answer was
 * lost, the transaction may have been committed, so a caller can retry safely only with an idempotency key.
 */
export function asBusy(error: unknown): StoreBusyError | undefined {
  if (!(error instanceof Error)) return undefined
  const isBusy = 'code' in error ? busyCodes.test(String(error.code)) : busyMessages.test(error.message)
  return isBusy
    ? new StoreBusyError('The database cannot be reached or is out of resources.', { cause: error })
    : undefined
}

/**
 * Returns whether a prepared statement failed because a schema change altered the columns that the statement returns
 * (feature_not_supported).
 */
export function isOutdatedStatement(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '0A000' && error.message.includes('cached plan')
}

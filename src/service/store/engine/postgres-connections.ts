import pg from 'pg'
import { deadline } from '../../../core/system.ts'
import { StoreBusyError } from './store.ts'

/** How long each waits at most. Together they let every request be answered within ten seconds. */
const limits = {
  /** Making a connection, or waiting for one of the pool. */
  connectMs: 3_000,
  /** The answer to one statement. Whoever passes it has lost the connection, and with it the transaction. */
  answerMs: 4_000,
  /** Longer than a process that stands still within a transaction may keep its locks, so that who waits gets them. */
  lockMs: 3_500,
  idleInTransactionMs: 3_000,
  /** A goodbye that is not answered. */
  closeMs: 1_000,
} as const

/**
 * What the server keeps of them. To be sent with each `begin`: PgBouncer takes none of them when the connection is made,
 * and gives each transaction another one.
 */
export const transactionLimits = [
  `set local lock_timeout = ${limits.lockMs}`,
  `set local statement_timeout = ${limits.answerMs}`,
  `set local idle_in_transaction_session_timeout = ${limits.idleInTransactionMs}`,
].join('; ')

interface OpenPool {
  connections: number
  /** Whether a statement may take as long as it takes, as those do that change the schema. */
  isPatient?: boolean
  /** What `keepsPrepared` says. */
  prepares?: boolean
}

/** As much of a pool as whoever uses it needs. */
export interface ConnectionPool {
  readonly options: object
  /** Whether statements are prepared under names. */
  readonly prepares: boolean
  connect(): Promise<pg.PoolClient>
  end(): Promise<void>
}

/** Connections on which statements go out without waiting for the answers to those before. */
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
  // Unheard these events would end the process. Whoever uses the connection gets the error from its query.
  pool.on('error', () => {})
  pool.on('acquire', (client) => idle.delete(client))
  pool.on('release', (_error, client) => idle.add(client))
  pool.on('connect', (client) => {
    open.add(client)
    client.once('end', () => {
      open.delete(client)
      idle.delete(client)
    })
    // The others that nobody uses lead where this one led: the next request is to find out on none of them.
    client.on('error', () => {
      for (const other of idle) cut(other)
      idle.clear()
    })
    // It leads to what is a standby now: whoever connects anew may find the server that took its place.
    client.connection.on('errorMessage', ({ code }: pg.DatabaseError) => {
      if (code === readOnlyCode) cut(client)
    })
  })
  return {
    options: pool.options,
    prepares,
    connect: () => pool.connect(),
    async end() {
      const patience = deadline(limits.closeMs, () => open.forEach(cut))
      const ends = Array.from(open, (client) => new Promise((resolve) => client.once('end', resolve)))
      await Promise.all([pool.end(), ...ends])
      patience.clear()
    },
  }
}

const probe = {
  name: 'payments_probe',
  text: "select pg_backend_pid() as pid, exists (select from pg_prepared_statements where name = 'payments_probe') as found",
}

/**
 * Whether a statement that was prepared under a name is there in a later transaction. A pooler that may give it another
 * connection to the server, such as PgBouncer in transaction mode, either keeps the statements and names them itself, or
 * passes the names on: then they would be missing there, or be somebody else's.
 */
export async function keepsPrepared(pool: ConnectionPool): Promise<boolean> {
  const client = await pool.connect()
  try {
    const { rows } = await client.query<{ pid: number; found: boolean }>(probe)
    // Only the server itself tells its own process when the connection is made.
    return rows[0]?.found === false || rows[0]?.pid === (client as unknown as { processID: number }).processID
  } catch (error) {
    if (asBusy(error) !== undefined) throw error
    // Whoever asked here before left it behind.
    return false
  } finally {
    client.release()
  }
}

function cut(client: pg.PoolClient): void {
  client.connection.stream.destroy()
}

type Types = typeof import('pg')['types']

/** int8 as number, which every amount and instant fits: by default it is text. */
function numberParser(types: Types): Types['getTypeParser'] {
  const parser = (id: number, format?: 'text' | 'binary') =>
    id === types.builtins.INT8 && format !== 'binary' ? Number : types.getTypeParser(id, format as 'text')
  return parser as Types['getTypeParser']
}

/** read_only_sql_transaction */
const readOnlyCode = '25006'

/**
 * SQLSTATE classes and codes that say the server, not the statement, is at fault: connection, resources, shutdown,
 * lock_not_available, query_canceled by a limit above and a transaction ended by one, a standby that takes no writes,
 * io_error (PostgreSQL, Appendix A). Then the codes of sockets.
 */
const busyCodes =
  /^(08...|53...|57P0[1-5]|57014|55P03|25P03|25006|58030|ECONN\w+|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|E(HOST|NET)UNREACH|ENOENT)$/
/** What `pg` reports of its own connections has no code. */
const busyMessages =
  /^(Connection terminated|timeout (expired|exceeded when trying to connect)|Client has encountered a connect|Query read timeout)/

/** Whether the server says so, of whatever. */
export function isOfDatabase(error: unknown): boolean {
  return error instanceof pg.DatabaseError
}

/** A commit whose answer was lost may have taken effect: whoever repeats it needs an idempotency key. */
export function asBusy(error: unknown): StoreBusyError | undefined {
  if (!(error instanceof Error)) return undefined
  const isBusy = 'code' in error ? busyCodes.test(String(error.code)) : busyMessages.test(error.message)
  return isBusy
    ? new StoreBusyError('The database cannot be reached or is out of resources.', { cause: error })
    : undefined
}

/** feature_not_supported: how a statement fails that was prepared before another process changed the columns it gives. */
export function isPreparedForOtherColumns(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '0A000' && error.message.includes('cached plan')
}

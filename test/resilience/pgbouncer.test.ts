import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { postgres } from '../support/databases.ts'
import { freePort } from '../support/free-port.ts'
import { Clients } from './clients.ts'
import { serveOn } from './processes.ts'

const program = '/usr/sbin/pgbouncer'

describe.skipIf(!existsSync(program))("Debian's PgBouncer in transaction mode", () => {
  test('PgBouncer serves two processes with fewer database connections than they open to PgBouncer', async () => {
    const database = await postgres.createEmpty()
    const bouncer = await startBouncer(database.url)
    const served = [await serveOn(bouncer.url), await serveOn(bouncer.url)]
    try {
      const clients = served.map(({ url }, index) => new Clients(`process ${index}`, url))
      await Promise.all(clients.map((each) => each.acknowledge(300)))
      await Promise.all(clients.map((each) => each.stop()))
      for (const { journal } of clients) {
        await journal.repeatAll(served[0]?.url ?? '')
        await journal.expectOneEffectEach(bouncer.url)
      }
    } finally {
      await Promise.all(served.map((process) => process.stop()))
      await bouncer.stop()
      await database.drop()
    }
  })
})

async function startBouncer(databaseUrl: string) {
  const { hostname, port: databasePort, pathname, username, password } = new URL(databaseUrl)
  const directory = mkdtempSync(join(inject('fastDirectory'), 'payments-mcp-pgbouncer-'))
  const port = await freePort()
  const file = join(directory, 'pgbouncer.ini')
  const settings = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'transaction',
    default_pool_size: 5,
    max_client_conn: 200,
  }
  const lines = [
    '[databases]',
    `* = host=${hostname} port=${databasePort} user=${username} password=${password}`,
    '[pgbouncer]',
    ...Object.entries(settings).map(([name, value]) => `${name} = ${value}`),
  ]
  writeFileSync(file, lines.join('\n'))
  // PgBouncer refuses to run as root, and the user that it runs as must be able to read the settings.
  chmodSync(directory, 0o755)
  const user = process.getuid?.() === 0 ? ['-u', 'postgres'] : []
  const child = spawn(program, ['-q', ...user, file], { stdio: 'ignore' })
  await waitUntilItAccepts(child, port)
  const exited = once(child, 'exit')
  return {
    url: `postgres://${username}@127.0.0.1:${port}${pathname}`,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
      rmSync(directory, { recursive: true })
    },
  }
}

/** Resolves once PgBouncer accepts connections on the port. */
async function waitUntilItAccepts(child: ChildProcess, port: number): Promise<void> {
  await expect
    .poll(async () => {
      if (child.exitCode !== null) throw new Error(`PgBouncer ended with exit code ${child.exitCode}.`)
      const socket = connect(port, '127.0.0.1')
      const isConnected = await once(socket, 'connect').then(
        () => true,
        () => false,
      )
      socket.destroy()
      return isConnected
    })
    .toBe(true)
}

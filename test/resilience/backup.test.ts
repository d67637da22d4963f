import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, inject, test } from 'vitest'
import { realSystem } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { proveBooks } from '../ledger/books.ts'
import { Journal } from '../ledger/journal.ts'
import { runResource } from '../support/run-resources.ts'
import { Clients } from './clients.ts'
import { serveOn } from './processes.ts'
import { binaries, PostgresServer } from './server.ts'

/** These tests run the commands from docs/operating.md#backing-up-and-restoring while clients make purchases. */

const run = promisify(execFile)
const cli = await runResource('cli')
const document = readFileSync(new URL('../../docs/operating.md', import.meta.url), 'utf8')
const hasSqlite = await run('sqlite3', ['--version']).then(
  () => true,
  () => false,
)

/**
 * Backs up the database at `url` under load and restores it. Proves that the restored ledger is correct, and that a
 * service on the restored database repeats the answer to every request that was acknowledged before the backup.
 * @param backUp Makes the backup. Returns a function that restores the backup and returns the restored database's URL.
 */
async function proveBackup(url: string, backUp: () => Promise<() => Promise<string>>): Promise<void> {
  const served = await serveOn(url)
  const clients = new Clients('backup', served.url, 8)
  await clients.acknowledge(50)
  const before = clients.journal.intents.filter(({ acknowledged }) => acknowledged !== undefined)
  const restore = await backUp()
  await clients.acknowledge(50)
  await clients.stop()
  await served.stop()

  const restored = await restore()
  const restoredService = await serveOn(restored)
  try {
    const journal = new Journal('restored', () => Promise.reject(new Error('This journal only repeats requests.')))
    journal.intents.push(...before)
    await journal.repeatAll(restoredService.url)
  } finally {
    await restoredService.stop()
  }
  const store = await openStore({ url: restored, system: realSystem })
  await proveBooks(store).finally(() => store.close())
  const { stdout } = await run(process.execPath, [cli, 'doctor', '--port', '0'], {
    env: { PATH: process.env.PATH, PAYMENTS_DATABASE_URL: restored, HOME: inject('fastDirectory') },
  })
  expect(stdout).toMatch(/^ok {3}Activity /m)
}

describe.skipIf(!hasSqlite)('a backup of SQLite with the sqlite3 program', () => {
  test('a restored backup contains every request that was acknowledged before the backup', async () => {
    expect(document).toContain("\nsqlite3 sandbox.sqlite '.backup backup.sqlite'\n")
    expect(document).toContain(
      '\ncp backup.sqlite sandbox.sqlite && rm --force sandbox.sqlite-wal sandbox.sqlite-shm\n',
    )
    const folder = mkdtempSync(join(inject('fastDirectory'), 'payments-mcp-backup-'))
    try {
      await proveBackup(`sqlite:${join(folder, 'sandbox.sqlite')}`, async () => {
        await run('sqlite3', ['sandbox.sqlite', '.backup backup.sqlite'], { cwd: folder })
        return async () => {
          await run(
            'sh',
            ['-c', 'cp backup.sqlite sandbox.sqlite && rm --force sandbox.sqlite-wal sandbox.sqlite-shm'],
            {
              cwd: folder,
            },
          )
          return `sqlite:${join(folder, 'sandbox.sqlite')}`
        }
      })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

describe.skipIf(binaries === undefined)("a backup of PostgreSQL with the programs from Debian's packages", () => {
  test('a restored backup contains every request that was acknowledged before the backup', async () => {
    expect(document).toContain('\npg_dump --format=custom --file=backup.dump "$PAYMENTS_DATABASE_URL"\n')
    expect(document).toContain('\ncreatedb restored && pg_restore --dbname=restored --exit-on-error backup.dump\n')
    const folder = mkdtempSync(join(inject('fastDirectory'), 'payments-mcp-backup-'))
    const server = await PostgresServer.create(inject('fastDirectory'))
    const program = (name: string, ...args: string[]) => run(join(binaries ?? '', name), args, { cwd: folder })
    try {
      await proveBackup(server.url, async () => {
        await program('pg_dump', '--format=custom', '--file=backup.dump', server.url)
        const restored = server.url.replace(/postgres$/, 'restored')
        return async () => {
          await program('createdb', '--maintenance-db', server.url, 'restored')
          await program('pg_restore', '--dbname', restored, '--exit-on-error', 'backup.dump')
          return restored
        }
      })
    } finally {
      await server.drop()
      rmSync(folder, { recursive: true })
    }
  })
})

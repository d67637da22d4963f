import { chmodSync, closeSync, existsSync, mkdirSync, openSync, renameSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { originOf, requireUsable } from './origin.ts'
import { StoreBusyError } from './store.ts'

/** Returns whether the database contains no tables or other objects. */
export function isEmpty(database: DatabaseSync): boolean {
  return database.prepare('select 1 from sqlite_master limit 1').get() === undefined
}

/**
 * Returns a function that throws if the database file or its log has been deleted or replaced since `watchFiles` was
 * called. SQLite reports writes to a deleted file as durable, although they are lost.
 */
export function watchFiles(path: string): () => void {
  if (path === ':memory:') return () => {}
  const names = [path, `${path}-wal`]
  const opened = names.map(identityOf)
  return () => {
    for (const [index, name] of names.entries()) {
      const current = identityOf(name)
      // If the log did not exist at first, its identity is recorded once it exists.
      opened[index] ??= current
      if (current !== opened[index]) {
        throw new StoreBusyError(`The file ${name} was removed or replaced. Put it back, or restart payments-mcp.`)
      }
    }
  }
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? undefined : `${found.dev} ${found.ino}`
}

/**
 * Checks that this version of payments-mcp can use a database file. Does not change the file, because it may belong to
 * another program.
 * @throws WrongDatabaseError if the database is not empty and this version of payments-mcp did not create it.
 */
export async function requireUsableFile(path: string): Promise<void> {
  try {
    await requireUsableIn(openWithoutTrace(path))
  } catch (error) {
    // This error usually means that a killed process left an unfinished transaction, which a read-only connection
    // cannot roll back. Opening the file for writing rolls that transaction back, as any other program would do.
    if (!needsWriter(error)) throw error
    await requireUsableIn(new DatabaseSync(path, { timeout: 0 }))
  }
}

/**
 * Opens a database file for reading, without creating files next to it. If there is no log, the file is opened as
 * immutable, so that SQLite does not create a log for a database in WAL mode. This is safe, because while there is no
 * log, no process of payments-mcp has the database open.
 */
export function openWithoutTrace(path: string, timeout = 0): DatabaseSync {
  if (existsSync(`${path}-wal`)) return new DatabaseSync(path, { readOnly: true, timeout })
  const url = pathToFileURL(path)
  url.search = '?immutable=1'
  return new DatabaseSync(url, { readOnly: true, timeout })
}

async function requireUsableIn(database: DatabaseSync): Promise<void> {
  try {
    requireUsable(await originOf('sqlite', (query) => database.prepare(query).all()))
  } finally {
    database.close()
  }
}

/**
 * Writes the content of the log into the database file and truncates the log, so that no deleted data remains in the
 * log. Other connections that are reading may prevent this.
 */
export function checkpointLog(path: string): void {
  const database = new DatabaseSync(path, { timeout: 1_000 })
  database.exec('pragma wal_checkpoint(truncate)')
  database.close()
}

/**
 * Returns whether the error is SQLITE_READONLY: a read-only connection found a journal that must be rolled back, or was
 * not allowed to create the files next to the database.
 */
function needsWriter(error: unknown): boolean {
  return error instanceof Error && 'errcode' in error && (Number(error.errcode) & 0xff) === 8
}

/**
 * Creates a file that only its owner can access. SQLite gives the files that it creates next to the database file the
 * same mode. Returns false if the file already exists.
 */
export function createPrivateFile(path: string): boolean {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  try {
    closeSync(openSync(path, 'wx', 0o600))
    return true
  } catch (error) {
    // An existing file is not even opened, because closing it would drop the locks that this process may have on it.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    return false
  }
}

/** The suffixes of the database file and of the files that SQLite keeps next to it. */
export const fileSuffixes = ['', '-wal', '-shm', '-journal'] as const
const otherUsersMode = 0o077

/**
 * Renames the database at `path`, which a different pre-release created. The new name is the first of `PATH-old`,
 * `PATH-old-2` and so on that is not in use. Returns the new name; undefined if another process has already renamed the
 * database.
 * @throws Error if the file is in use or cannot be renamed.
 */
export async function setAside(path: string): Promise<string | undefined> {
  const before = identityOf(path)
  checkpointLog(path)
  const database = new DatabaseSync(path, { timeout: 1_000 })
  try {
    // Prevents other processes from writing to the file or renaming it at the same time.
    database.exec('begin exclusive')
    if (identityOf(path) !== before) return undefined
    if ((await originOf('sqlite', (query) => database.prepare(query).all())) !== 'other') return undefined
    let name = `${path}-old`
    for (let number = 2; existsSync(name); number++) name = `${path}-old-${number}`
    // The database file is renamed last. If this process is killed before that, the next start finds the database file
    // and renames the remaining files.
    for (const suffix of fileSuffixes.toReversed()) {
      if (existsSync(path + suffix)) renameSync(path + suffix, name + suffix)
    }
    return name
  } finally {
    database.close()
  }
}

/**
 * Removes other users' permissions from a file if it exists, because the database contains signing keys and root keys.
 * Does not open the file, because closing it would drop the locks that this process has on it.
 * @throws Error with a one-line message if the permissions cannot be removed.
 */
export function makePrivate(path: string): void {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode
  if (mode === undefined || (mode & otherUsersMode) === 0) return
  try {
    chmodSync(path, 0o600)
  } catch (cause) {
    const found = (mode & 0o777).toString(8)
    const { code } = cause as NodeJS.ErrnoException
    throw new Error(`other users can open ${path} (mode ${found}), and the mode cannot be set to 600 (${code}).`)
  }
}

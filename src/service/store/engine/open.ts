import type { System } from '../../../core/system.ts'
import { KeyWrapping, WrongSecretError } from './key-wrapping.ts'
import type { Store } from './store.ts'
import { OtherSchemaError, WrongDatabaseError } from './wrong-database.ts'

interface OpenStore {
  url: string
  system: System
  /**
   * The secrets that encrypt the database's keys, the current secret first; undefined if the keys are not encrypted.
   */
  secrets?: readonly string[] | undefined
  /** The URL of a PostgreSQL standby, for reads that may return slightly outdated data. */
  readUrl?: string | undefined
  /** The maximum number of PostgreSQL connections for transactions that write. */
  connections?: number | undefined
  /**
   * Whether the database belongs to a sandbox. A reset or restore can replace the sandbox's whole world while other
   * transactions read and write.
   */
  isResettable?: boolean | undefined
}

/**
 * Opens the database at `url` (`sqlite:PATH`, `sqlite::memory:` or `postgres://…`), and creates the tables if the
 * database is empty.
 * @throws Error if the database cannot be used. The message is one line. It contains the URL without the password.
 * @throws WrongDatabaseError if a different program, or a version with different tables, created the database.
 * @throws WrongSecretError if none of `secrets` decrypts the database's keys.
 */
export async function openStore({ url, system, secrets, isResettable = true, ...server }: OpenStore): Promise<Store> {
  const wrapping = new KeyWrapping(secrets, system)
  try {
    // Only the module for the database in use is loaded, so a start on SQLite does not wait for `pg` to load.
    if (url.startsWith('sqlite:')) {
      const { openSqlite } = await import('./sqlite.ts')
      return await openSqlite({ path: url.slice('sqlite:'.length), system, wrapping, isResettable })
    }
    if (/^postgres(ql)?:\/\//.test(url)) {
      const { openPostgres } = await import('./postgres.ts')
      return await openPostgres({ url, system, wrapping, isResettable, ...server })
    }
  } catch (cause) {
    if (cause instanceof WrongSecretError) throw cause
    const message = `Cannot use the database ${withoutPassword(url)}: ${oneLine(cause, url)}`
    if (cause instanceof OtherSchemaError) throw new OtherSchemaError(message)
    throw cause instanceof WrongDatabaseError ? new WrongDatabaseError(message) : new Error(message, { cause })
  }
  throw new Error(`Bug: ${withoutPassword(url)} is not a sqlite: or postgres: URL.`)
}

/**
 * Returns the URL without the password and without the query string, which may contain a password too. If the URL is
 * not valid, returns only its part before `//`.
 */
export function withoutPassword(url: string): string {
  if (url.startsWith('sqlite:')) return url
  if (!URL.canParse(url)) return `${url.split('//')[0]}//…`
  const { protocol, username, host, pathname } = new URL(url)
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`
}

export function oneLine(cause: unknown, url: string): string {
  const error = deepestCause(cause)
  const text = (error.message === '' ? error.name : error.message).replaceAll(/\s*\n\s*/g, ' ')
  return text.includes(url) ? text.replaceAll(url, withoutPassword(url)) : text
}

/**
 * Returns the innermost of nested errors. For example, a refused connection causes an error that contains one error for
 * each IP address, and the first of these is returned.
 */
function deepestCause(cause: unknown): Error {
  if (cause instanceof AggregateError && cause.errors.length > 0) return deepestCause(cause.errors[0])
  if (!(cause instanceof Error)) return new Error(String(cause))
  return cause.cause instanceof Error ? deepestCause(cause.cause) : cause
}

import type { System } from '../../../core/system.ts'
import { KeyWrapping, WrongSecretError } from './key-wrapping.ts'
import type { Store } from './store.ts'
import { OtherSchemaError, WrongDatabaseError } from './wrong-database.ts'

interface OpenStore {
  url: string
  system: System
  /** The secrets that wrap keys, the current one first; undefined if keys are not wrapped. */
  secrets?: readonly string[] | undefined
  /** PostgreSQL only: a standby for reads that may lag a little, and the maximum number of writing connections. */
  readUrl?: string | undefined
  connections?: number | undefined
  /**
   * Whether it is a sandbox's database, whose world may be replaced as a whole while other transactions read and write.
   */
  isResettable?: boolean | undefined
}

/**
 * Opens the database that `url` names, `sqlite:PATH`, `sqlite::memory:` or `postgres://…`, and creates its tables if it
 * is empty.
 * @throws Error if the database cannot be used. The message is one line and names the database, without its password.
 * WrongDatabaseError means that another program or a newer version created the database. WrongSecretError means that
 * its keys are wrapped with another secret.
 */
export async function openStore({ url, system, secrets, isResettable = true, ...server }: OpenStore): Promise<Store> {
  const wrapping = new KeyWrapping(secrets, system)
  try {
    // Only the module for the database in use is loaded, so a start on SQLite does not wait for `pg`.
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
  throw new Error(`Bug: ${withoutPassword(url)} is no sqlite: or postgres: database.`)
}

/**
 * Returns the URL without its password and without its query, because the query may contain a password too. If the text
 * is not a valid URL, returns only its scheme.
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

/** Returns the innermost error. For example, the error of a refused connection contains one error for each address. */
function deepestCause(cause: unknown): Error {
  if (cause instanceof AggregateError && cause.errors.length > 0) return deepestCause(cause.errors[0])
  if (!(cause instanceof Error)) return new Error(String(cause))
  return cause.cause instanceof Error ? deepestCause(cause.cause) : cause
}

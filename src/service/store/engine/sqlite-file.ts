import { statSync } from 'node:fs'
import type { DatabaseSync } from 'node:sqlite'
import { StoreBusyError } from './store.ts'

/** Whether nothing was ever made in the database. */
export function isEmpty(database: DatabaseSync): boolean {
  return database.prepare('select 1 from sqlite_master limit 1').get() === undefined
}

/**
 * Watches that the files of a database are still those that were opened: what is written to a file that was deleted or
 * replaced is lost, though SQLite says that it is durable. The function it gives back throws where they are not.
 */
export function watchFiles(path: string): () => void {
  if (path === ':memory:') return () => {}
  const names = [path, `${path}-wal`]
  const opened = names.map(identityOf)
  return () => {
    for (const [index, name] of names.entries()) {
      const now = identityOf(name)
      // The log comes with the first write.
      opened[index] ??= now
      if (now !== opened[index]) {
        throw new StoreBusyError(`The database file ${name} was removed or replaced. Put it back, or start anew.`)
      }
    }
  }
}

function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? undefined : `${found.dev} ${found.ino}`
}

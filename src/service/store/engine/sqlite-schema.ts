import type { DatabaseSync } from 'node:sqlite'
import { newSecret, type System, timestamp } from '../../../core/system.ts'
import { newSqlite } from '../schema/new-sqlite.ts'
import { isEmpty } from './sqlite-file.ts'

/**
 * Makes an empty database at once what the migrations would make of it one after another, which takes twenty times as
 * long; so that they find themselves applied. Where another process was faster, it leaves the database to them.
 */
export function createSchema(database: DatabaseSync, system: Pick<System, 'now' | 'randomBytes'>): void {
  database.exec('begin immediate')
  try {
    if (isEmpty(database)) {
      database.exec(newSqlite.schema)
      insertFirstRows(database, system)
    }
    database.exec('commit')
  } catch (error) {
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

/** The rows that are there before anybody does anything. */
function insertFirstRows(database: DatabaseSync, system: Pick<System, 'now' | 'randomBytes'>): void {
  database.exec('insert into "clock" ("id", "offsetMs") values (1, 0)')
  const rootKey = database.prepare('insert into "rootKeys" ("id", "secret", "createdAtMs") values (1, ?, ?)')
  rootKey.run(newSecret(system), system.now())
  database.exec(`insert into "kysely_migration_lock" ("id", "is_locked") values ('migration_lock', 0)`)
  const applied = database.prepare('insert into "kysely_migration" ("name", "timestamp") values (?, ?)')
  for (const name of newSqlite.migrations) applied.run(name, timestamp(system.now()))
}

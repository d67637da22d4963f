import { newSecret, type System } from '../../../core/system.ts'
import { creationSql, schemaDigest, schemaVersion } from '../schema/ddl.ts'
import type { Store } from './store.ts'

/**
 * Returns the statements that create the tables and their first rows in an empty database. Run these statements in one
 * transaction.
 */
export function creationOf(dialect: Store['dialect'], system: Pick<System, 'now' | 'randomBytes'>): string {
  const rows = [
    `insert into "schemas" ("id", "version", "digest") values (1, ${schemaVersion}, '${schemaDigest}')`,
    `insert into "clock" ("id", "offsetMs", "epoch", "highestMs", "faultRules", "staleRules", "settingsRevision")
      values (1, 0, 1, 0, 0, 0, 0)`,
    `insert into "rootKeys" ("id", "secret", "createdAtMs") values (1, '${newSecret(system)}', ${system.now()})`,
  ]
  return [creationSql(dialect), ...rows].join(';\n')
}

import { DatabaseSync } from 'node:sqlite'
import { Connection, kyselyOver } from '../src/service/store/engine/sqlite-connection.ts'
import { migrate, migrations } from '../src/service/store/schema/migrations.ts'

export const newSqliteFile = 'src/service/store/schema/new-sqlite.ts'

/** The text of the module that makes a new SQLite database what all migrations, one after another, make of it. */
export async function newSqliteModule(): Promise<string> {
  const database = await migrated()
  const schema = database.prepare('select sql from sqlite_master where sql is not null order by type desc, rowid').all()
  database.close()
  return `/** Written by npm run generate: the schema of a new SQLite database, as these migrations together leave it. */
export const newSqlite = {
  migrations: [
${Object.keys(migrations)
  .map((name) => `    '${name}',`)
  .join('\n')}
  ],
  schema: \`
${schema.map(({ sql }) => `${sql};`).join('\n')}
\`,
}
`
}

/** An empty database that went through all migrations. */
export async function migrated(): Promise<DatabaseSync> {
  const database = new DatabaseSync(':memory:')
  await migrate(kyselyOver(new Connection(database)))
  return database
}

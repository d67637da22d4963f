import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { migrated } from '../../scripts/new-sqlite.ts'
import { realSystem } from '../../src/core/system.ts'
import { openStore } from '../../src/service/store/engine/open.ts'
import { sqlite } from '../support/databases.ts'

/** All that a database has: its schema, and the rows of each table but for what is random or a time. */
function contents(database: DatabaseSync) {
  const schema = database.prepare('select type, name, sql from sqlite_master order by name').all()
  const tables = database.prepare(`select name from sqlite_master where type = 'table' order by name`).all()
  const rows = tables.map(({ name }) => [name, database.prepare(`select * from "${name}"`).all().map(masked)])
  return { schema, rows: Object.fromEntries(rows) }
}

function masked(row: Record<string, unknown>): Record<string, unknown> {
  const never = { secret: 'random', createdAtMs: 'a time', timestamp: 'a time' }
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, (never as typeof row)[name] ?? value]))
}

test('a new SQLite database is what all migrations make of an empty one', async () => {
  const { url, drop } = await sqlite.createEmpty()
  try {
    await (await openStore({ url, system: realSystem })).close()
    const made = new DatabaseSync(url.slice('sqlite:'.length), { readOnly: true })
    const before = await migrated()
    expect(contents(made)).toEqual(contents(before))
    const keys = [made, before].map((database) => database.prepare('select secret from rootKeys').get()?.secret)
    expect(new Set(keys.map(String)).size).toBe(2)
    for (const database of [made, before]) database.close()
  } finally {
    await drop()
  }
})

test('two that open a new SQLite database at once make it once', async () => {
  const { url, drop } = await sqlite.createEmpty()
  try {
    const stores = await Promise.all([1, 2, 3].map(() => openStore({ url, system: realSystem })))
    const counts = stores.map((store) => store.read(({ db }) => db.selectFrom('rootKeys').selectAll().execute()))
    for (const rows of await Promise.all(counts)) expect(rows).toHaveLength(1)
    await Promise.all(stores.map((store) => store.close()))
  } finally {
    await drop()
  }
})

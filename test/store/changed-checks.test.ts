import { DatabaseSync } from 'node:sqlite'
import { Migrator } from 'kysely/migration'
import { expect, test } from 'vitest'
import { Connection, kyselyOver } from '../../src/service/store/engine/sqlite-connection.ts'
import { migrate, migrations } from '../../src/service/store/schema/migrations.ts'

const last = '0035_whole_api'

const wallet = `insert into wallets ("id", "partyId", "status", "walletType", "tags", "currency", "isDefault", "version",
  "availableCents", "heldCents", "createdAtMs") values (?, 'pty_1', 'active', 'standard', '{}', 'USD', 1, 1, ?, ?, 0)`
const payment = `insert into payments ("id", "kind", "partyId", "walletId", "actorType", "currency", "status", "tags",
  "delegated", "version", "amountCents", "heldCents", "createdAtMs", "updatedAtMs")
  values (?, ?, 'pty_1', 'wal_1', 'api', 'USD', ?, '{}', 0, 1, 500, ?, 0, 0)`

test('a SQLite database that has rows gets other checks and keeps its rows and indexes', async () => {
  const database = new DatabaseSync(':memory:')
  const db = kyselyOver(new Connection(database))
  const earlier = Object.fromEntries(Object.entries(migrations).filter(([name]) => name < last))
  const { error } = await new Migrator({
    db,
    provider: { getMigrations: async () => earlier },
  }).migrateToLatest()
  expect(error).toBeUndefined()
  for (let index = 0; index < 100; index++) database.prepare(wallet).run(`wal_${index}`, index, 500)
  for (let index = 0; index < 100; index++)
    database.prepare(payment).run(`pay_${index}`, 'payment', 'PENDING_CLAIM', 500)
  const indexes = () => database.prepare(`select name from sqlite_master where type = 'index' order by name`).all()
  const before = {
    wallets: database.prepare('select * from wallets order by id').all(),
    payments: database.prepare('select * from payments order by id').all(),
    indexes: indexes(),
  }

  await migrate(db)
  const wallets = database.prepare('select * from wallets order by id').all()
  expect(wallets).toEqual(before.wallets.map((row) => ({ ...row, returnedCents: 0 })))
  expect(database.prepare('select * from payments order by id').all()).toMatchObject(before.payments)
  // A later migration has another index in place of this one.
  const kept = before.indexes.filter(({ name }) => name !== 'cardTransactions_by_holder_status_id')
  expect(indexes()).toEqual(expect.arrayContaining(kept))

  expect(() => database.prepare(wallet).run('wal_x', -1, 0)).toThrow('wallets_below_zero_by_returns')
  expect(() => database.prepare(wallet).run('wal_x', 0, -1)).toThrow('wallets_held_not_negative')
  expect(() => database.exec('update wallets set "availableCents" = -301, "returnedCents" = 300')).toThrow()
  database.exec(`update wallets set "availableCents" = -300, "returnedCents" = 300 where "id" = 'wal_1'`)
  expect(() => database.prepare(payment).run('tfr_1', 'withdrawal', 'PROCESSING', 0)).toThrow('holds_until_gone')
  expect(() => database.prepare(payment).run('tfr_1', 'deposit', 'PROCESSING', 500)).toThrow('holds_until_gone')
  database.prepare(payment).run('tfr_1', 'withdrawal', 'PROCESSING', 500)
  database.close()
})

import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { hashOfToken, invitationToken } from '../src/service/operations/steps/answer-invitations.ts'
import { firstTampered } from '../src/service/request/activity.ts'
import { activityHead, sealActivityHead } from '../src/service/store/activity.ts'
import type { Store } from '../src/service/store/engine/store.ts'
import { rootKeys } from '../src/service/store/root-keys.ts'
import type { ActivityRow } from '../src/service/store/schema/activity.ts'
import { chunks, cloneUntil, type RawDatabase } from './growth-clone.ts'
import { liveOnce, whoami } from './growth-world.ts'
import { openSandbox } from './sandbox.ts'

/** Makes a database of about as many rows: of a party that is busy, and of many that are not. */
export async function growDatabase(url: string, rows: number): Promise<void> {
  const sandbox = await openSandbox(url)
  const { partyId } = await whoami(sandbox)
  const keptIds: string[] = []
  for (const table of ['parties', 'users', 'wallets', 'agents', 'credentials', 'delegations'] as const) {
    const found = await sandbox.store.transaction(({ db }) => db.selectFrom(table).select('id').execute())
    keptIds.push(...found.map(({ id }) => id))
  }
  await new Promise((resolve) => setTimeout(resolve, 2))
  const startedAtMs = Date.now()
  await liveOnce(sandbox)
  const raw = await openRaw(url)
  try {
    const heads = await cloneUntil(raw, { partyId, keptIds, startedAtMs }, rows)
    for (const some of chunks(heads, 500)) {
      await sandbox.store.transaction(async (tx) => {
        const keys = await rootKeys(tx)
        for (const head of some) await sealActivityHead(tx, keys, head)
      })
    }
    await deriveTokens(sandbox.store)
    if (raw.dialect === 'postgres') await raw.run('vacuum analyze')
  } finally {
    await raw.close()
  }
  await sandbox.store.transaction(async (tx) => {
    const tampered = await firstTampered(tx, partyId)
    const head = await activityHead(tx, partyId)
    if (tampered !== null) throw new Error(`The chain of ${head?.sequence} rows is broken at ${tampered}.`)
  })
  await sandbox.close()
}

/** The address of an invitation is derived from its id: that of a clone's as well. */
async function deriveTokens(store: Store): Promise<void> {
  for (let afterId = ''; ; ) {
    const ids = await store.transaction(async (tx) => {
      const some = tx.db
        .selectFrom('customerInvitations')
        .select('id')
        .where('id', '>', afterId)
        .orderBy('id')
        .limit(500)
      const found = await some.execute()
      for (const { id } of found) {
        const tokenHash = hashOfToken(await invitationToken(tx, id))
        await tx.db.updateTable('customerInvitations').set({ tokenHash }).where('id', '=', id).execute()
      }
      return found
    })
    const last = ids.at(-1)
    if (last === undefined) return
    afterId = last.id
  }
}

function openRaw(url: string): Promise<RawDatabase> {
  return url.startsWith('sqlite:') ? openRawSqlite(url.slice('sqlite:'.length)) : openRawPostgres(url)
}

async function openRawSqlite(path: string): Promise<RawDatabase> {
  const database = new DatabaseSync(path)
  database.exec('pragma synchronous = off; pragma temp_store = memory; pragma cache_size = -400000')
  return {
    dialect: 'sqlite',
    run: async (sql) => database.exec(sql),
    all: async (sql) => database.prepare(sql).all() as Record<string, unknown>[],
    insertActivity: async (rows) => {
      const names = Object.keys(rows[0] ?? {}) as (keyof ActivityRow)[]
      const columns = names.map((name) => `"${name}"`).join(', ')
      const insert = database.prepare(`insert into "activity" (${columns}) values (${names.map(() => '?').join(', ')})`)
      database.exec('begin')
      for (const row of rows) insert.run(...names.map((name) => row[name]))
      database.exec('commit')
    },
    close: async () => database.close(),
  }
}

async function openRawPostgres(url: string): Promise<RawDatabase> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('set synchronous_commit = off')
  return {
    dialect: 'postgres',
    run: async (sql) => {
      await client.query(sql)
    },
    all: async (sql) => (await client.query(sql)).rows,
    insertActivity: async (rows) => {
      const insert = 'insert into "activity" select * from json_populate_recordset(null::"activity", $1)'
      await client.query(insert, [JSON.stringify(rows)])
    },
    close: () => client.end(),
  }
}

import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { newId, realSystem } from '../src/core/system.ts'
import { columnsOf } from '../src/service/store/schema/table.ts'
import { tables } from '../src/service/store/schema/tables.ts'
import { openSandbox, type Sandbox, send } from './sandbox.ts'

/** The tables that grow with a party's activity. */
const clonedTables = [
  ...(['parties', 'users', 'agents', 'wallets', 'walletAgents', 'walletPermissions', 'credentials'] as const),
  ...(['delegations', 'agentCards', 'cardTransactions', 'ledgerEntries'] as const),
  ...(['subscriptions', 'subscriptionPayments', 'payments', 'approvals', 'transactions'] as const),
  ...(['idempotencyRecords', 'activityResources', 'activity'] as const),
]

/**
 * The party whose history is cloned, and the time at which this history starts. `sharedIds` are the ids of older
 * records. Clones that belong to this party refer to the older records and do not copy them.
 */
type Original = { partyId: string; sharedIds: readonly string[]; startedAtMs: number }

const spreadMs = 400 * 24 * 60 * 60 * 1000
/** The maximum age of a cloned idempotency record. The service deletes idempotency records after nine days. */
const maxRecordAgeMs = 8 * 24 * 60 * 60 * 1000
const clonesPerStatement = 200
const numbered = { activity: 'sequence', activityResources: 'sequence', partyHeads: 'activitySequence' }
/** How many sequence numbers are reserved for each clone. The cloned history has fewer activity entries than this. */
const sequencesPerClone = 10_000

/**
 * Creates a database with about `rows` rows. To fill it, clones the history of one party many times, with new ids and
 * earlier timestamps. Each odd-numbered clone belongs to the original party (`busy`). Each even-numbered clone belongs
 * to a new party. The activity chains of the clones are not valid, because their hashes are copied unchanged.
 */
export async function growDatabase(url: string, rows: number): Promise<void> {
  const sandbox = await openSandbox(url)
  const { partyId } = await whoami(sandbox)
  const sharedIds: string[] = []
  for (const table of ['parties', 'users', 'wallets', 'agents', 'credentials', 'delegations'] as const) {
    const found = await sandbox.store.transaction(({ db }) => db.selectFrom(table).select('id').execute())
    sharedIds.push(...found.map(({ id }) => id))
  }
  await new Promise((resolve) => setTimeout(resolve, 2))
  const startedAtMs = Date.now()
  await makeUsualCalls(sandbox)
  await sandbox.close()
  const raw = await openRaw(url)
  try {
    await clone(raw, { partyId, sharedIds, startedAtMs }, rows)
  } finally {
    await raw.close()
  }
}

async function clone(database: RawDatabase, original: Original, rows: number): Promise<void> {
  let perClone = 0
  for (const table of clonedTables) {
    await database.run(`create temp table "base ${table}" as select * from "${table}"`)
    perClone += await database.count(`base ${table}`)
  }
  const count = Math.max(2, Math.round(rows / perClone))
  // The original history is the newest, so it needs higher sequence numbers than its clones.
  for (const [table, column] of Object.entries(numbered)) {
    const moved = `"${column}" = "${column}" + ${count * sequencesPerClone}`
    await database.run(`update "${table}" set ${moved} where "partyId" = '${original.partyId}'`)
  }
  await database.run('create temp table clones (k integer primary key, prefix text, shift bigint, busy integer)')
  const stepMs = Math.floor(spreadMs / (count + 1))
  for (let first = 1; first <= count; first += clonesPerStatement) {
    const cloneRows = Array.from({ length: Math.min(clonesPerStatement, count + 1 - first) }, (_, index) => {
      const k = first + index
      const shiftMs = (count - k + 1) * stepMs
      // The 12 characters after an id's prefix encode the creation time.
      const prefix = newId('any', realSystem, original.startedAtMs - shiftMs).slice(4, 16)
      return `(${k}, '${prefix}', ${shiftMs}, ${k % 2})`
    })
    await database.run(`insert into clones values ${cloneRows.join(', ')}`)
    await database.run('begin')
    for (const table of clonedTables) {
      for (const busy of [true, false]) await database.run(cloneSql(database, original, table, busy, first))
    }
    await database.run('commit')
  }
  if (database.dialect === 'postgres') await database.run('vacuum analyze')
}

function cloneSql(
  database: RawDatabase,
  original: Original,
  table: (typeof clonedTables)[number],
  busy: boolean,
  k: number,
): string {
  const names = columnsOf(tables[table]).map(([name]) => name)
  const sharedIds = original.sharedIds.map((id) => `'${id}'`).join(', ')
  const values = names.map((name) => clonedValue(database, name, busy ? sharedIds : ''))
  const columns = names.map((name) => `"${name}"`).join(', ')
  const rowCondition = `c.busy = ${busy ? 1 : 0} and c.k between ${k} and ${k + clonesPerStatement - 1}`
  const historyCondition = busy ? ` and ${isInHistory(original, sharedIds, table, names)}` : ''
  const from = `clones c cross join "base ${table}" b`
  return `insert into "${table}" (${columns}) select ${values.join(', ')} from ${from} where ${rowCondition}${historyCondition}`
}

/** Returns a SQL condition that selects the rows of the history and excludes older rows. */
function isInHistory({ startedAtMs }: Original, sharedIds: string, table: string, names: readonly string[]): string {
  if (names.includes('createdAtMs')) return `b."createdAtMs" >= ${startedAtMs}`
  return table.startsWith('wallet') ? `b."walletId" not in (${sharedIds})` : '1 = 1'
}

const hashes = ['secretHash', 'tokenHash', 'claimTokenHash', 'handle']
const idsByOtherNames = ['id', 'createdBy', 'updatedBy', 'revokedBy']

/** Returns the SQL expression for the value of a column in a clone. */
function clonedValue({ dialect }: RawDatabase, name: string, sharedIds: string): string {
  const column = `b."${name}"`
  if (name === 'key') return dialect === 'sqlite' ? 'lower(hex(randomblob(11)))' : 'left(md5(random()::text), 22)'
  if (name === 'finishedAtMs') return `${column} - c.shift % ${maxRecordAgeMs}`
  if (name === 'sequence') return `${column} + (c.k - 1) * ${sequencesPerClone}`
  if (name === 'seeded') return '0'
  if (name.endsWith('Ms')) return `${column} - c.shift`
  if (hashes.includes(name)) return `${column} || '-' || c.k`
  if (name === 'instanceId' || !(name.endsWith('Id') || idsByOtherNames.includes(name))) return column
  const id = `substr(${column}, 1, 4) || c.prefix || substr(${column}, 17)`
  return sharedIds === '' ? id : `case when ${column} in (${sharedIds}) then ${column} else ${id} end`
}

type RawDatabase = Awaited<ReturnType<typeof openRaw>>

/** Opens a direct connection to the database, without the service. */
export async function openRaw(url: string) {
  const counting = (table: string) => `select count(*) as n from "${table}"`
  if (url.startsWith('sqlite:')) {
    const database = new DatabaseSync(url.slice('sqlite:'.length))
    database.exec('pragma synchronous = off; pragma temp_store = memory; pragma cache_size = -400000')
    return {
      dialect: 'sqlite',
      run: async (sql: string) => database.exec(sql),
      count: async (table: string) => Number(database.prepare(counting(table)).get()?.n),
      close: async () => database.close(),
    } as const
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('set synchronous_commit = off')
  return {
    dialect: 'postgres',
    run: async (sql: string) => void (await client.query(sql)),
    count: async (table: string) => Number((await client.query(counting(table))).rows[0].n),
    close: () => client.end(),
  } as const
}

export async function whoami(sandbox: Sandbox): Promise<{ partyId: string; agentId: string }> {
  return (await send(sandbox, 'GET', '/whoami')).data.attributes
}

/** Makes calls that are typical of a party. The resulting records all reach a final state. */
async function makeUsualCalls(sandbox: Sandbox): Promise<void> {
  const { partyId } = await whoami(sandbox)
  const post = (path: string, attributes?: object) => send(sandbox, 'POST', path, attributes, sandbox.apiKey)
  const asAgent = (path: string, attributes?: object) => send(sandbox, 'POST', path, attributes, sandbox.key)
  const { id: customerId } = (await send(sandbox, 'GET', '/customers')).data[0]
  for (let count = 0; count < 3; count++) {
    await post(`/simulations/customers/${partyId}/transfers/deposit`, { amount: 100_000 })
  }
  const usd = { currency: 'USD', merchant: { name: 'Books' } }
  for (let count = 0; count < 20; count++) {
    const { id: cardId } = (await asAgent('/agent-cards', { ...usd, maximumAmount: 1000 })).data
    // In every ten purchases, one is declined, one is reversed, and eight are captured.
    const amount = count % 10 === 9 ? 2000 : 500
    const { id, attributes } = (await asAgent(`/simulations/agent-cards/${cardId}/authorize`, { ...usd, amount })).data
    const path = `/simulations/card-transactions/${id}`
    if (attributes.status !== 'authorized') continue
    if (count % 10 === 8) await asAgent(`${path}/reverse`, {})
    else await asAgent(`${path}/capture`, { amount, currency: 'USD' })
  }
  for (let count = 0; count < 8; count++) {
    const counterparty = { type: 'party_id', value: customerId }
    await asAgent('/payments', { amount: 100 + count, currency: 'USD', counterparty, description: 'A share' })
  }
  const terms = { description: 'Gym', every: { unit: 'month', count: 1 }, amount: 1000, taxAmount: 0 }
  for (let count = 0; count < 2; count++) {
    const { id } = (await asAgent('/subscriptions', terms)).data
    await asAgent(`/simulations/subscriptions/${id}/checkout`, { card: 'approves' })
    await asAgent(`/subscriptions/${id}/cancel`, {})
  }
}

import { newId, realSystem } from '../src/core/system.ts'
import { hashOf } from '../src/service/request/activity.ts'
import type { ActivityRow } from '../src/service/store/schema/activity.ts'
import type { ActivityHead } from '../src/service/store/schema/party-heads.ts'
import { columnsOf } from '../src/service/store/schema/table.ts'
import { type Tables, tables } from '../src/service/store/schema/tables.ts'

/** A connection to the database that the service knows nothing of. */
export interface RawDatabase {
  dialect: 'sqlite' | 'postgres'
  run(sql: string): Promise<void>
  all(sql: string): Promise<Record<string, unknown>[]>
  insertActivity(rows: readonly ActivityRow[]): Promise<void>
  close(): Promise<void>
}

/** What is cloned: everything that a party has more of with time. The activity is not among it, for it is a chain. */
const cloned = [
  'parties',
  'users',
  'agents',
  'wallets',
  'walletAgents',
  'walletPermissions',
  'credentials',
  'delegations',
  'customerInvitations',
  'invitationLinks',
  'agentCards',
  'cardTransactions',
  'ledgerEntries',
  'subscriptions',
  'subscriptionPayments',
  'payments',
  'approvals',
  'transactions',
  'spending',
  'idempotencyRecords',
] as const satisfies (keyof Tables)[]

/** What there is to clone, and what of it was there before: the clones of the busy party share it. */
export interface Original {
  partyId: string
  /** The ids of parties, wallets, agents and keys. */
  keptIds: readonly string[]
  startedAtMs: number
}

const spreadMs = 400 * 24 * 60 * 60 * 1000
/** Recorded answers that are older are deleted. */
const recordedMs = 8 * 24 * 60 * 60 * 1000
const clonesPerStatement = 200

/**
 * Clones what the original did, with new ids and earlier times, until there are about as many rows: every other time the
 * same party did it, and otherwise one of its own. Gives the ends of the chains of activity, which are to be sealed.
 */
export async function cloneUntil(database: RawDatabase, original: Original, rows: number): Promise<ActivityHead[]> {
  const activity = (await database.all(
    `select * from "activity" where "partyId" = '${original.partyId}' order by "sequence"`,
  )) as unknown as ActivityRow[]
  let perClone = activity.length
  for (const table of cloned) {
    await database.run(`create temp table "base ${table}" as select * from "${table}"`)
    perClone += Number((await database.all(`select count(*) as n from "base ${table}"`))[0]?.['n'])
  }
  const count = Math.max(2, Math.round(rows / perClone))
  const clones = clonesOf(original, count)
  await database.run('create temp table clones (k integer primary key, prefix text, shift bigint, busy integer)')
  for (const some of chunks(clones, 500)) {
    const values = some.map(({ k, prefix, shiftMs, busy }) => `(${k}, '${prefix}', ${shiftMs}, ${busy ? 1 : 0})`)
    await database.run(`insert into clones values ${values.join(', ')}`)
  }
  for (let first = 1; first <= count; first += clonesPerStatement) {
    await database.run('begin')
    for (const table of cloned) {
      for (const busy of [true, false]) await database.run(cloneText(database, original, table, busy, first))
    }
    await database.run('commit')
  }
  await settleBalances(database, original)
  await settleSpending(database, original, clones)
  const heads = await chainActivity(database, original, activity, clones)
  const [sum] = await database.all('select sum("amountCents") as cents from "ledgerEntries"')
  if (Number(sum?.['cents']) !== 0) throw new Error(`The ledger sums to ${sum?.['cents']}.`)
  return heads
}

interface Clone {
  k: number
  /** The time at which the ids of the clone were made, as they begin with it. */
  prefix: string
  shiftMs: number
  busy: boolean
}

/** The oldest first. */
function clonesOf({ startedAtMs }: Original, count: number): Clone[] {
  const stepMs = Math.floor(spreadMs / (count + 1))
  return Array.from({ length: count }, (_, index) => {
    const shiftMs = (count - index) * stepMs
    const prefix = newId('any', realSystem, startedAtMs - shiftMs).slice(4, 16)
    return { k: index + 1, prefix, shiftMs, busy: index % 2 === 0 }
  })
}

function cloneText(
  database: RawDatabase,
  original: Original,
  table: (typeof cloned)[number],
  busy: boolean,
  k: number,
) {
  const names = columnsOf(tables[table]).map(([name]) => name)
  const kept = original.keptIds.map((id) => `'${id}'`).join(', ')
  const values = names.map((name) => cloneOf(database, name, busy ? kept : ''))
  const columns = names.map((name) => `"${name}"`).join(', ')
  const which = `c.busy = ${busy ? 1 : 0} and c.k between ${k} and ${k + clonesPerStatement - 1}`
  const made = busy ? ` and ${madeSince(original, kept, table, names)}` : ''
  const from = `clones c cross join "base ${table}" b`
  return `insert into "${table}" (${columns}) select ${values.join(', ')} from ${from} where ${which}${made}`
}

/** Whether a row was made when the original lived, rather than before. */
function madeSince({ startedAtMs }: Original, kept: string, table: string, names: readonly string[]): string {
  if (table === 'spending') return '1 = 0'
  if (names.includes('createdAtMs')) return `b."createdAtMs" >= ${startedAtMs}`
  return table.startsWith('wallet') ? `b."walletId" not in (${kept})` : '1 = 1'
}

const hashes = ['secretHash', 'tokenHash', 'claimTokenHash', 'handle']
const idsByOtherNames = ['id', 'createdBy', 'updatedBy', 'revokedBy']

/** The value of a column in a clone. */
function cloneOf({ dialect }: RawDatabase, name: string, kept: string): string {
  const column = `b."${name}"`
  if (name === 'key') return dialect === 'sqlite' ? 'lower(hex(randomblob(11)))' : 'left(md5(random()::text), 22)'
  if (name === 'finishedAtMs') return `${column} - c.shift % ${recordedMs}`
  if (name === 'seeded') return '0'
  if (name === 'dayMs' || name === 'monthMs') return column
  if (name.endsWith('Ms')) return `${column} - c.shift`
  if (hashes.includes(name)) return `${column} || '-' || c.k`
  if (name === 'instanceId' || !(name.endsWith('Id') || idsByOtherNames.includes(name))) return column
  const id = `substr(${column}, 1, 4) || c.prefix || substr(${column}, 17)`
  return kept === '' ? id : `case when ${column} in (${kept}) then ${column} else ${id} end`
}

/** The wallets that the busy clones share have what the entries sum to. */
async function settleBalances(database: RawDatabase, { keptIds }: Original): Promise<void> {
  const sum = (account: string) =>
    `(select cast(coalesce(sum("amountCents"), 0) as bigint) from "ledgerEntries" e where e."walletId" = "wallets"."id" and e."account" = '${account}')`
  for (const id of keptIds.filter((one) => one.startsWith('wal_'))) {
    await database.run(
      `update "wallets" set "availableCents" = ${sum('available')}, "heldCents" = ${sum('held')} where "id" = '${id}'`,
    )
  }
}

/** What the busy clones of this day and month spent is counted as well. */
async function settleSpending(database: RawDatabase, original: Original, clones: readonly Clone[]): Promise<void> {
  const [total] = await database.all(`select * from "spending" where "partyId" = '${original.partyId}'`)
  const since = (ms: unknown) =>
    1 + clones.filter(({ busy, shiftMs }) => busy && original.startedAtMs - shiftMs >= Number(ms)).length
  const times = `"dayCents" = "dayCents" * ${since(total?.['dayMs'])}, "monthCents" = "monthCents" * ${since(total?.['monthMs'])}`
  await database.run(`update "spending" set ${times} where "partyId" = '${original.partyId}'`)
}

/** The busy party's chain is made anew, the clones before the original. */
async function chainActivity(
  database: RawDatabase,
  { partyId, keptIds }: Original,
  activity: readonly ActivityRow[],
  clones: readonly Clone[],
): Promise<ActivityHead[]> {
  await database.run(`delete from "activity" where "partyId" = '${partyId}'`)
  const kept = new Set(keptIds)
  const busyHead: ActivityHead = { partyId, sequence: 0, hash: '0'.repeat(64) }
  const heads = [busyHead]
  let rows: ActivityRow[] = []
  for (const { prefix, shiftMs, busy } of [...clones, { prefix: '', shiftMs: 0, busy: true }]) {
    const id = <Value extends string | null>(value: Value) =>
      (value === null || prefix === '' || (busy && kept.has(value))
        ? value
        : `${value.slice(0, 4)}${prefix}${value.slice(16)}`) as Value
    const head = busy ? busyHead : { ...busyHead, partyId: id(partyId), sequence: 0, hash: '0'.repeat(64) }
    if (!busy) heads.push(head)
    for (const row of activity) {
      const ids = { id: id(row.id), partyId: head.partyId, agentId: id(row.agentId), userId: id(row.userId) }
      const resourceIds = JSON.stringify((JSON.parse(row.resourceIds) as string[]).map(id))
      const next = { ...row, ...ids, keyId: id(row.keyId), resourceIds, createdAtMs: Number(row.createdAtMs) - shiftMs }
      head.sequence += 1
      const linked = { ...next, sequence: head.sequence, previousHash: head.hash }
      head.hash = hashOf(linked)
      rows.push({ ...linked, hash: head.hash })
    }
    if (rows.length < 5000 && prefix !== '') continue
    await database.insertActivity(rows)
    rows = []
  }
  return heads
}

export function chunks<Item>(items: readonly Item[], length: number): Item[][] {
  return Array.from({ length: Math.ceil(items.length / length) }, (_, index) =>
    items.slice(index * length, (index + 1) * length),
  )
}

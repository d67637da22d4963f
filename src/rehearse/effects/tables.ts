import { readTimes } from '../../service/store/clock.ts'
import type { Store, Transaction } from '../../service/store/engine/store.ts'
import { keyOf } from '../../service/store/schema/table.ts'
import { type Tables, tables } from '../../service/store/schema/tables.ts'

export type TableName = keyof Tables

/**
 * Tables whose rows are not compared to find the effects of a step, each with the reason. All other tables are
 * compared, including any table that is later added to the schema.
 */
export const bookkeeping: { readonly [Name in TableName]?: string } = {
  activity: 'describes changes in other tables',
  activityResources: 'is an index of the activity',
  events: 'describes changes in other tables',
  partyHeads: 'seals the activity and counts the events',
  sandboxMessages: 'stores the emails that production would send about other records',
  failedEffects: 'is internal to the service',
  ledgerEntries: 'stores the ledger entries of payments and purchases',
  transactions: 'shows payments to both parties',
  spending: 'sums up payments and purchases',
  subscriptionPayments: 'changes only together with its subscription',
  releasedHandles: 'changes only together with the handle of a party',
  idempotencyRecords: 'stores answers for retries',
  sentCalls: 'stores calls to recognize repeats',
  pendingDecisions: 'stores calls that are not carried out yet',
  earlierStates: 'stores old rows for the fault "stale"',
  faults: 'are set by the scenario',
  runs: 'records calls',
  runEntries: 'records calls',
  runMinutes: 'records calls',
  rateLimits: 'counts calls',
  webhookDeliveries: 'queues events for webhooks; the webhooks are compared',
  accessTokens: 'stores short-lived tokens of keys; the keys are compared',
  grantTokens: 'stores short-lived tokens of grants; the grants are compared',
  oauthRecords: 'stores sign-ins that have no grant yet',
  refusedPasswords: 'counts wrong passwords',
  knownBrowsers: "stores people's browsers",
  mcpSessions: 'is about connections',
  mcpEvents: 'is about connections',
  mcpMail: 'is about connections',
  clock: 'stores the time',
  deployment: 'is internal to the service',
  schemas: 'is internal to the service',
  locks: 'is internal to the service',
  leases: 'is internal to the service',
  rootKeys: 'is internal to the service',
  signingKeys: 'is internal to the service',
  carriedSecrets: 'is internal to the service',
  world: 'is internal to the service',
  snapshots: 'changes, in a rehearsal, only if a person creates a snapshot',
  snapshotRows: 'changes, in a rehearsal, only if a person creates a snapshot',
}

export const judgedTables = (Object.keys(tables) as TableName[]).filter((name) => bookkeeping[name] === undefined)

export type Row = Readonly<Record<string, unknown>>
/** All rows of the compared tables, by table and key. */
export type Snapshot = ReadonlyMap<TableName, ReadonlyMap<string, Row>>

/** The compared tables, and the time of the sandbox clock when they were read. */
export interface Moment {
  nowMs: number
  tables: Snapshot
}

/** A reader of the compared tables. On SQLite, it reuses its last snapshot if nothing has changed. */
export class TableReader {
  readonly #store: Store
  #changes = -1
  #last: Snapshot = new Map()

  constructor(store: Store) {
    this.#store = store
  }

  read(): Promise<Moment> {
    return this.#store.transaction(async (tx) => {
      const { nowMs } = await readTimes(tx)
      const changes = await changesIn(tx)
      if (changes === undefined || changes !== this.#changes) this.#last = await readAll(tx)
      this.#changes = changes ?? -1
      return { nowMs, tables: this.#last }
    })
  }
}

/**
 * Returns how many rows the connection to a trial's database has changed so far; undefined if the database does not
 * count changes.
 */
async function changesIn(tx: Transaction): Promise<number | undefined> {
  if (tx.dialect !== 'sqlite') return undefined
  const counted = tx.db.selectNoFrom(({ fn }) => fn<number>('total_changes', []).as('changes'))
  return (await counted.executeTakeFirst())?.changes
}

async function readAll(tx: Transaction): Promise<Snapshot> {
  const snapshot = new Map<TableName, Map<string, Row>>()
  for (const name of judgedTables) {
    const rows: Row[] = await tx.db.selectFrom(name).selectAll().execute()
    snapshot.set(name, new Map(rows.map((row) => [rowKey(name, row), row])))
  }
  return snapshot
}

/**
 * Returns a row's key: the values of the columns that form the primary key on SQLite. These values also identify the
 * row on PostgreSQL, where the primary key may have one more column.
 */
export function rowKey(name: TableName, row: Row): string {
  return keyOf('sqlite', tables[name])
    .map((column) => String(row[column]))
    .join(' ')
}

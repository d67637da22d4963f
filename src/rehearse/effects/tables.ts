import { readTimes } from '../../service/store/clock.ts'
import type { Store, Transaction } from '../../service/store/engine/store.ts'
import { type Tables, tables } from '../../service/store/schema/tables.ts'

export type TableName = keyof Tables

/**
 * Tables that are not compared, each with the reason. All others are compared, so a new table is judged unless it is
 * added here.
 */
export const bookkeeping: { readonly [Name in TableName]?: string } = {
  activity: 'tells of what other tables hold',
  activityResources: 'finds the activity of a record',
  events: 'tells of what other tables hold',
  partyHeads: 'seals the activity and counts the events',
  sandboxMessages: 'says what would have been mailed about other records',
  failedEffects: "is the service's own",
  ledgerEntries: 'is the other side of payments and purchases',
  transactions: 'is how both sides see payments',
  spending: 'sums up payments and purchases',
  subscriptionPayments: 'follows the subscription, whose billing changes with it',
  releasedHandles: 'follows the party, whose handle changes with it',
  idempotencyRecords: 'remembers answers',
  sentCalls: 'remembers calls',
  pendingDecisions: 'holds calls that are not carried out yet',
  earlierStates: 'serves a fault',
  faults: 'are set by the scenario',
  runs: 'tells of calls',
  runEntries: 'tells of calls',
  rateLimits: 'counts calls',
  webhookDeliveries: 'tells of events, at addresses that are judged',
  accessTokens: 'allows for some minutes what the key allows that it was exchanged for',
  grantTokens: 'allows for some minutes what the grant allows that it was exchanged for',
  oauthRecords: 'is between an application and the authorization server until there is a grant',
  refusedPasswords: 'counts tries',
  knownBrowsers: 'is about browsers of people',
  mcpSessions: 'is about connections',
  mcpEvents: 'is about connections',
  mcpMail: 'is about connections',
  clock: 'is the time',
  deployment: "is the service's own",
  schemas: "is the service's own",
  locks: "is the service's own",
  leases: "is the service's own",
  rootKeys: "is the service's own",
  signingKeys: "is the service's own",
  carriedSecrets: "is the service's own",
  world: "is the service's own",
  snapshots: 'is made by people alone in a rehearsal',
  snapshotRows: 'is made by people alone in a rehearsal',
}

export const judgedTables = (Object.keys(tables) as TableName[]).filter((name) => bookkeeping[name] === undefined)

export type Row = Readonly<Record<string, unknown>>
/** All rows of the compared tables, by their keys. */
export type Snapshot = ReadonlyMap<TableName, ReadonlyMap<string, Row>>

/** The compared tables at the sandbox's time. */
export interface Moment {
  nowMs: number
  tables: Snapshot
}

/** Reads the compared tables, again only if something changed since the last time. */
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

/** Counts the rows that the connection of a trial's database changed so far; undefined if the database does not count. */
async function changesIn(tx: Transaction): Promise<number | undefined> {
  if (tx.dialect !== 'sqlite') return undefined
  const counted = tx.db.selectNoFrom(({ fn }) => fn<number>('total_changes', []).as('changes'))
  return (await counted.executeTakeFirst())?.changes
}

async function readAll(tx: Transaction): Promise<Snapshot> {
  const snapshot = new Map<TableName, Map<string, Row>>()
  for (const name of judgedTables) {
    const rows: Row[] = await tx.db.selectFrom(name).selectAll().execute()
    snapshot.set(name, new Map(rows.map((row) => [keyOf(name, row), row])))
  }
  return snapshot
}

const keyColumns = new Map(judgedTables.map((name) => [name, firstKey(name)]))

/** Returns the key columns of a table, which are the same on each database. */
function firstKey(name: TableName): readonly string[] {
  const [made] = Object.values(tables[name]) as { $key?: readonly string[] }[]
  return made?.$key ?? ['id']
}

function keyOf(name: TableName, row: Row): string {
  return (keyColumns.get(name) ?? ['id']).map((column) => String(row[column])).join(' ')
}

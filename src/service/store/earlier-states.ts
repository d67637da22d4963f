import { writing } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { EarlierStateRow } from './schema/earlier-states.ts'
import type { Tables } from './schema/tables.ts'

/**
 * The columns by which a table's rows are a party's, where answers to reads show them; null: no answer does. What two
 * parties share counts for both.
 */
const shown: { readonly [Table in keyof Tables]: readonly (keyof Tables[Table] & string)[] | null } = {
  wallets: ['partyId'],
  walletAgents: ['partyId'],
  walletPermissions: ['partyId'],
  agentCards: ['partyId'],
  cardTransactions: ['partyId'],
  payments: ['partyId'],
  approvals: ['partyId'],
  transactions: ['sourcePartyId', 'destinationPartyId'],
  subscriptions: ['partyId'],
  subscriptionPayments: ['partyId'],
  shopCheckouts: ['partyId'],
  shopOrders: ['partyId'],
  activity: ['partyId'],
  customerInvitations: ['partyId'],
  invitationLinks: ['partyId'],
  delegations: ['customerPartyId', 'agentPartyId'],
  paymentRequests: ['partyId', 'payerPartyId'],
  externalAccounts: ['partyId'],
  partyInvitations: ['partyId'],
  complianceCases: ['partyId'],
  sandboxMessages: ['partyId'],
  webhooks: ['partyId'],
  webhookDeliveries: ['partyId'],
  parties: ['id'],
  users: ['partyId'],
  agents: ['partyId'],
  credentials: ['partyId'],

  // It is written and never read: a wallet's row has its balances.
  ledgerEntries: null,
  // Only what is asked to be paid is held against it.
  spending: null,
  activityResources: null,
  events: null,
  partyHeads: null,
  releasedHandles: null,
  failedEffects: null,
  idempotencyRecords: null,
  pendingDecisions: null,
  sentCalls: null,
  cardPages: null,
  accessTokens: null,
  grantTokens: null,
  oauthGrants: null,
  oauthRecords: null,
  passwords: null,
  refusedPasswords: null,
  secondFactors: null,
  signInSessions: null,
  signInLinks: null,
  knownBrowsers: null,
  mcpSessions: null,
  mcpEvents: null,
  mcpMail: null,
  schemas: null,
  clock: null,
  deployment: null,
  world: null,
  snapshots: null,
  snapshotRows: null,
  faults: null,
  earlierStates: null,
  rootKeys: null,
  carriedSecrets: null,
  signingKeys: null,
  locks: null,
  leases: null,
  rateLimits: null,
  runs: null,
  runEntries: null,
}

type Rows = Partial<Record<keyof Tables, Record<string, unknown>[]>>

const places = (Object.keys(shown) as (keyof Tables)[]).flatMap((table) => {
  const columns: readonly string[] | null = shown[table]
  return columns === null ? [] : [{ table, columns }]
})

/**
 * Changes records of parties, and where a rule is stale, keeps what the rows were before of each that is another since.
 * What undoes the change undoes that too.
 */
export async function keepingEarlier<T>(
  tx: Transaction,
  whose: () => readonly string[],
  change: () => Promise<T>,
): Promise<T> {
  // Whoever changes something has read the time.
  if (tx.clock.sandbox.staleRules === 0) return change()
  const partyIds = whose()
  const all = () => Promise.all(partyIds.map(async (partyId) => JSON.stringify(await rowsOf(tx, partyId))))
  const before = await all()
  const result = await change()
  const after = await all()
  for (const [at, partyId] of partyIds.entries()) {
    const rows = before[at]
    if (rows !== undefined && rows !== after[at]) await keep(tx, { partyId, rows })
  }
  return result
}

const keep = writing((db, row: EarlierStateRow) =>
  db
    .insertInto('earlierStates')
    .values(row)
    .onConflict((conflict) => conflict.column('partyId').doUpdateSet({ rows: row.rows })),
)

/** Carries what was read out of the savepoint that is undone. */
class ReadEarlier extends Error {
  readonly result: unknown
  constructor(result: unknown) {
    super('What was put back is undone.')
    this.result = result
  }
}

/** Reads while the party's rows stand as before its last change; where none is kept, as they are. */
export async function readingEarlier<T>(tx: Transaction, partyId: string, read: () => Promise<T>): Promise<T> {
  await tx.lockParty(partyId)
  tx.apart()
  const state = await tx.db.selectFrom('earlierStates').select('rows').where('partyId', '=', partyId).executeTakeFirst()
  if (state === undefined) return read()
  try {
    return await tx.savepoint(async () => {
      await putBack(tx, partyId, JSON.parse(state.rows) as Rows)
      throw new ReadEarlier(await read())
    })
  } catch (error) {
    if (error instanceof ReadEarlier) return error.result as T
    throw error
  }
}

async function rowsOf(tx: Transaction, partyId: string): Promise<Rows> {
  const found = places.map(async ({ table, columns }) => {
    const rows = await tx.db
      .selectFrom(table)
      .selectAll()
      .where((row) => row.or(columns.map((column) => row(column as never, '=', partyId as never))))
      .execute()
    return [table, rows]
  })
  return Object.fromEntries(await Promise.all(found)) as Rows
}

/** Few enough that no statement has more parameters than a database takes. */
const rowsAtOnce = 200

async function putBack(tx: Transaction, partyId: string, rows: Rows): Promise<void> {
  for (const { table, columns } of places) {
    await tx.db
      .deleteFrom(table)
      .where((row) => row.or(columns.map((column) => row(column as never, '=', partyId as never))))
      .execute()
    const before = rows[table] ?? []
    for (let first = 0; first < before.length; first += rowsAtOnce) {
      await tx.db
        .insertInto(table)
        .values(before.slice(first, first + rowsAtOnce) as never)
        .execute()
    }
  }
}

/** Forgets what was kept of all parties. */
export const dropEarlierStates = (tx: Transaction) => drop(tx, {})

const drop = writing((db, _none: object) => db.deleteFrom('earlierStates'))

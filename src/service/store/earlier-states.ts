import { preparedWrite } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { EarlierStateRow } from './schema/earlier-states.ts'
import type { Tables } from './schema/tables.ts'

/**
 * For each table, the columns with the id of the party that a row belongs to. If a table has two such columns, each row
 * belongs to both parties. If no read request returns rows of a table, the value is null.
 */
const partyColumns: { readonly [Table in keyof Tables]: readonly (keyof Tables[Table] & string)[] | null } = {
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

  // No read request uses the ledger entries, because the row of a wallet contains the wallet's balances.
  ledgerEntries: null,
  // The service uses the rows of `spending` only to check new spending against limits.
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
  trustedIssuers: null,
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
  runMinutes: null,
}

type Rows = Partial<Record<keyof Tables, Record<string, unknown>[]>>

const partyTables = (Object.keys(partyColumns) as (keyof Tables)[]).flatMap((table) => {
  const columns: readonly string[] | null = partyColumns[table]
  return columns === null ? [] : [{ table, columns }]
})

/**
 * Runs `change`. If there is a `stale` fault rule, also stores the previous rows of each party whose rows `change` has
 * changed. The previous rows are stored in the same transaction, so a rollback discards them too.
 */
export async function runAndSaveEarlierRows<T>(
  tx: Transaction,
  findPartyIds: () => readonly string[],
  change: () => Promise<T>,
): Promise<T> {
  // The number of rules is up to date, because it is read together with the clock, and every change first reads the
  // clock.
  if (tx.clock.sandbox.staleRules === 0) return change()
  const partyIds = findPartyIds()
  const all = () => Promise.all(partyIds.map(async (partyId) => JSON.stringify(await rowsOf(tx, partyId))))
  const before = await all()
  const result = await change()
  const after = await all()
  for (const [at, partyId] of partyIds.entries()) {
    const rows = before[at]
    if (rows !== undefined && rows !== after[at]) await saveRows(tx, { partyId, rows })
  }
  return result
}

const saveRows = preparedWrite((db, row: EarlierStateRow) =>
  db
    .insertInto('earlierStates')
    .values(row)
    .onConflict((conflict) => conflict.column('partyId').doUpdateSet({ rows: row.rows })),
)

/** Thrown after a read of earlier rows, to roll back to the current rows. Contains the result of the read. */
class ReadEarlier extends Error {
  readonly result: unknown
  constructor(result: unknown) {
    super('Rolls back the restored rows.')
    this.result = result
  }
}

/**
 * Runs `read` on a party's rows as they were before their last change. If no earlier rows are stored, runs `read` on
 * the current rows.
 */
export async function runOnEarlierRows<T>(tx: Transaction, partyId: string, read: () => Promise<T>): Promise<T> {
  await tx.lockParty(partyId)
  tx.runAlone()
  const state = await tx.db.selectFrom('earlierStates').select('rows').where('partyId', '=', partyId).executeTakeFirst()
  if (state === undefined) return read()
  try {
    return await tx.savepoint(async () => {
      await restoreRows(tx, partyId, JSON.parse(state.rows) as Rows)
      throw new ReadEarlier(await read())
    })
  } catch (error) {
    if (error instanceof ReadEarlier) return error.result as T
    throw error
  }
}

async function rowsOf(tx: Transaction, partyId: string): Promise<Rows> {
  const found = partyTables.map(async ({ table, columns }) => {
    const rows = await tx.db
      .selectFrom(table)
      .selectAll()
      .where((row) => row.or(columns.map((column) => row(column as never, '=', partyId as never))))
      .execute()
    return [table, rows]
  })
  return Object.fromEntries(await Promise.all(found)) as Rows
}

/** The maximum number of rows that one statement inserts. Databases limit the number of parameters. */
const rowsAtOnce = 200

async function restoreRows(tx: Transaction, partyId: string, rows: Rows): Promise<void> {
  for (const { table, columns } of partyTables) {
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

/** Deletes all rows that were stored for `stale` fault rules. */
export const dropEarlierStates = (tx: Transaction) => drop(tx, {})

const drop = preparedWrite((db, _none: object) => db.deleteFrom('earlierStates'))

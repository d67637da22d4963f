import { writing } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { EarlierStateRow } from './schema/earlier-states.ts'
import type { Tables } from './schema/tables.ts'

/**
 * The columns that identify a party's rows in each table; null if no response to a read shows the table's rows. Rows
 * that two parties share belong to both.
 */
const visibleTo: { readonly [Table in keyof Tables]: readonly (keyof Tables[Table] & string)[] | null } = {
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

  // No read uses it, because a wallet's row contains the balances.
  ledgerEntries: null,
  // No read shows it. It is only used to check new spending against limits.
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

const places = (Object.keys(visibleTo) as (keyof Tables)[]).flatMap((table) => {
  const columns: readonly string[] | null = visibleTo[table]
  return columns === null ? [] : [{ table, columns }]
})

/**
 * Runs `change`. If a `stale` rule is set, also stores the previous rows of each party whose rows changed. A rollback
 * of the change removes these stored rows too.
 */
export async function runAndSaveEarlierRows<T>(
  tx: Transaction,
  partiesOf: () => readonly string[],
  change: () => Promise<T>,
): Promise<T> {
  // Every change has already read the time, which includes the number of rules.
  if (tx.clock.sandbox.staleRules === 0) return change()
  const partyIds = partiesOf()
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

/** Carries the result out of the savepoint that is rolled back. */
class ReadEarlier extends Error {
  readonly result: unknown
  constructor(result: unknown) {
    super('Rolls back the restored rows.')
    this.result = result
  }
}

/**
 * Runs `read` on the party's rows as they were before its last change. If no earlier rows are stored, `read` gets the
 * current rows.
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

/** The maximum number of rows in one statement, because databases limit the number of parameters. */
const rowsAtOnce = 200

async function restoreRows(tx: Transaction, partyId: string, rows: Rows): Promise<void> {
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

/** Deletes the stored earlier rows of all parties. */
export const dropEarlierStates = (tx: Transaction) => drop(tx, {})

const drop = writing((db, _none: object) => db.deleteFrom('earlierStates'))

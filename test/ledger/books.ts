import { sql } from 'kysely'
import { expect } from 'vitest'
import { startOfDayAndMonth } from '../../src/service/rules/calendar.ts'
import { readTimes } from '../../src/service/store/clock.ts'
import type { Store } from '../../src/service/store/engine/store.ts'
import type { CardTransactionRow } from '../../src/service/store/schema/card-transactions.ts'
import type { LedgerEntryRow } from '../../src/service/store/schema/ledger.ts'
import type { PaymentRow } from '../../src/service/store/schema/payments.ts'
import type { SpendingRow } from '../../src/service/store/schema/spending.ts'
import type { WalletRow } from '../../src/service/store/schema/wallets.ts'

export interface Books {
  wallets: WalletRow[]
  entries: LedgerEntryRow[]
  transactions: CardTransactionRow[]
  payments: PaymentRow[]
  spending: SpendingRow[]
  usedCards: number
  keys: number
}

/** Reads the records that `proveBooks` checks, and counts the used cards and the idempotency keys. */
export function readBooks(store: Store): Promise<Books> {
  return store.transaction(async ({ db }) => ({
    wallets: await db.selectFrom('wallets').selectAll().orderBy('id').execute(),
    entries: await db.selectFrom('ledgerEntries').selectAll().orderBy('id').execute(),
    transactions: await db.selectFrom('cardTransactions').selectAll().orderBy('id').execute(),
    spending: await db.selectFrom('spending').selectAll().orderBy('partyId').orderBy('agentId').execute(),
    payments: await db.selectFrom('payments').selectAll().orderBy('id').execute(),
    usedCards: (await db.selectFrom('agentCards').select('id').where('usedAtMs', 'is not', null).execute()).length,
    keys: (await db.selectFrom('idempotencyRecords').select('key').execute()).length,
  }))
}

/** Reads the books and checks every invariant that must hold after each request. */
export async function proveBooks(store: Store): Promise<Books> {
  const books = await readBooks(store)
  const { wallets, entries, transactions, payments } = books
  for (const [id, posting] of Map.groupBy(entries, (entry) => entry.postingId)) {
    expect(sum(posting), `posting ${id}`).toBe(0)
    expect(posting.length).toBeGreaterThan(1)
  }
  for (const wallet of wallets) {
    const walletEntries = entries.filter((entry) => entry.walletId === wallet.id)
    const ledgerSums = {
      availableCents: sum(walletEntries.filter((entry) => entry.account === 'available')),
      heldCents: sum(walletEntries.filter((entry) => entry.account === 'held')),
    }
    expect({ availableCents: wallet.availableCents, heldCents: wallet.heldCents }).toEqual(ledgerSums)
    const returnedDeposits = walletEntries.filter(
      ({ account, reason }) => account === 'available' && reason === 'deposit_returned',
    )
    expect(wallet.returnedCents).toBe(0 - sum(returnedDeposits))
    expect(ledgerSums.availableCents).toBeGreaterThanOrEqual(-wallet.returnedCents)
    const holds = [...transactions, ...payments].filter(({ walletId }) => walletId === wallet.id)
    expect(ledgerSums.heldCents).toBe(holds.reduce((total, { heldCents }) => total + heldCents, 0))
  }
  const refundsOf = Map.groupBy(transactions, ({ purchaseId }) => purchaseId)
  const entriesOf = Map.groupBy(entries, ({ sourceId }) => sourceId)
  for (const purchase of transactions.filter(({ kind }) => kind === 'purchase')) {
    const refunds = refundsOf.get(purchase.id) ?? []
    expect(purchase.capturedCents).toBeLessThanOrEqual(purchase.amountCents)
    expect(purchase.refundedCents).toBeLessThanOrEqual(purchase.capturedCents)
    expect(purchase.refundedCents).toBe(refunds.reduce((total, { amountCents }) => total + amountCents, 0))
    expect(purchase.heldCents).toBe(purchase.status === 'authorized' ? purchase.amountCents : 0)
    const purchaseEntries = (entriesOf.get(purchase.id) ?? []).filter(({ account }) => account === 'held')
    expect(sum(purchaseEntries), `held ledger entries of ${purchase.id}`).toBe(purchase.heldCents)
    const network = [purchase, ...refunds]
      .flatMap(({ id }) => entriesOf.get(id) ?? [])
      .filter(({ account }) => account === 'card_network')
    expect(sum(network)).toBe(purchase.capturedCents - purchase.refundedCents)
  }
  for (const row of payments.filter(isBankTransfer)) proveBankTransfer(row, entries)
  await proveTotals(store, books)
  return books
}

/**
 * Checks two sums of a bank transfer's ledger entries: the amount at the bank and the held amount. The transfer's kind
 * and status determine both.
 */
function proveBankTransfer({ id, kind, status, amountCents }: PaymentRow, entries: readonly LedgerEntryRow[]): void {
  const sumOf = (account: string) => sum(entries.filter((entry) => entry.sourceId === id && entry.account === account))
  const sent = kind === 'withdrawal' ? amountCents : -amountCents
  const held = kind === 'withdrawal' && status === 'PROCESSING' ? amountCents : 0
  const required = { bank: status === 'COMPLETED' ? sent : 0, held }
  expect({ bank: sumOf('bank_network'), held: sumOf('held') }, `bank transfer ${id}`).toEqual(required)
}

/**
 * Checks that the stored spending of each agent and party equals the sum of its payments and purchases, both in the
 * current day and in the current month.
 */
async function proveTotals(store: Store, { payments, transactions, spending }: Books): Promise<void> {
  const { nowMs, cards } = await store.transaction(async (tx) => ({
    ...(await readTimes(tx)),
    cards: await tx.db.selectFrom('agentCards').select(['id', 'agentId']).execute(),
  }))
  const agentOf = new Map(cards.map(({ id, agentId }) => [id, agentId]))
  const spent = [
    ...payments
      .filter((row) => (row.kind === 'payment' && row.method !== 'card') || row.kind === 'wire' || isBankTransfer(row))
      .filter(({ status }) => !['FAILED', 'CANCELED', 'APPROVAL_DENIED', 'IN_REVIEW', 'RETURNED'].includes(status))
      .map((row) => ({ ...row, agentId: row.agentId ?? '', cents: row.amountCents })),
    ...transactions
      .filter(({ kind }) => kind === 'purchase')
      .map((row) => ({ ...row, agentId: agentOf.get(row.cardId) ?? '', cents: row.heldCents + row.capturedCents })),
  ]
  const spender = (row: { partyId: string; agentId: string }) => `${row.partyId} ${row.agentId}`
  const nonZero = (totals: [string, number][]) => Object.fromEntries(totals.filter(([, cents]) => cents !== 0).sort())
  const sums = (sinceMs: number) => {
    const since = Map.groupBy(
      spent.filter(({ createdAtMs }) => createdAtMs >= sinceMs),
      spender,
    )
    return nonZero([...since].map(([who, rows]) => [who, rows.reduce((total, { cents }) => total + cents, 0)]))
  }
  const { dayStartMs, monthStartMs } = startOfDayAndMonth(nowMs)
  const today = spending.map((row) => [spender(row), row.dayMs >= dayStartMs ? row.dayCents : 0] as [string, number])
  const month = spending.map(
    (row) => [spender(row), row.monthMs >= monthStartMs ? row.monthCents : 0] as [string, number],
  )
  expect({ today: nonZero(today), month: nonZero(month) }).toEqual({
    today: sums(dayStartMs),
    month: sums(monthStartMs),
  })
}

const isBankTransfer = ({ externalAccountId }: PaymentRow) => externalAccountId !== null

function sum(entries: readonly LedgerEntryRow[]): number {
  return entries.reduce((total, { amountCents }) => total + amountCents, 0)
}

/** Returns the rows of all tables in one list. */
export async function readAllRows(store: Store): Promise<Record<string, unknown>[]> {
  return [...(await readAllTables(store)).values()].flat()
}

/** Returns the rows of every table, by table name. */
export async function readAllTables(store: Store): Promise<Map<string, Record<string, unknown>[]>> {
  return store.transaction(async ({ db }) => {
    const names =
      store.dialect === 'sqlite'
        ? sql<{ name: string }>`select name from sqlite_schema where type = 'table'`
        : sql<{ name: string }>`select table_name as name from information_schema.tables where table_schema = 'public'`
    const tables = new Map<string, Record<string, unknown>[]>()
    for (const { name } of (await names.execute(db)).rows) {
      tables.set(name, (await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(db)).rows)
    }
    return tables
  })
}

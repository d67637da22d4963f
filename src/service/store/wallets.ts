import type { Kysely } from 'kysely'
import { newId, type System } from '../../core/system.ts'
import { assertBalanced, balanceChange, type Posting } from '../rules/ledger.ts'
import { type PageOf, type PageRequest, pageOf } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import { StaleWriteError, type Transaction } from './engine/store.ts'
import type { LedgerEntryRow, Tables, WalletRow } from './schema/tables.ts'

export async function findWallet(tx: Transaction, partyId: string, id: string): Promise<WalletRow | undefined> {
  return (await walletById(tx, { id, partyId })).rows[0]
}

const walletById = prepared((db, by: { id: string; partyId: string }) =>
  db.selectFrom('wallets').selectAll().where('id', '=', by.id).where('partyId', '=', by.partyId),
)

export async function listWallets(tx: Transaction, partyId: string, page: PageRequest): Promise<PageOf<WalletRow>> {
  let query = tx.db.selectFrom('wallets').selectAll().where('partyId', '=', partyId)
  if (page.beforeId !== null) query = query.where('id', '<', page.beforeId)
  const rows = await query
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute()
  return pageOf(rows, page.limit, (row) => row.id)
}

/** The wallet a party pays from unless it says otherwise. */
export async function defaultWallet(tx: Transaction, partyId: string): Promise<WalletRow | undefined> {
  return (await defaultOfParty(tx, { partyId })).rows[0]
}

const defaultOfParty = prepared((db, by: { partyId: string }) =>
  db.selectFrom('wallets').selectAll().where('partyId', '=', by.partyId).where('isDefault', '=', 1),
)

/** The wallet of its own party's that an agent pays from. */
export async function agentDefaultWallet(tx: Transaction, agentId: string): Promise<WalletRow | undefined> {
  return (await defaultOfAgent(tx, { agentId })).rows[0]
}

const defaultOfAgent = prepared((db, by: { agentId: string }) =>
  db
    .selectFrom('wallets')
    .innerJoin('walletAgents', 'walletAgents.walletId', 'wallets.id')
    .selectAll('wallets')
    .where('walletAgents.agentId', '=', by.agentId)
    .where('walletAgents.isDefault', '=', 1),
)

export async function insertWallet(tx: Transaction, wallet: WalletRow): Promise<void> {
  await tx.db.insertInto('wallets').values(wallet).execute()
}

type WalletChange = Partial<Pick<WalletRow, 'status' | 'isDefault' | 'displayName' | 'description' | 'tags'>>

/** Writes what changed of a wallet besides its balances. @throws StaleWriteError when it changed since it was read. */
export async function updateWallet(tx: Transaction, before: WalletRow, change: WalletChange): Promise<WalletRow> {
  const { id, version } = before
  const after = { ...change, version: version + 1 }
  const update = tx.db.updateTable('wallets').set(after).where('id', '=', id).where('version', '=', version)
  const { numUpdatedRows } = await update.executeTakeFirstOrThrow()
  if (numUpdatedRows !== 1n) throw new StaleWriteError(`wallet ${id}`)
  return { ...before, ...after }
}

/** Whether an agent holds a permission on a wallet it is attached to. */
export async function agentHolds(
  tx: Transaction,
  agentId: string,
  walletId: string,
  permission: string,
): Promise<boolean> {
  return (await held(tx, { agentId, walletId, permission })).rows.length > 0
}

const held = prepared((db, by: { agentId: string; walletId: string; permission: string }) =>
  db
    .selectFrom('walletPermissions')
    .select('permission')
    .where('walletId', '=', by.walletId)
    .where('agentId', '=', by.agentId)
    .where('permission', '=', by.permission),
)

/** What a list shows: for an agent, of its own party's records, only those of wallets on which it holds the permission. */
export interface ListScope {
  partyId: string
  agentId: string | null
  mustHold: string | null
}

/** The wallets on which an agent holds a permission, for the narrowing of a list. */
export function walletsHeld(db: Kysely<Tables>, agentId: string, permission: string) {
  return db
    .selectFrom('walletPermissions')
    .select('walletPermissions.walletId')
    .where('walletPermissions.agentId', '=', agentId)
    .where('walletPermissions.permission', '=', permission)
}

/** A posting, when it takes effect, and the record that causes it. */
export interface DatedPosting {
  posting: Posting
  nowMs: number
  sourceId: string | null
}

/**
 * Enters a posting and moves the wallet's balances with it.
 * @throws StaleWriteError when the wallet changed since it was read.
 */
export async function post(
  tx: Transaction,
  system: System,
  wallet: WalletRow,
  posting: Posting,
  at: Omit<DatedPosting, 'posting'>,
): Promise<void> {
  await postAll(tx, system, wallet, [{ ...at, posting }])
}

/** Enters postings on one wallet, whose balances move once. */
export async function postAll(
  tx: Transaction,
  system: System,
  wallet: WalletRow,
  postings: readonly DatedPosting[],
): Promise<void> {
  await postBetween(tx, system, [wallet], postings)
}

/**
 * Enters postings on several wallets. Their rows change in the order of their ids, so that two that pay each other wait
 * for one another instead of each holding what the other needs.
 */
export async function postBetween(
  tx: Transaction,
  system: System,
  wallets: readonly WalletRow[],
  postings: readonly DatedPosting[],
): Promise<void> {
  for (const { posting } of postings) assertBalanced(posting)
  const ordered = [...wallets].sort((a, b) => (a.id < b.id ? -1 : 1))
  for (const wallet of ordered) await moveBalances(tx, wallet, postings)
  for (const { posting, nowMs, sourceId } of postings) {
    const postingId = newId('pst', system, nowMs)
    for (const [index, { account, walletId, amountCents }] of posting.entries.entries()) {
      const entry = { id: `${postingId}_${index}`, postingId, account, walletId, amountCents }
      await insertEntry(tx, { ...entry, reason: posting.reason, sourceId, createdAtMs: nowMs })
    }
  }
}

async function moveBalances(tx: Transaction, wallet: WalletRow, postings: readonly DatedPosting[]): Promise<void> {
  const after = { availableCents: wallet.availableCents, heldCents: wallet.heldCents }
  for (const { posting } of postings) {
    const change = balanceChange(posting, wallet.id)
    after.availableCents += change.availableCents
    after.heldCents += change.heldCents
  }
  const { id, version } = wallet
  const { numAffectedRows } = await setBalances(tx, { id, version, nextVersion: version + 1, ...after })
  if (numAffectedRows !== 1n) throw new StaleWriteError(`wallet ${id}`)
}

interface Balances {
  id: string
  version: number
  nextVersion: number
  availableCents: number
  heldCents: number
}

const setBalances = prepared((db, wallet: Balances) =>
  db
    .updateTable('wallets')
    .set({ availableCents: wallet.availableCents, heldCents: wallet.heldCents, version: wallet.nextVersion })
    .where('id', '=', wallet.id)
    .where('version', '=', wallet.version),
)

const insertEntry = prepared((db, row: LedgerEntryRow) => db.insertInto('ledgerEntries').values(row))

import { newId, type System } from '../../system.ts'
import { assertBalanced, balanceChange, type Posting } from '../domain/ledger.ts'
import { type PageOf, type PageRequest, pageOf } from './page.ts'
import { StaleWriteError, type Transaction } from './store.ts'
import type { WalletRow } from './tables.ts'

export async function findWallet(tx: Transaction, partyId: string, id: string): Promise<WalletRow | undefined> {
  return tx.db.selectFrom('wallets').selectAll().where('id', '=', id).where('partyId', '=', partyId).executeTakeFirst()
}

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
  return tx.db
    .selectFrom('wallets')
    .selectAll()
    .where('partyId', '=', partyId)
    .where('isDefault', '=', 1)
    .executeTakeFirst()
}

/** The wallet of its own party's that an agent pays from. */
export async function agentDefaultWallet(tx: Transaction, agentId: string): Promise<WalletRow | undefined> {
  return tx.db
    .selectFrom('wallets')
    .innerJoin('walletAgents', 'walletAgents.walletId', 'wallets.id')
    .selectAll('wallets')
    .where('walletAgents.agentId', '=', agentId)
    .where('walletAgents.isDefault', '=', 1)
    .executeTakeFirst()
}

/** Whether an agent holds a permission on a wallet it is attached to. */
export async function agentHolds(
  tx: Transaction,
  agentId: string,
  walletId: string,
  permission: string,
): Promise<boolean> {
  const row = await tx.db
    .selectFrom('walletPermissions')
    .select('permission')
    .where('walletId', '=', walletId)
    .where('agentId', '=', agentId)
    .where('permission', '=', permission)
    .executeTakeFirst()
  return row !== undefined
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
  at: { nowMs: number; cardTransactionId: string | null },
): Promise<void> {
  assertBalanced(posting)
  const change = balanceChange(posting, wallet.id)
  const { numUpdatedRows } = await tx.db
    .updateTable('wallets')
    .set({
      availableCents: wallet.availableCents + change.availableCents,
      heldCents: wallet.heldCents + change.heldCents,
      version: wallet.version + 1,
    })
    .where('id', '=', wallet.id)
    .where('version', '=', wallet.version)
    .executeTakeFirst()
  if (numUpdatedRows !== 1n) throw new StaleWriteError(`wallet ${wallet.id}`)
  const postingId = newId('pst', system, at.nowMs)
  const entries = posting.entries.map((entry, index) => ({
    id: `${postingId}_${index}`,
    postingId,
    ...entry,
    reason: posting.reason,
    cardTransactionId: at.cardTransactionId,
    createdAtMs: at.nowMs,
  }))
  await tx.db.insertInto('ledgerEntries').values(entries).execute()
}

import { balanceChange, type Posting } from '../rules/ledger.ts'
import { inserting } from './engine/insert.ts'
import { type PageOf, type PageRequest, readPage } from './engine/page.ts'
import { prepared } from './engine/prepared.ts'
import { mustChangeOne, type Transaction } from './engine/store.ts'
import type { WalletRow } from './schema/wallets.ts'

export async function findWallet(tx: Transaction, partyId: string, id: string): Promise<WalletRow | undefined> {
  return (await walletById(tx, { id, partyId })).rows[0]
}

const walletById = prepared((db, by: { id: string; partyId: string }) =>
  db.selectFrom('wallets').selectAll().where('id', '=', by.id).where('partyId', '=', by.partyId),
)

export async function listWallets(tx: Transaction, partyId: string, page: PageRequest): Promise<PageOf<WalletRow>> {
  const query = tx.db.selectFrom('wallets').selectAll().where('partyId', '=', partyId)
  return readPage(query, page)
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

export const insertWallet = inserting('wallets')

type WalletChange = Partial<Pick<WalletRow, 'status' | 'isDefault' | 'displayName' | 'description' | 'tags'>>

/** Writes what changed of a wallet besides its balances. @throws StaleWriteError when it changed since it was read. */
export async function updateWallet(tx: Transaction, before: WalletRow, change: WalletChange): Promise<WalletRow> {
  const { id, version } = before
  const after = { ...change, version: version + 1 }
  const update = tx.db.updateTable('wallets').set(after).where('id', '=', id).where('version', '=', version)
  const result = await update.executeTakeFirstOrThrow()
  mustChangeOne(result, `wallet ${id}`)
  return { ...before, ...after }
}

/** Moves a wallet's balances by postings. @throws StaleWriteError when the wallet changed since it was read. */
export async function moveBalances(tx: Transaction, wallet: WalletRow, postings: readonly Posting[]): Promise<void> {
  const after = { availableCents: wallet.availableCents, heldCents: wallet.heldCents }
  for (const posting of postings) {
    const change = balanceChange(posting, wallet.id)
    after.availableCents += change.availableCents
    after.heldCents += change.heldCents
  }
  const { id, version } = wallet
  mustChangeOne(await setBalances(tx, { id, version, nextVersion: version + 1, ...after }), `wallet ${id}`)
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

/** What every wallet begins as. */
export const newWallet = {
  description: null,
  status: 'active',
  walletType: 'standard',
  isDefault: 0,
  tags: '{}',
  availableCents: 0,
  heldCents: 0,
  currency: 'USD',
  version: 1,
} as const

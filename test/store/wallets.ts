import type { Store, Transaction } from '../../src/service/store/engine/store.ts'
import type { WalletRow } from '../../src/service/store/schema/wallets.ts'

export const wallet: WalletRow = {
  id: 'wal_1',
  partyId: 'pty_1',
  displayName: null,
  description: null,
  status: 'active',
  walletType: 'standard',
  isDefault: 1,
  tags: '[]',
  availableCents: 0,
  heldCents: 0,
  returnedCents: 0,
  currency: 'USD',
  version: 1,
  createdAtMs: 1_800_000_000_000,
}

export async function addWallet(tx: Transaction, changes: Partial<WalletRow> = {}): Promise<void> {
  await tx.db
    .insertInto('wallets')
    .values({ ...wallet, ...changes })
    .execute()
}

export async function walletIds(store: Store): Promise<string[]> {
  const rows = await store.transaction((tx) => tx.db.selectFrom('wallets').select('id').orderBy('id').execute())
  return rows.map((row) => row.id)
}

export const times = <T>(count: number, make: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))

/** Inserts parties that tests can lock. They differ only in their ids. */
export async function addParties(store: Store, ids: readonly string[]): Promise<void> {
  const row = {
    partyType: 'ORG',
    displayName: 'Party',
    issuedCardsEnabled: 1,
    status: 'ACTIVE',
    profile: '{}',
  } as const
  const values = ids.map((id) => ({ ...row, id, createdAtMs: 0 }))
  await store.transaction(async ({ db }) => void (await db.insertInto('parties').values(values).execute()))
}

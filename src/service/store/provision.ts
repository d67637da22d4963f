import { newId, type System } from '../../core/system.ts'
import { funded } from '../rules/ledger.ts'
import type { Transaction } from './engine/store.ts'
import type { AgentRow, CredentialRow, DelegationRow, PartyRow, UserRow, WalletRow } from './schema/tables.ts'
import { attachAgent } from './wallet-agents.ts'
import { insertWallet, post } from './wallets.ts'

/** A row that leaves out what it has no value for. */
type New<Row, Optional extends keyof Row> = Omit<Row, Optional> & Partial<Pick<Row, Optional>>

export type NewParty = New<PartyRow, 'handle' | 'phone' | 'limits'>
export type NewAgent = New<AgentRow, 'tags' | 'slug' | 'limits' | 'updatedBy' | 'updatedAtMs' | 'lastActiveAtMs'>
export type NewCredential = New<CredentialRow, 'userId' | 'tags' | 'createdBy' | 'revokedBy' | 'lastUsedAtMs'>

const newAgent = { slug: null, limits: null, updatedBy: null, updatedAtMs: null, lastActiveAtMs: null } as const
const newCredential = { userId: null, createdBy: null, revokedBy: null, lastUsedAtMs: null } as const

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

/** A party with its default wallet, which is funded from outside. */
export async function createParty(
  tx: Transaction,
  system: System,
  party: NewParty,
  fundsCents: number,
): Promise<WalletRow> {
  const { id: partyId, createdAtMs } = party
  await tx.db
    .insertInto('parties')
    .values({ handle: null, phone: null, limits: null, ...party })
    .execute()
  const of = { id: newId('wal', system, createdAtMs), partyId, displayName: 'Main wallet', createdAtMs }
  const wallet: WalletRow = { ...newWallet, ...of, isDefault: 1 }
  await insertWallet(tx, wallet)
  if (fundsCents > 0) {
    await post(tx, system, wallet, funded(wallet.id, fundsCents), { nowMs: createdAtMs, sourceId: null })
  }
  return wallet
}

export async function createUser(tx: Transaction, user: New<UserRow, 'mfaVerifiedAtMs'>): Promise<void> {
  await tx.db
    .insertInto('users')
    .values({ mfaVerifiedAtMs: null, ...user })
    .execute()
}

/** An agent that pays from a wallet of its party's, on which it holds the permissions. */
export async function createAgent(
  tx: Transaction,
  agent: NewAgent,
  walletId: string,
  permissions: readonly string[],
): Promise<void> {
  await tx.db
    .insertInto('agents')
    .values({ ...newAgent, tags: '{}', ...agent })
    .execute()
  await attachAgent(tx, { walletId, agentId: agent.id, isDefault: 1, attachedAtMs: agent.createdAtMs }, permissions)
}

export async function createDelegation(tx: Transaction, delegation: DelegationRow): Promise<void> {
  await tx.db.insertInto('delegations').values(delegation).execute()
}

export async function createCredential(tx: Transaction, credential: NewCredential): Promise<CredentialRow> {
  const row: CredentialRow = { ...newCredential, tags: '{}', ...credential }
  await tx.db.insertInto('credentials').values(row).execute()
  return row
}

export async function seededCredentials(tx: Transaction): Promise<CredentialRow[]> {
  return tx.db.selectFrom('credentials').selectAll().where('seeded', '=', 1).execute()
}

/** Gives a credential another secret; the one it had stops working. */
export async function replaceSecret(
  tx: Transaction,
  id: string,
  { secretHash, displayPrefix }: Pick<CredentialRow, 'secretHash' | 'displayPrefix'>,
): Promise<void> {
  await tx.db.updateTable('credentials').set({ secretHash, displayPrefix }).where('id', '=', id).execute()
}

import { newId, type System } from '../../system.ts'
import { funded } from '../domain/ledger.ts'
import type { Transaction } from './store.ts'
import type { AgentRow, CredentialRow, DelegationRow, PartyRow, UserRow, WalletRow } from './tables.ts'
import { post } from './wallets.ts'

/** A party with its default wallet, which is funded from outside. */
export async function createParty(
  tx: Transaction,
  system: System,
  party: PartyRow,
  fundsCents: number,
): Promise<WalletRow> {
  const { id: partyId, createdAtMs } = party
  await tx.db.insertInto('parties').values(party).execute()
  const wallet: WalletRow = {
    id: newId('wal', system, createdAtMs),
    partyId,
    displayName: 'Main wallet',
    description: null,
    status: 'active',
    walletType: 'standard',
    isDefault: 1,
    tags: '{}',
    availableCents: 0,
    heldCents: 0,
    currency: 'USD',
    version: 1,
    createdAtMs,
  }
  await tx.db.insertInto('wallets').values(wallet).execute()
  if (fundsCents > 0) {
    await post(tx, system, wallet, funded(wallet.id, fundsCents), { nowMs: createdAtMs, sourceId: null })
  }
  return wallet
}

export async function createUser(tx: Transaction, user: UserRow): Promise<void> {
  await tx.db.insertInto('users').values(user).execute()
}

/** An agent that pays from a wallet of its party's, on which it holds the permissions. */
export async function createAgent(
  tx: Transaction,
  agent: AgentRow,
  walletId: string,
  permissions: readonly string[],
): Promise<void> {
  await tx.db.insertInto('agents').values(agent).execute()
  await tx.db
    .insertInto('walletAgents')
    .values({ walletId, agentId: agent.id, isDefault: 1, attachedAtMs: agent.createdAtMs })
    .execute()
  const rows = permissions.map((permission) => ({ walletId, agentId: agent.id, permission }))
  if (rows.length > 0) await tx.db.insertInto('walletPermissions').values(rows).execute()
}

export async function createDelegation(tx: Transaction, delegation: DelegationRow): Promise<void> {
  await tx.db.insertInto('delegations').values(delegation).execute()
}

export async function createCredential(tx: Transaction, credential: CredentialRow): Promise<void> {
  await tx.db.insertInto('credentials').values(credential).execute()
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

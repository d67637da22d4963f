import { newId, type System } from '../../core/system.ts'
import type { Recipient } from '../rules/customer-invitations.ts'
import { funded } from '../rules/ledger.ts'
import { finderOf } from './engine/find.ts'
import type { New } from './engine/insert.ts'
import { prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { recordEvents } from './events.ts'
import { post } from './ledger.ts'
import { assignToNewParty } from './payment-requests.ts'
import type { PartyRow } from './schema/parties.ts'
import type { WalletRow } from './schema/wallets.ts'
import { insertWallet, newWallet } from './wallets.ts'

export async function findParty(tx: Transaction, id: string): Promise<PartyRow | undefined> {
  return (await partyById(tx, { id })).rows[0]
}

const partyById = prepared((db, by: { id: string }) => db.selectFrom('parties').selectAll().where('id', '=', by.id))

export function findParties(tx: Transaction, ids: readonly string[]): Promise<PartyRow[]> {
  return tx.db.selectFrom('parties').selectAll().where('id', 'in', ids).execute()
}

/**
 * Finds the party with the given email address (in lower case) or phone number (E.164). If several parties match, finds
 * the oldest.
 */
export async function findPartyByAddress(
  tx: Transaction,
  type: 'email' | 'phone',
  value: string,
): Promise<PartyRow | undefined> {
  return (await (type === 'email' ? partyByEmail(tx, { value }) : partyByPhone(tx, { value }))).rows[0]
}

const partyByEmail = prepared((db, by: { value: string }) =>
  db
    .selectFrom('parties')
    .selectAll()
    .where((row) => row.eb(row.fn<string>('lower', ['email']), '=', by.value))
    .orderBy('id')
    .limit(1),
)

const partyByPhone = prepared((db, by: { value: string }) =>
  db.selectFrom('parties').selectAll().where('phone', '=', by.value).orderBy('id').limit(1),
)

/** Finds the parties that have one of these email addresses (in lower case), phone numbers or ids. */
export function findPartiesOfRecipients(tx: Transaction, recipients: readonly string[]): Promise<PartyRow[]> {
  const parties = tx.db.selectFrom('parties').selectAll()
  return parties
    .where((row) =>
      row.or([
        row(row.fn<string>('lower', ['email']), 'in', recipients),
        row('phone', 'in', recipients),
        row('id', 'in', recipients),
      ]),
    )
    .orderBy('id')
    .execute()
}

/** Finds the party with the given handle (without the `@`). */
export const findPartyByHandle = finderOf('parties', 'handle')

/** Returns whether a party other than `partyId` has one of these handles. */
export async function areHandlesTaken(tx: Transaction, handles: readonly string[], partyId: string): Promise<boolean> {
  const parties = tx.db.selectFrom('parties').select('handle').where('handle', 'in', handles)
  return (await parties.where('id', '!=', partyId).limit(1).execute()).length > 0
}

/** Finds a recipient's party. Returns undefined if the recipient has no party yet. */
export async function partyOfRecipient(tx: Transaction, { type, value }: Recipient): Promise<PartyRow | undefined> {
  return type === 'party_id' ? findParty(tx, value) : findPartyByAddress(tx, type, value)
}

/** The defaults of a new party. */
const newParty = {
  handle: null,
  phone: null,
  limits: null,
  status: 'ACTIVE',
  profile: '{}',
  createdBy: null,
  updatedAtMs: null,
  limitsUpdatedAtMs: null,
} as const satisfies Partial<PartyRow>

export type NewParty = New<PartyRow, keyof typeof newParty> & { walletId?: string | undefined }

/** Creates a party, and a default wallet with the given opening balance. Returns the wallet. */
export async function createParty(
  tx: Transaction,
  system: System,
  { walletId, ...party }: NewParty,
  fundsCents: number,
): Promise<WalletRow> {
  const { id: partyId, createdAtMs } = party
  await insertParty(tx, party)
  const base = { id: newId('wal', system, createdAtMs), partyId, displayName: 'Main wallet', createdAtMs }
  const wallet: WalletRow = { ...newWallet, ...base, isDefault: 1 }
  await insertWallet(tx, wallet)
  if (fundsCents > 0) {
    await post(tx, system, wallet, funded(wallet.id, fundsCents), { nowMs: createdAtMs, sourceId: null })
  }
  return wallet
}

type Change = Partial<
  Pick<
    PartyRow,
    'displayName' | 'handle' | 'limits' | 'limitsUpdatedAtMs' | 'status' | 'issuedCardsEnabled' | 'profile'
  >
>

/** Updates a party, and writes a `party.updated` event. */
export async function updateParty(tx: Transaction, before: PartyRow, change: Change, atMs: number): Promise<PartyRow> {
  await tx.db
    .updateTable('parties')
    .set({ ...change, updatedAtMs: atMs })
    .where('id', '=', before.id)
    .execute()
  const after = { ...before, ...change, updatedAtMs: atMs }
  recordPartyUpdate(tx, after, atMs)
  return after
}

/** Writes a `party.updated` event after a change to a party or its members. */
export function recordPartyUpdate(tx: Transaction, party: PartyRow, atMs: number): void {
  recordEvents(tx, { ...party, partyId: party.id, agentId: null }, ['party.updated'], atMs)
}

/** Adds a party without a wallet. Makes it the payer of open payment requests to its email address or phone number. */
export async function insertParty(tx: Transaction, party: NewParty): Promise<void> {
  const row = { ...newParty, ...party }
  await tx.db.insertInto('parties').values(row).execute()
  await assignToNewParty(tx, row, row.createdAtMs)
}

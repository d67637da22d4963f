import type { Kysely } from 'kysely'
import { balanceChange, type Posting } from '../rules/ledger.ts'
import { finderOf } from './engine/find.ts'
import { preparedInsert } from './engine/insert.ts'
import { joinedRows, rowIn } from './engine/joined-rows.ts'
import { type PageOf, type PageRequest, readPage } from './engine/page.ts'
import { changingOne, prepared } from './engine/prepared.ts'
import { mustChangeOne, type Transaction } from './engine/store.ts'
import { recordEvents } from './events.ts'
import type { AgentRow } from './schema/agents.ts'
import type { PartyRow } from './schema/parties.ts'
import type { Tables } from './schema/tables.ts'
import type { WalletRow } from './schema/wallets.ts'
import { type Holder, type ListScope, permittedWallets } from './wallet-permissions.ts'

export const findWallet = finderOf('wallets', 'partyId', 'id')

export async function listWallets(tx: Transaction, partyId: string, page: PageRequest): Promise<PageOf<WalletRow>> {
  const query = tx.db.selectFrom('wallets').selectAll().where('partyId', '=', partyId)
  return readPage(query, page)
}

/** Returns the display names of a party's wallets with the given ids, keyed by wallet id. */
export async function namesOfWallets(
  tx: Transaction,
  partyId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map()
  const wallets = tx.db.selectFrom('wallets').select(['id', 'displayName']).where('partyId', '=', partyId)
  const rows = await wallets.where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, displayName }) => [id, displayName ?? '']))
}

/** Returns the ids of the wallets that a list covers. */
export async function walletsInScope(tx: Transaction, scope: ListScope): Promise<string[]> {
  return (
    (await permittedWallets(tx, scope)) ?? (await idsOfParty(tx, { partyId: scope.partyId })).rows.map(({ id }) => id)
  )
}

const idsOfParty = prepared((db, by: { partyId: string }) =>
  db.selectFrom('wallets').select('id').where('partyId', '=', by.partyId),
)

/** Finds the wallet that a party itself pays from by default. */
export async function defaultWallet(tx: Transaction, partyId: string): Promise<WalletRow | undefined> {
  return (await defaultOfParty(tx, { partyId })).rows[0]
}

const defaultOfParty = prepared((db, by: { partyId: string }) =>
  db.selectFrom('wallets').selectAll().where('partyId', '=', by.partyId).where('isDefault', '=', 1),
)

/**
 * The agent that pays, the wallet that the agent pays from, and the party that owns both. Each is undefined if not
 * found.
 */
export interface PayingWallet {
  party: PartyRow | undefined
  wallet: WalletRow | undefined
  agent: AgentRow | undefined
  /** Whether the agent has the required permission on the wallet. */
  hasPermission: boolean
}

/**
 * Finds the default wallet of an agent. A single SQL statement reads the wallet and everything that decides whether the
 * agent may pay from this wallet.
 */
export async function findPayingWallet(tx: Transaction, partyId: string, holder: Holder): Promise<PayingWallet> {
  const [found] = (await payingWallet(tx, { partyId, ...holder })).rows
  if (found === undefined) return { party: undefined, wallet: undefined, agent: undefined, hasPermission: false }
  const [party, wallet, agent] = [rowIn('parties', found), rowIn('wallets', found), rowIn('agents', found)]
  return { party, wallet, agent, hasPermission: found.held !== null }
}

const payingWallet = prepared((db, by: Holder & { partyId: string }) =>
  db
    .selectFrom('parties')
    .leftJoin('agents', (join) => join.onRef('agents.partyId', '=', 'parties.id').on('agents.id', '=', by.agentId))
    .leftJoin('walletAgents', (join) =>
      join
        .onRef('walletAgents.partyId', '=', 'parties.id')
        .on('walletAgents.agentId', '=', by.agentId)
        .on('walletAgents.isDefault', '=', 1),
    )
    .leftJoin('wallets', (join) =>
      join.onRef('wallets.partyId', '=', 'parties.id').onRef('wallets.id', '=', 'walletAgents.walletId'),
    )
    .leftJoin('walletPermissions', (join) =>
      join
        .onRef('walletPermissions.partyId', '=', 'parties.id')
        .onRef('walletPermissions.walletId', '=', 'walletAgents.walletId')
        .on('walletPermissions.agentId', '=', by.agentId)
        .on('walletPermissions.permission', '=', by.permission),
    )
    .select([...joinedRows('parties'), ...joinedRows('wallets'), ...joinedRows('agents')])
    .select('walletPermissions.permission as held')
    .where('parties.id', '=', by.partyId),
)

/** Finds an agent's default wallet, which the agent pays from. The wallet belongs to the agent's own party. */
export async function agentDefaultWallet(
  tx: Transaction,
  partyId: string,
  agentId: string,
): Promise<WalletRow | undefined> {
  return (await defaultOfAgent(tx, { partyId, agentId })).rows[0]
}

const defaultOfAgent = prepared((db, by: { partyId: string; agentId: string }) =>
  db
    .selectFrom('wallets')
    .innerJoin('walletAgents', (join) =>
      join.onRef('walletAgents.partyId', '=', 'wallets.partyId').onRef('walletAgents.walletId', '=', 'wallets.id'),
    )
    .selectAll('wallets')
    .where('wallets.partyId', '=', by.partyId)
    .where('walletAgents.agentId', '=', by.agentId)
    .where('walletAgents.isDefault', '=', 1),
)

export async function insertWallet(tx: Transaction, row: WalletRow): Promise<void> {
  await insert(tx, row)
  recordEvents(tx, { ...row, agentId: null }, ['wallet.created'], row.createdAtMs)
}

const insert = preparedInsert('wallets')

type WalletChange = Partial<Pick<WalletRow, 'status' | 'isDefault' | 'displayName' | 'description' | 'tags'>>

/** Updates a wallet, except its balances. @throws StaleWriteError if the wallet has changed since it was read. */
export async function updateWallet(tx: Transaction, before: WalletRow, change: WalletChange): Promise<WalletRow> {
  const { partyId, id, version } = before
  const after = { ...change, version: version + 1 }
  const wallet = tx.db.updateTable('wallets').set(after).where('partyId', '=', partyId).where('id', '=', id)
  const update = wallet.where('version', '=', version)
  const result = await update.executeTakeFirstOrThrow()
  mustChangeOne(result, `wallet ${id}`)
  return { ...before, ...after }
}

/**
 * Applies postings to a wallet's balances. The database itself adds the changes to the current balances. Concurrent
 * payments therefore cannot overwrite each other's changes, or together spend more than the wallet has. The available
 * balance becomes negative only if a bank takes back a deposit. The wallet can then only receive money until this
 * balance is positive again.
 * @throws StaleWriteError if the wallet no longer has enough money, or if the wallet's status has changed since
 * `wallet` was read.
 */
export async function moveBalances(tx: Transaction, wallet: WalletRow, postings: readonly Posting[]): Promise<void> {
  let [availableCents, heldCents, returnedCents] = [0, 0, 0]
  for (const posting of postings) {
    const change = balanceChange(posting, wallet.id)
    availableCents += change.availableCents
    heldCents += change.heldCents
    if (posting.reason === 'deposit_returned') returnedCents -= change.availableCents
  }
  const { id, partyId, status } = wallet
  const move = { id, partyId, status, availableCents, heldCents }
  if (returnedCents > 0) await takeBack(tx, { ...move, returnedCents })
  else await (availableCents < 0 ? takeOut : putIn)(tx, move)
}

type Move = Pick<WalletRow, 'id' | 'partyId' | 'status' | 'availableCents' | 'heldCents'>

const takeOut = changingOne(
  (db, move: Move) =>
    addToBalances(db, move).where((wallet) => wallet(wallet('availableCents', '+', move.availableCents), '>=', 0)),
  ({ id }) => `wallet ${id}`,
)

const putIn = changingOne(
  (db, move: Move) => addToBalances(db, move),
  ({ id }) => `wallet ${id}`,
)

const takeBack = changingOne(
  (db, move: Move & Pick<WalletRow, 'returnedCents'>) =>
    addToBalances(db, move).set((wallet) => ({ returnedCents: wallet('returnedCents', '+', move.returnedCents) })),
  ({ id }) => `wallet ${id}`,
)

function addToBalances(db: Kysely<Tables>, move: Move) {
  return db
    .updateTable('wallets')
    .set((wallet) => ({
      availableCents: wallet('availableCents', '+', move.availableCents),
      heldCents: wallet('heldCents', '+', move.heldCents),
    }))
    .where('id', '=', move.id)
    .where('partyId', '=', move.partyId)
    .where('status', '=', move.status)
    .where((wallet) => wallet(wallet('heldCents', '+', move.heldCents), '>=', 0))
}

/** The defaults of a new wallet. */
export const newWallet = {
  description: null,
  status: 'active',
  walletType: 'standard',
  isDefault: 0,
  tags: '{}',
  availableCents: 0,
  heldCents: 0,
  returnedCents: 0,
  currency: 'USD',
  version: 1,
} as const

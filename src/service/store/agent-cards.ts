import { type Kysely, type SelectQueryBuilder, sql } from 'kysely'
import { inBatches } from './engine/batches.ts'
import { combinations, createIndexWalk } from './engine/index-walk.ts'
import { preparedInsert } from './engine/insert.ts'
import { joinedRows, rowIn } from './engine/joined-rows.ts'
import type { PageOf, PageRequest } from './engine/page.ts'
import { changingOne, prepared } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import { recordEvents } from './events.ts'
import type { AgentCardRow } from './schema/agent-cards.ts'
import type { AgentRow } from './schema/agents.ts'
import type { Tables } from './schema/tables.ts'
import type { WalletRow } from './schema/wallets.ts'
import type { Holder, ListScope } from './wallet-permissions.ts'
import { walletsInScope } from './wallets.ts'

/** The cards on a party's wallets: all of them, or only those that were issued to one agent if `agentId` is set. */
export interface CardScope {
  partyId: string
  agentId: string | null
}

export async function findAgentCard(tx: Transaction, scope: CardScope, id: string): Promise<AgentCardRow | undefined> {
  const { rows } = await cardById(tx, { id, partyId: scope.partyId })
  return rows.find((row) => scope.agentId === null || row.agentId === scope.agentId)
}

/** A card, the wallet that the card pays from, and the agent that the card was issued to. */
export interface PayableCard {
  card: AgentCardRow
  wallet: WalletRow
  agent: AgentRow | undefined
  /** Whether the calling agent has the required permission on the wallet. */
  hasPermission: boolean
}

/** Finds a card in the scope, with everything that decides whether the card may be used. Runs only one statement. */
export async function findPayableCard(
  tx: Transaction,
  scope: CardScope,
  id: string,
  holder: Holder | null,
): Promise<PayableCard | undefined> {
  const by = { id, partyId: scope.partyId, agentId: holder?.agentId ?? '', permission: holder?.permission ?? '' }
  const [found] = (await payableCard(tx, by)).rows
  if (found === undefined) return undefined
  const [card, wallet] = [rowIn('agentCards', found), rowIn('wallets', found)]
  if (card === undefined || (scope.agentId !== null && card.agentId !== scope.agentId)) return undefined
  if (wallet === undefined) throw new Error(`Bug: the wallet ${card.walletId} of a card is gone.`)
  return { card, wallet, agent: rowIn('agents', found), hasPermission: found.held !== null }
}

const payableCard = prepared((db, by: { id: string; partyId: string; agentId: string; permission: string }) =>
  db
    .selectFrom('agentCards')
    .leftJoin('wallets', (join) =>
      join.onRef('wallets.partyId', '=', 'agentCards.partyId').onRef('wallets.id', '=', 'agentCards.walletId'),
    )
    .leftJoin('agents', 'agents.id', 'agentCards.agentId')
    .leftJoin('walletPermissions', (join) =>
      join
        .onRef('walletPermissions.partyId', '=', 'agentCards.partyId')
        .onRef('walletPermissions.walletId', '=', 'agentCards.walletId')
        .on('walletPermissions.agentId', '=', by.agentId)
        .on('walletPermissions.permission', '=', by.permission),
    )
    .select([...joinedRows('agentCards'), ...joinedRows('wallets'), ...joinedRows('agents')])
    .select('walletPermissions.permission as held')
    .where('agentCards.id', '=', by.id)
    .where('agentCards.partyId', '=', by.partyId),
)

const cardById = prepared((db, by: { id: string; partyId: string }) =>
  db.selectFrom('agentCards').selectAll().where('id', '=', by.id).where('partyId', '=', by.partyId),
)

export async function listAgentCards(
  tx: Transaction,
  scope: ListScope,
  page: PageRequest,
): Promise<PageOf<AgentCardRow>> {
  const { partyId, agentId } = scope
  if (agentId === null) return walk(tx, [{ partyId }], page, partyId)
  return walk(tx, combinations({ agentId: [agentId], walletId: await walletsInScope(tx, scope) }), page, partyId)
}

const walk = createIndexWalk('agentCards', (db) => db.selectFrom('agentCards').selectAll())

export async function insertAgentCard(tx: Transaction, row: AgentCardRow): Promise<void> {
  await insert(tx, row)
  recordEvents(tx, row, ['agent_card.created'], row.createdAtMs)
}

const insert = preparedInsert('agentCards')

/**
 * Expires the unused cards of an agent that loses its right to pay. If `wallet` is set, only cards on this wallet
 * expire. If the query `partyIds` is set, only cards on the wallets of the selected parties expire. Used cards stay
 * unchanged, because their merchants were promised the money.
 */
export async function expireUnusedCards(
  tx: Transaction,
  cards: {
    agentId: string
    wallet?: { id: string; partyId: string }
    partyIds?: SelectQueryBuilder<Tables, 'delegations', { customerPartyId: string }>
  },
  nowMs: number,
): Promise<void> {
  let query = tx.db
    .updateTable('agentCards')
    .set((row) => ({ expiresAtMs: nowMs, updatedAtMs: nowMs, version: row('version', '+', 1) }))
    .where('agentId', '=', cards.agentId)
    .where('expiresAtMs', '>', nowMs)
    .where('usedAtMs', 'is', null)
  if (cards.wallet !== undefined)
    query = query.where('partyId', '=', cards.wallet.partyId).where('walletId', '=', cards.wallet.id)
  if (cards.partyIds !== undefined) query = query.where('partyId', 'in', cards.partyIds)
  const ended = await query.returningAll().execute()
  for (const card of ended) recordEvents(tx, card, ['agent_card.expired'], nowMs)
}

/**
 * Expires the unused cards on a party's wallets, and the unused cards of the party's agents on other parties' wallets.
 * The query `agentIds` selects these agents.
 */
export async function expireUnusedCardsOfParty(
  tx: Transaction,
  { partyId, agentIds }: { partyId: string; agentIds: SelectQueryBuilder<Tables, 'agents', { id: string }> },
  nowMs: number,
): Promise<void> {
  const ended = await tx.db
    .updateTable('agentCards')
    .set((row) => ({ expiresAtMs: nowMs, updatedAtMs: nowMs, version: row('version', '+', 1) }))
    .where((row) => row.or([row('partyId', '=', partyId), row('agentId', 'in', agentIds)]))
    .where('expiresAtMs', '>', nowMs)
    .where('usedAtMs', 'is', null)
    .returningAll()
    .execute()
  for (const card of ended) recordEvents(tx, card, ['agent_card.expired'], nowMs)
}

/**
 * Marks a card as used when a purchase is approved. A card allows only one purchase.
 * @throws StaleWriteError if the card has changed since it was read.
 */
export async function markAgentCardUsed(tx: Transaction, card: AgentCardRow, nowMs: number): Promise<void> {
  const { id, partyId, version } = card
  await markUsed(tx, { id, partyId, version, nowMs, nextVersion: version + 1 })
  recordEvents(tx, { ...card, usedAtMs: nowMs, updatedAtMs: nowMs }, ['agent_card.used'], nowMs)
}

type CardVersion = Pick<AgentCardRow, 'id' | 'partyId' | 'version'> & { nextVersion: number }

const markUsed = changingOne(
  (db, card: CardVersion & { nowMs: number }) =>
    db
      .updateTable('agentCards')
      .set({ usedAtMs: card.nowMs, updatedAtMs: card.nowMs, version: card.nextVersion })
      .where('id', '=', card.id)
      .where('partyId', '=', card.partyId)
      .where('version', '=', card.version),
  ({ id }) => `card ${id}`,
)

/** Saves that a card was frozen or unfrozen. */
export async function saveAgentCardFreeze(
  tx: Transaction,
  { id, partyId, version }: AgentCardRow,
  after: AgentCardRow,
): Promise<AgentCardRow> {
  const { frozenAtMs, updatedAtMs } = after
  await saveFreeze(tx, { id, partyId, version, nextVersion: version + 1, frozenAtMs, updatedAtMs })
  const type = frozenAtMs === null ? 'agent_card.unfrozen' : 'agent_card.frozen'
  recordEvents(tx, after, [type], updatedAtMs)
  return { ...after, version: version + 1 }
}

const saveFreeze = changingOne(
  (db, card: CardVersion & Pick<AgentCardRow, 'frozenAtMs' | 'updatedAtMs'>) =>
    db
      .updateTable('agentCards')
      .set({ frozenAtMs: card.frozenAtMs, updatedAtMs: card.updatedAtMs, version: card.nextVersion })
      .where('id', '=', card.id)
      .where('partyId', '=', card.partyId)
      .where('version', '=', card.version),
  ({ id }) => `card ${id}`,
)

/**
 * Creates a subquery for filtering the table of `column`. The subquery selects the card that `column` refers to, but
 * only if the card was issued to the agent.
 */
export function cardIssuedTo(db: Kysely<Tables>, agentId: string, column: 'cardTransactions.cardId') {
  return db
    .selectFrom('agentCards')
    .select('agentCards.id')
    .where('agentCards.partyId', '=', sql.ref<string>('cardTransactions.partyId'))
    .where('agentCards.id', '=', sql.ref<string>(column))
    .where('agentCards.agentId', '=', agentId)
}

/** The cards that a merchant may charge: all cards on a party's wallets, or only those of one agent. */
interface Chargeable {
  partyId: string
  agentId: string | null
  nowMs: number
}

/**
 * Finds the card that a merchant charges: the newest unused and unexpired card for the merchant's name. If there is
 * none, finds the newest used or expired card for that name.
 */
export async function cardAtMerchant(
  tx: Transaction,
  { agentId, ...by }: Chargeable & { merchantName: string },
): Promise<AgentCardRow | undefined> {
  const [row] = (await (agentId === null ? atMerchant(tx, by) : atMerchantOfAgent(tx, { ...by, agentId }))).rows
  return row
}

type AtMerchant = Omit<Chargeable, 'agentId'> & { merchantName: string }

const atMerchant = prepared((db, by: AtMerchant) => newestAt(db, by))
const atMerchantOfAgent = prepared((db, by: AtMerchant & { agentId: string }) =>
  newestAt(db, by).where('agentId', '=', by.agentId),
)

function newestAt(db: Kysely<Tables>, by: AtMerchant) {
  return db
    .selectFrom('agentCards')
    .selectAll()
    .where('partyId', '=', by.partyId)
    .where(sql`trim(${sql.ref('merchantName')})`, '=', by.merchantName)
    .orderBy(
      sql`case when ${sql.ref('usedAtMs')} is null and ${sql.ref('expiresAtMs')} > ${by.nowMs} then 0 else 1 end`,
    )
    .orderBy('id', 'desc')
    .limit(1)
}

/** Returns whether any of the chargeable cards is unused and unexpired. */
export async function hasUsableCard(tx: Transaction, { agentId, ...by }: Chargeable): Promise<boolean> {
  return (await (agentId === null ? usable(tx, by) : usableOfAgent(tx, { ...by, agentId }))).rows.length > 0
}

const usable = prepared((db, by: Omit<Chargeable, 'agentId'>) => anyUsable(db, by))
const usableOfAgent = prepared((db, by: Omit<Chargeable, 'agentId'> & { agentId: string }) =>
  anyUsable(db, by).where('agentId', '=', by.agentId),
)

function anyUsable(db: Kysely<Tables>, by: Omit<Chargeable, 'agentId'>) {
  return db
    .selectFrom('agentCards')
    .select('id')
    .where('partyId', '=', by.partyId)
    .where('usedAtMs', 'is', null)
    .where('expiresAtMs', '>', by.nowMs)
    .limit(1)
}

export function cardsById(tx: Transaction, partyId: string, ids: readonly string[]): Promise<AgentCardRow[]> {
  return inBatches(ids, (batch) =>
    tx.db.selectFrom('agentCards').selectAll().where('partyId', '=', partyId).where('id', 'in', batch).execute(),
  )
}

import { type Kysely, sql } from 'kysely'
import { nextTurn } from '../../../core/system.ts'
import { activityKeys, holderKey } from './list-keys.ts'
import type { Tables } from './tables.ts'

const batch = 500

/** Gives what lists are read by to the rows there are, a few at a time: ten million take minutes, once. */
export async function fillLists(older: Kysely<unknown>): Promise<void> {
  const db = older as Kysely<Tables>
  await fillHolders(db)
  await fillActivityKeys(db)
  const deleted = db.selectFrom('agents').select('id').where('status', '=', 'REVOKED')
  for (const table of ['walletAgents', 'walletPermissions'] as const) {
    await db.deleteFrom(table).where('agentId', 'in', deleted).execute()
  }
}

async function fillHolders(db: Kysely<Tables>): Promise<void> {
  for (let after = ''; ; ) {
    const rows = await db
      .selectFrom('cardTransactions')
      .innerJoin('agentCards', 'agentCards.id', 'cardTransactions.cardId')
      .select(['cardTransactions.id', 'agentCards.agentId', 'agentCards.walletId'])
      .where('cardTransactions.id', '>', after)
      .orderBy('cardTransactions.id')
      .limit(batch)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return
    for (const { id, agentId, walletId } of rows) {
      const holder = holderKey(agentId, walletId)
      await db.updateTable('cardTransactions').set({ holder }).where('id', '=', id).execute()
    }
    after = last.id
    await nextTurn()
  }
}

async function fillActivityKeys(db: Kysely<Tables>): Promise<void> {
  let after = { partyId: '', sequence: 0 }
  for (;;) {
    const rows = await db
      .selectFrom('activity')
      .select(['partyId', 'sequence', 'agentId', 'instanceId', 'resourceIds'])
      .where(sql<boolean>`(${sql.ref('partyId')}, ${sql.ref('sequence')}) > (${after.partyId}, ${after.sequence})`)
      .orderBy('partyId')
      .orderBy('sequence')
      .limit(batch)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return
    for (const row of rows) {
      const keys = activityKeys(row).map((key) => ({ key, sequence: row.sequence }))
      if (keys.length > 0) await db.insertInto('activityKeys').values(keys).execute()
    }
    after = last
    await nextTurn()
  }
}

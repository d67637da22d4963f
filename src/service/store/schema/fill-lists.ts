import { type Kysely, sql } from 'kysely'
import { nextTurn } from '../../../core/system.ts'
import type { Tables } from './tables.ts'

const batch = 500

/** Fills what lists are read by for the rows there are, in batches: ten million rows take minutes, once. */
export async function fillActivityLists(older: Kysely<unknown>): Promise<void> {
  await older.schema.dropTable('activityKeys').ifExists().execute()
  const db = older as Kysely<Tables>
  await fillCardAgents(db)
  await fillActivityResources(db)
}

async function fillCardAgents(db: Kysely<Tables>): Promise<void> {
  for (let after = ''; ; await nextTurn()) {
    const rows = db.selectFrom('cardTransactions').select('id').where('id', '>', after).orderBy('id').limit(batch)
    const next = (
      await db
        .selectFrom(rows.as('page'))
        .select((row) => row.fn.max('id').as('id'))
        .execute()
    )[0]?.id
    if (!next) return
    const card = sql<string>`(select c."agentId" from "agentCards" c
      where c."partyId" = "cardTransactions"."partyId" and c."id" = "cardTransactions"."cardId")`
    await db
      .updateTable('cardTransactions')
      .set({ cardAgentId: sql<string>`coalesce(${card}, '')` })
      .where('id', '>', after)
      .where('id', '<=', next)
      .execute()
    after = next
  }
}

async function fillActivityResources(db: Kysely<Tables>): Promise<void> {
  for (let after = { partyId: '', sequence: 0 }; ; await nextTurn()) {
    const rows = await db
      .selectFrom('activity')
      .select(['partyId', 'sequence', 'resourceIds'])
      .where(sql<boolean>`(${sql.ref('partyId')}, ${sql.ref('sequence')}) > (${after.partyId}, ${after.sequence})`)
      .orderBy('partyId')
      .orderBy('sequence')
      .limit(batch)
      .execute()
    const last = rows.at(-1)
    if (last === undefined) return
    for (const { partyId, sequence, resourceIds } of rows) {
      const ids = [...new Set(JSON.parse(resourceIds) as string[])]
      const named = ids.map((resourceId) => ({ partyId, resourceId, sequence }))
      if (named.length > 0) await db.insertInto('activityResources').values(named).execute()
    }
    after = last
  }
}

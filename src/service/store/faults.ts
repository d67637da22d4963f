import { sql } from 'kysely'
import type { FaultRule } from '../../../tools/sandbox-faults.ts'
import type { CountedRule } from '../rules/faults.ts'
import type { Transaction } from './engine/store.ts'
import type { FaultRow } from './schema/faults.ts'

/** Beyond it a request would be held against too many. */
export const mostRules = 100
/** The rules of a file come before those that were set. */
const firstSetPlace = 1_000

/** A rule as it is stored, its JSON read. */
export interface StoredRule extends CountedRule, Pick<FaultRow, 'origin'> {
  rule: FaultRule
}

/** Keeps everybody else from the rules and their counts until the transaction ends. */
export function lockFaults(tx: Transaction): Promise<void> {
  return tx.lock('faults')
}

/** All rules in the order in which they are asked. */
export async function allFaults(tx: Transaction): Promise<StoredRule[]> {
  const rows = await tx.db.selectFrom('faults').selectAll().orderBy('place').execute()
  return rows.map(({ rule, place: _, ...row }) => ({ ...row, rule: JSON.parse(rule) as FaultRule }))
}

/** Sets a rule, last in the order or in the place of the one of that name, from whichever origin; its counts begin at zero. */
export async function putFault(tx: Transaction, id: string, rule: FaultRule, partyId: string): Promise<void> {
  const places = tx.db.selectFrom('faults').select(({ fn }) => fn.max('place').as('last'))
  const last = (await places.executeTakeFirst())?.last ?? 0
  const row = { rule: JSON.stringify(rule), partyId, origin: 'operation', matched: 0, hits: 0 } as const
  await tx.db
    .insertInto('faults')
    .values({ id, place: Math.max(firstSetPlace, last + 1), ...row })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(row))
    .execute()
  await countFaults(tx)
}

/** Puts the rules of a file in the place of those of an earlier one, and of those of the same names. */
export async function replaceFileFaults(
  tx: Transaction,
  rules: readonly (FaultRule & { id: string })[],
): Promise<void> {
  const ids = rules.map(({ id }) => id)
  await tx.db
    .deleteFrom('faults')
    .where((row) => row.or([row('origin', '=', 'file'), ...(ids.length > 0 ? [row('id', 'in', ids)] : [])]))
    .execute()
  for (const [place, rule] of rules.entries()) {
    const row = { id: rule.id, place, origin: 'file', rule: JSON.stringify(rule), partyId: null } as const
    await tx.db
      .insertInto('faults')
      .values({ ...row, matched: 0, hits: 0 })
      .execute()
  }
  await countFaults(tx)
}

/** Removes one rule, or all of them. */
export async function deleteFaults(tx: Transaction, id?: string): Promise<void> {
  const all = tx.db.deleteFrom('faults')
  await (id === undefined ? all : all.where('id', '=', id)).execute()
  await countFaults(tx)
}

/** Goes back to what the start gave: the rules of a file with their counts at zero, and none that was set since. */
export async function resetFaults(tx: Transaction): Promise<void> {
  await tx.db.deleteFrom('faults').where('origin', '=', 'operation').execute()
  await tx.db.updateTable('faults').set({ matched: 0, hits: 0 }).execute()
  await tx.db.deleteFrom('earlierStates').execute()
  await countFaults(tx)
}

/** Counts a request at each rule that it fits, and the hit at the one that it hits. */
export async function countRequest(
  tx: Transaction,
  matched: readonly string[],
  hit: string | undefined,
): Promise<void> {
  if (matched.length === 0) return
  await tx.db
    .updateTable('faults')
    .set((row) => ({
      matched: row('matched', '+', 1),
      hits: sql<number>`${row.ref('hits')} + case when ${row.ref('id')} = ${hit ?? ''} then 1 else 0 end`,
    }))
    .where('id', 'in', matched)
    .execute()
}

/** Tells every request, with the time, whether there are rules to ask; where none is stale, nothing earlier is kept. */
async function countFaults(tx: Transaction): Promise<void> {
  const rules = await allFaults(tx)
  const staleRules = rules.filter(({ rule }) => rule.fault === 'stale').length
  await tx.db.updateTable('clock').set({ faultRules: rules.length, staleRules }).execute()
  if (staleRules === 0) await tx.db.deleteFrom('earlierStates').execute()
}

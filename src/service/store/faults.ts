import { sql } from 'kysely'
import type { FaultRule } from '../../../tools/sandbox-faults.ts'
import type { CountedRule } from '../rules/faults.ts'
import { raiseSettingsRevision, setFaultCounts } from './clock.ts'
import { dropEarlierStates } from './earlier-states.ts'
import { prepared, preparedWrite } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { FaultRow } from './schema/faults.ts'

/** The maximum number of rules. Each request is compared with every rule, so more rules would make requests slow. */
export const maxRules = 100
/** The `place` of the first rule that an operation sets. Rules from a file have lower places, so they apply first. */
const firstSetPlace = 1_000

/** A stored rule with its JSON parsed. */
export interface StoredRule extends CountedRule, Pick<FaultRow, 'origin' | 'place'> {}

/** Locks the rules and their counts until the transaction ends. Returns the rules in the order in which they apply. */
export async function lockFaults(tx: Transaction): Promise<StoredRule[]> {
  await tx.lock('faults')
  return allFaults(tx)
}

/** The query for all rules. While at least one rule exists, nearly every request runs this query. */
const selectAll = prepared((db) => db.selectFrom('faults').selectAll().orderBy('place'))

/** Returns all rules in the order in which they apply. */
export async function allFaults(tx: Transaction): Promise<StoredRule[]> {
  const { rows } = await selectAll(tx, {})
  return rows.map(({ rule, ...row }) => ({ ...row, rule: JSON.parse(rule) as FaultRule }))
}

/**
 * Sets a rule. If a rule with the same id exists, the new rule takes its place. If not, the new rule becomes the last
 * one. The counts of the new rule start at zero.
 * @param rules The current rules, from `lockFaults`.
 */
export async function putFault(
  tx: Transaction,
  rules: readonly StoredRule[],
  rule: FaultRule & { id: string },
  partyId: string,
): Promise<void> {
  const { id } = rule
  const last = Math.max(firstSetPlace - 1, ...rules.map(({ place }) => place))
  const place = rules.find((one) => one.id === id)?.place ?? last + 1
  const added: StoredRule = { id, place, origin: 'operation', rule, partyId, matched: 0, hits: 0 }
  await change(tx, { before: rules, removed: [id], added: [added] })
}

/** Stores the rules of a file. They replace all rules of an earlier file, and any rules that have the same ids. */
export async function replaceFileFaults(
  tx: Transaction,
  rules: readonly StoredRule[],
  newRules: readonly (FaultRule & { id: string })[],
): Promise<void> {
  const added = newRules.map((rule, place): StoredRule => {
    return { id: rule.id, place, origin: 'file', rule, partyId: null, matched: 0, hits: 0 }
  })
  const fromFile = rules.filter(({ origin }) => origin === 'file').map(({ id }) => id)
  await change(tx, { before: rules, removed: [...fromFile, ...added.map(({ id }) => id)], added })
}

/** Removes rules by their ids. */
export async function deleteFaults(
  tx: Transaction,
  rules: readonly StoredRule[],
  removed: readonly string[],
): Promise<void> {
  await change(tx, { before: rules, removed, added: [] })
}

/**
 * Sets the counts of the file's rules to zero, and removes the rules that operations set. Also deletes all earlier rows
 * (`earlierStates`), which are stored for `stale` rules.
 */
export async function resetFaults(tx: Transaction): Promise<void> {
  const rules = await lockFaults(tx)
  const added = rules
    .filter(({ origin }) => origin === 'file')
    .map((rule): StoredRule => ({ ...rule, matched: 0, hits: 0 }))
  await change(tx, { before: rules, removed: rules.map(({ id }) => id), added })
  await dropEarlierStates(tx)
}

interface Change {
  before: readonly StoredRule[]
  removed: readonly string[]
  added: readonly StoredRule[]
}

/**
 * Changes the rules. Stores in the clock's row how many rules there are now, and how many of them are `stale` rules. If
 * the change removes all `stale` rules, also deletes all earlier rows (`earlierStates`).
 */
async function change(tx: Transaction, { before, removed, added }: Change): Promise<void> {
  if (removed.length > 0) await tx.db.deleteFrom('faults').where('id', 'in', removed).execute()
  for (const { rule, ...row } of added) await insert(tx, { ...row, rule: JSON.stringify(rule) })
  const after = [...before.filter(({ id }) => !removed.includes(id)), ...added]
  const staleRules = after.filter(isStale).length
  await setFaultCounts(tx, { faultRules: after.length, staleRules })
  await raiseSettingsRevision(tx)
  if (staleRules === 0 && before.some(isStale)) await dropEarlierStates(tx)
}

function isStale({ rule }: StoredRule): boolean {
  return rule.fault === 'stale'
}

const insert = preparedWrite((db, row: FaultRow) => db.insertInto('faults').values(row))

/** Increments the request count of each matching rule, and the hit count of the rule that is applied, if any. */
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

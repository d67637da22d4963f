import { sql } from 'kysely'
import type { FaultRule } from '../../../tools/sandbox-faults.ts'
import type { CountedRule } from '../rules/faults.ts'
import { raiseSettingsRevision, setFaultCounts } from './clock.ts'
import { dropEarlierStates } from './earlier-states.ts'
import { prepared, writing } from './engine/prepared.ts'
import type { Transaction } from './engine/store.ts'
import type { FaultRow } from './schema/faults.ts'

/** The maximum number of rules. There is a limit because each request is compared with all rules. */
export const maxRules = 100
/** The place of the first rule that an operation sets. The rules of a file have lower places. */
const firstSetPlace = 1_000

/** A stored rule with its JSON parsed. */
export interface StoredRule extends CountedRule, Pick<FaultRow, 'origin' | 'place'> {}

/** Locks the rules and their counts until the transaction ends, and returns them in order. */
export async function lockFaults(tx: Transaction): Promise<StoredRule[]> {
  await tx.lock('faults')
  return allFaults(tx)
}

/** The query that each request runs while there are rules. */
const selectAll = prepared((db) => db.selectFrom('faults').selectAll().orderBy('place'))

/** Returns all rules in the order in which they are checked. */
export async function allFaults(tx: Transaction): Promise<StoredRule[]> {
  const { rows } = await selectAll(tx, {})
  return rows.map(({ rule, ...row }) => ({ ...row, rule: JSON.parse(rule) as FaultRule }))
}

/**
 * Sets a rule. It replaces the rule with the same name, or becomes the last rule. Its counts begin at zero.
 * @param rules The current rules, which the caller has locked.
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
  const put: StoredRule = { id, place, origin: 'operation', rule, partyId, matched: 0, hits: 0 }
  await change(tx, { before: rules, gone: [id], put: [put] })
}

/** Stores the rules of a file. They replace the rules of an earlier file, and all rules with the same names. */
export async function replaceFileFaults(
  tx: Transaction,
  rules: readonly StoredRule[],
  newRules: readonly (FaultRule & { id: string })[],
): Promise<void> {
  const put = newRules.map((rule, place): StoredRule => {
    return { id: rule.id, place, origin: 'file', rule, partyId: null, matched: 0, hits: 0 }
  })
  const ofFile = rules.filter(({ origin }) => origin === 'file').map(({ id }) => id)
  await change(tx, { before: rules, gone: [...ofFile, ...put.map(({ id }) => id)], put })
}

/** Removes rules by their names. */
export async function deleteFaults(
  tx: Transaction,
  rules: readonly StoredRule[],
  gone: readonly string[],
): Promise<void> {
  await change(tx, { before: rules, gone, put: [] })
}

/**
 * Restores the rules that the service started with: resets the counts of the file's rules, and removes the rules that
 * operations set.
 */
export async function resetFaults(tx: Transaction): Promise<void> {
  const rules = await lockFaults(tx)
  const put = rules
    .filter(({ origin }) => origin === 'file')
    .map((rule): StoredRule => ({ ...rule, matched: 0, hits: 0 }))
  await change(tx, { before: rules, gone: rules.map(({ id }) => id), put })
  await dropEarlierStates(tx)
}

interface Change {
  before: readonly StoredRule[]
  gone: readonly string[]
  put: readonly StoredRule[]
}

/**
 * Changes the rules and stores their number in the clock's row. If no `stale` rule remains, it deletes the earlier
 * states.
 */
async function change(tx: Transaction, { before, gone, put }: Change): Promise<void> {
  if (gone.length > 0) await tx.db.deleteFrom('faults').where('id', 'in', gone).execute()
  for (const { rule, ...row } of put) await insert(tx, { ...row, rule: JSON.stringify(rule) })
  const after = [...before.filter(({ id }) => !gone.includes(id)), ...put]
  const staleRules = after.filter(isStale).length
  await setFaultCounts(tx, { faultRules: after.length, staleRules })
  await raiseSettingsRevision(tx)
  if (staleRules === 0 && before.some(isStale)) await dropEarlierStates(tx)
}

function isStale({ rule }: StoredRule): boolean {
  return rule.fault === 'stale'
}

const insert = writing((db, row: FaultRow) => db.insertInto('faults').values(row))

/** Increments the request count of each matching rule, and the hit count of the rule that is applied. */
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

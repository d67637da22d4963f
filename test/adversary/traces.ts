import { readAllTables } from '../ledger/books.ts'
import type { World } from '../support/world.ts'

/**
 * Columns with the time when a key or an agent was last used. Every authenticated request sets these columns, even a
 * refused request.
 */
const lastUseColumns = ['lastUsedAtMs', 'lastActiveAtMs']

/**
 * Tables that record every request that passed the permission check, even if the request was refused later. Each row
 * belongs to the caller's own party (docs/service.md#idempotency-failures).
 */
const requestTables = /^(idempotencyRecords|activity\w*)$/

/** Tables that every authenticated call writes to. The service may write the rows after it has answered the call. */
const recordTables = ['rateLimits', 'runs', 'runEntries', 'runMinutes']

interface Row {
  table: string
  json: string
}

/** The traces of an attack: added and removed database rows as `table: row`, and log lines above the level info. */
export interface Traces {
  added: string[]
  removed: string[]
  alarms: string[]
}

export const noTraces: Traces = { added: [], removed: [], alarms: [] }

/**
 * Splits a row of `partyHeads` into one part for activity and one for events. The requests of an attacker may add
 * activity to the attacker's own party, but no events. Returns a row of any other table unchanged.
 */
function splitRow(table: string, row: Record<string, unknown>): [part: string, row: object][] {
  if (table !== 'partyHeads') return [[table, row]]
  const { partyId, eventSequence, ...activityColumns } = row
  return [
    ['activityHead', { partyId, ...activityColumns }],
    ['eventHead', { partyId, eventSequence }],
  ]
}

async function rowsOf({ store }: World): Promise<Map<string, Row>> {
  const rows = new Map<string, Row>()
  for (const [table, all] of await readAllTables(store)) {
    if (recordTables.includes(table)) continue
    for (const [part, row] of all.flatMap((row) => splitRow(table, row))) {
      const json = JSON.stringify(row, (name, value) => (lastUseColumns.includes(name) ? undefined : value))
      rows.set(`${part}: ${json}`, { table: part, json })
    }
  }
  return rows
}

/**
 * Returns the changes that `attack` made in the database, and the log lines above the level info that `attack` caused.
 * @param ownPartyId The party whose activity and idempotency records may change; `undefined` if nothing may change.
 */
export async function tracesOf(
  world: World,
  ownPartyId: string | undefined,
  attack: () => Promise<unknown>,
): Promise<Traces> {
  const before = await rowsOf(world)
  const alarmsBefore = world.alarms.length
  await attack()
  const after = await rowsOf(world)
  const isOwn = ({ table, json }: Row) =>
    ownPartyId !== undefined && requestTables.test(table) && json.includes(ownPartyId)
  const rowsOnlyIn = (to: Map<string, Row>, from: Map<string, Row>) =>
    [...to].filter(([key, row]) => !from.has(key) && !isOwn(row)).map(([key]) => key)
  return {
    added: rowsOnlyIn(after, before),
    removed: rowsOnlyIn(before, after),
    alarms: world.alarms.slice(alarmsBefore),
  }
}

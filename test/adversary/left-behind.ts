import { allTables } from '../ledger/books.ts'
import type { World } from '../support/world.ts'

/** Columns that every authenticated request sets, refused or not, when its key is used. */
const whoCalled = ['lastUsedAtMs', 'lastActiveAtMs']

/**
 * Tables that record every request that passed the permission check, even if it was then refused: under its key, and in
 * its own party's activity (docs/service.md#idempotency-failures).
 */
const writtenDown = /^(idempotencyRecords|activity\w*)$/

/**
 * Tables to which every authenticated call is written shortly afterwards. test/runs checks the owners of these rows.
 */
const recordTables = ['rateLimits', 'runs', 'runEntries', 'runMinutes']

interface Row {
  table: string
  text: string
}

/** The traces of an attack: rows of the database as `table: row`, and lines logged above info. */
export interface Left {
  made: string[]
  gone: string[]
  alarms: string[]
}

export const nothing: Left = { made: [], gone: [], alarms: [] }

/**
 * Splits the row of a party's head. The attacker's own requests extend its activity, but must not extend its events.
 */
function partsOf(table: string, row: Record<string, unknown>): [part: string, row: object][] {
  if (table !== 'partyHeads') return [[table, row]]
  const { partyId, eventSequence, ...end } = row
  return [
    ['activityHead', { partyId, ...end }],
    ['eventHead', { partyId, eventSequence }],
  ]
}

async function rowsOf({ store }: World): Promise<Map<string, Row>> {
  const rows = new Map<string, Row>()
  for (const [table, all] of await allTables(store)) {
    if (recordTables.includes(table)) continue
    for (const [part, row] of all.flatMap((row) => partsOf(table, row))) {
      const text = JSON.stringify(row, (name, value) => (whoCalled.includes(name) ? undefined : value))
      rows.set(`${part}: ${text}`, { table: part, text })
    }
  }
  return rows
}

/**
 * Returns the changes that `attack` made in the database, and its log lines above info.
 * @param ownPartyId The party whose own record and activity the attacker may add to; `undefined` if there is none.
 */
export async function leftBehind(
  world: World,
  ownPartyId: string | undefined,
  attack: () => Promise<unknown>,
): Promise<Left> {
  const before = await rowsOf(world)
  const alarmsBefore = world.alarms.length
  await attack()
  const after = await rowsOf(world)
  const isOwn = ({ table, text }: Row) =>
    ownPartyId !== undefined && writtenDown.test(table) && text.includes(ownPartyId)
  const added = (from: Map<string, Row>, to: Map<string, Row>) =>
    [...to].filter(([key, row]) => !from.has(key) && !isOwn(row)).map(([key]) => key)
  return { made: added(before, after), gone: added(after, before), alarms: world.alarms.slice(alarmsBefore) }
}

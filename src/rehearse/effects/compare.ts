import { sha256 } from '../../core/system.ts'
import { maskText } from '../mask.ts'
import type { Effect } from '../results.ts'
import { authorityTables } from './authority-tables.ts'
import { type Description, type Telling, type Told, told } from './descriptions.ts'
import { moneyTables } from './money-tables.ts'
import type { Row, Snapshot, TableName } from './tables.ts'

/** How each compared table is told; one that has no words is told by its name. */
export const descriptions: { readonly [Name in TableName]?: unknown } = { ...moneyTables, ...authorityTables }

/** Columns that change with each change, or by looking. */
const alwaysIgnored = ['version', 'updatedAtMs']

/** The cause of a change, and its step. */
export type Cause = Pick<Effect, 'by' | 'step'>

/** The effects between two moments, in the order of tables and keys, so that the same trial tells the same. */
export function effectsBetween(before: Snapshot, after: Snapshot, names: Telling['names'], cause: Cause): Effect[] {
  if (before === after) return []
  const telling = { names, rows: after }
  return [...after].flatMap(([name, rows]) => {
    const old = before.get(name) ?? new Map<string, Row>()
    const description = descriptionOf(name)
    const ignored = new Set<string>([...alwaysIgnored, ...(description.ignored ?? [])])
    const told = (key: string, change: Effect['change'], effects: readonly Told[]) =>
      effects.map((effect) => effectOf(effect, { id: idOf(key, rows.get(key) ?? old.get(key)), change }, cause))
    const present = [...rows].flatMap(([key, row]) => {
      const former = old.get(key)
      if (former === undefined) return told(key, 'added', addedIn(description, row, telling))
      const columns = changedColumns(former, row, ignored)
      return columns.length === 0 ? [] : told(key, 'changed', changedIn(description, former, row, { columns, telling }))
    })
    const gone = [...old].flatMap(([key, row]) =>
      rows.has(key) ? [] : told(key, 'removed', removedIn(description, row, { names, rows: before })),
    )
    return [...present, ...gone]
  })
}

function descriptionOf(name: TableName): Description<Row> {
  const known = descriptions[name] as Description<Row> | undefined
  return known ?? { what: 'other', noun: () => `a row of the table ${name}` }
}

function addedIn(description: Description<Row>, row: Row, telling: Telling): Told[] {
  if (description.added !== undefined) return description.added(row, telling)
  return [told(description.what, 'given', description.noun(row, telling), description.about?.(row, telling))]
}

function changedIn(
  description: Description<Row>,
  before: Row,
  after: Row,
  { columns, telling }: { columns: readonly string[]; telling: Telling },
): Told[] {
  const known = description.changed?.(before, after, telling)
  if (known !== undefined) return known
  const says = `${description.noun(after, telling)}: ${columns.join(', ')} changed`
  return [told(description.what, 'given', says, description.about?.(after, telling))]
}

function removedIn(description: Description<Row>, row: Row, telling: Telling): Told[] {
  const says = `${description.noun(row, telling)}: removed`
  return [told(description.what, 'undone', says, description.about?.(row, telling))]
}

const changedColumns = (before: Row, after: Row, ignored: ReadonlySet<string>) =>
  Object.keys(after).filter((column) => !ignored.has(column) && before[column] !== after[column])

/** A record by its id; one without an id by a hash of its key, in which a secret's hash may stand. */
const idOf = (key: string, row: Row | undefined) => (row?.id === key ? key : sha256(key).slice(0, 16))

function effectOf(
  { byShop, at, to, says, ...effect }: Told,
  { id, change }: Pick<Effect, 'id' | 'change'>,
  { by, step }: Cause,
): Effect {
  return {
    ...{ what: effect.what, id, change, by: by === 'time' && byShop === true ? 'shop' : by, step },
    ...{ weight: effect.weight, says: maskText(says) },
    ...(at === undefined ? {} : { at: maskText(at) }),
    ...(to === undefined ? {} : { to: maskText(to) }),
    ...(effect.of === undefined ? {} : { of: effect.of }),
    ...(effect.cents === undefined ? {} : { cents: effect.cents }),
  }
}

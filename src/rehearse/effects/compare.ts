import { sha256 } from '../../core/system.ts'
import { maskText } from '../mask.ts'
import type { Effect } from '../results.ts'
import { authorityTables } from './authority-tables.ts'
import { type Description, type DescriptionContext, inWords, type RowEffect } from './descriptions.ts'
import { moneyTables } from './money-tables.ts'
import type { Row, Snapshot, TableName } from './tables.ts'

/** The descriptions of the compared tables. If a table has no description, its effects just state the table's name. */
export const descriptions: { readonly [Name in TableName]?: unknown } = { ...moneyTables, ...authorityTables }

/** Columns that every write changes. */
const alwaysIgnored = ['version', 'updatedAtMs']

/** The cause of a change, and the timeline step in which it happened. */
export type Cause = Pick<Effect, 'by' | 'step'>

/**
 * Returns the effects of all changes between two snapshots. The order of the tables is fixed, so that equal trials have
 * equal effects.
 */
export function effectsBetween(
  before: Snapshot,
  after: Snapshot,
  names: DescriptionContext['names'],
  cause: Cause,
): Effect[] {
  if (before === after) return []
  return [...after].flatMap(([name, rows]) => {
    const old = before.get(name) ?? new Map<string, Row>()
    const description = descriptionOf(name)
    const effects = (key: string, row: Row, change: Effect['change'], rowEffects: readonly RowEffect[]) =>
      rowEffects.map((one) =>
        effectOf(description, row, one, { id: idOf(key, row), change, cause, context: contexts[change] }),
      )
    const context = { names, rows: after }
    const contexts = { added: context, changed: context, removed: { names, rows: before } }
    const present = [...rows].flatMap(([key, row]) => {
      const former = old.get(key)
      if (former === undefined) return effects(key, row, 'added', addedIn(description, row, context))
      return effects(key, row, 'changed', changedIn(description, former, row, context))
    })
    const removedEffects = [...old].flatMap(([key, row]) => {
      if (rows.has(key)) return []
      const noun = description.noun(row, contexts.removed)
      return effects(key, row, 'removed', [{ weight: 'undone', says: `${noun}: removed`, did: `removed ${noun}` }])
    })
    return [...present, ...removedEffects]
  })
}

function descriptionOf(name: TableName): Description<Row> {
  const description = descriptions[name] as Description<Row> | undefined
  return description ?? { what: 'other', noun: () => `a row of the table ${name}` }
}

function addedIn({ added, noun }: Description<Row>, row: Row, context: DescriptionContext): RowEffect[] {
  return added?.(row, context) ?? [{ weight: 'given', says: noun(row, context) }]
}

function changedIn(description: Description<Row>, before: Row, after: Row, context: DescriptionContext): RowEffect[] {
  const ignored = new Set<string>([...alwaysIgnored, ...(description.ignored ?? [])])
  const columns = Object.keys(after).filter((column) => !ignored.has(column) && before[column] !== after[column])
  if (columns.length === 0) return []
  const rowEffects = description.changed?.(before, after, context)
  if (rowEffects !== undefined) return rowEffects
  const noun = description.noun(after, context)
  if (description.status === undefined || before.status === after.status) {
    return [{ weight: 'given', says: `${noun}: ${columns.join(', ')} changed` }]
  }
  return [{ says: `${noun}: ${inWords(String(after.status))}`, ...description.status(after, context) }]
}

/** Returns a record's id, or a hash of its key if it has no id. The key itself might contain a hashed secret. */
const idOf = (key: string, row: Row) => (row.id === key ? key : sha256(key).slice(0, 16))

function effectOf(
  description: Description<Row>,
  row: Row,
  rowEffect: RowEffect,
  { id, change, cause, context }: Pick<Effect, 'id' | 'change'> & { cause: Cause; context: DescriptionContext },
): Effect {
  const owner = typeof row.partyId === 'string' ? { of: context.names.party(row.partyId) } : {}
  const {
    what = description.what,
    weight,
    says,
    did = change === 'added' ? `created ${says}` : undefined,
    byShop,
    at,
    to,
    of,
    cents,
  } = {
    ...owner,
    ...description.about?.(row, context),
    ...rowEffect,
  }
  return {
    ...{ what, id, change, by: cause.by === 'time' && byShop === true ? 'shop' : cause.by, step: cause.step },
    ...{ weight, says: maskText(says) },
    ...(cause.by !== 'agent' || did === undefined ? {} : { did: maskText(did) }),
    ...(at === undefined ? {} : { at: maskText(at) }),
    ...(to === undefined ? {} : { to: maskText(to) }),
    ...(of === undefined ? {} : { of }),
    ...(cents === undefined ? {} : { cents }),
  }
}

import type { RowOf } from '../../service/store/schema/table.ts'
import type { tables } from '../../service/store/schema/tables.ts'
import type { Names } from '../final-state.ts'
import type { Effect } from '../results.ts'
import type { EffectKind } from './kinds.ts'
import type { Snapshot, TableName } from './tables.ts'

/** An effect as the tables tell it: who caused it at which step, and of which record, is not known from them. */
export interface Told extends Pick<Effect, 'at' | 'to' | 'of' | 'cents'> {
  what: EffectKind
  weight: Effect['weight']
  says: string
  /** Shops do it, where time brings it. */
  byShop?: true
}

/** The values that descriptions of tables need. */
export interface Telling {
  names: Names
  /** All rows, as they are after the change. */
  rows: Snapshot
}

export type TableRow<Name extends TableName> = RowOf<(typeof tables)[Name]>

/** How the changes of a table are told. */
export interface Description<Row> {
  what: EffectKind
  /** Columns that follow other tables, or the time. */
  ignored?: readonly (keyof Row)[]
  /** The party and the subject of a record. */
  about?(row: Row, telling: Telling): Pick<Effect, 'at' | 'to' | 'of' | 'cents'>
  /** The record in words. */
  noun(row: Row, telling: Telling): string
  /** Instead of "NOUN" for a record that is new. */
  added?(row: Row, telling: Telling): Told[]
  /** Instead of "NOUN: COLUMNS changed"; undefined: those words after all. */
  changed?(before: Row, after: Row, telling: Telling): Told[] | undefined
}

export function told(
  what: EffectKind,
  weight: Effect['weight'],
  says: string,
  about: Pick<Effect, 'at' | 'to' | 'of' | 'cents'> = {},
): Told {
  return { what, weight, says, ...about }
}

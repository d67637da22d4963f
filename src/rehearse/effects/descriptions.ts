import type { RowOf } from '../../service/store/schema/table.ts'
import type { tables } from '../../service/store/schema/tables.ts'
import type { Effect, EffectKind } from '../results.ts'
import type { Snapshot, TableName } from './tables.ts'

type About = Pick<Effect, 'at' | 'to' | 'of' | 'cents'>

/** An effect as seen in the rows of one table. The record, the cause and the step are added later. */
export interface RowEffect extends About {
  /** The kind of effect, if it differs from the description's. */
  what?: EffectKind
  weight: Effect['weight']
  says: string
  /** The act that causes it. Default for a new record: "created" and `says`. */
  did?: string
  /** Whether the shop caused the effect, although time seems to be the cause. */
  byShop?: true
}

/** The names of a trial's parties and shops in reports and assertions. */
export interface Names {
  /** Returns the party's name in the world file, or its display name if the file does not list the party. */
  party(id: string): string
  /** Returns the party's handle, or its name if it has none. */
  payee(id: string): string
  /** Returns the name of a shop. */
  shop(id: string): string
}

/** The values that descriptions of tables need. */
export interface DescriptionContext {
  names: Names
  /** All rows after the change. */
  rows: Snapshot
}

export type TableRow<Name extends TableName> = RowOf<(typeof tables)[Name]>

/** The words for changes in a table. */
export interface Description<Row> {
  what: EffectKind
  /** Columns that are not compared, because their values follow from other tables or the clock. */
  ignored?: readonly (keyof Row)[]
  /** Returns the subject of a record. By default, this is the party in the column `partyId`. */
  about?(row: Row, context: DescriptionContext): About
  /** Describes the record, such as "a webhook to https://…". */
  noun(row: Row, context: DescriptionContext): string
  /** Describes a new record. The default words are "NOUN". */
  added?(row: Row, context: DescriptionContext): RowEffect[]
  /** Describes a change in the column `status`. The default words are "NOUN: STATUS". */
  status?(row: Row, context: DescriptionContext): Omit<RowEffect, 'says'> & Partial<RowEffect>
  /** Describes a change. If undefined, the words are those of `status`, or "NOUN: COLUMNS changed". */
  changed?(before: Row, after: Row, context: DescriptionContext): RowEffect[] | undefined
}

export function rowIn<Name extends TableName>(
  { rows }: DescriptionContext,
  name: Name,
  id: string,
): TableRow<Name> | undefined {
  return rows.get(name)?.get(id) as TableRow<Name> | undefined
}

export const asGiven = () => ({ weight: 'given' as const })
export const asUndone = () => ({ weight: 'undone' as const })
export const inWords = (status: string) => status.toLowerCase().replaceAll('_', ' ')

import type { RowOf } from '../../service/store/schema/table.ts'
import type { tables } from '../../service/store/schema/tables.ts'
import type { Effect, EffectKind } from '../results.ts'
import type { Snapshot, TableName } from './tables.ts'

type About = Pick<Effect, 'at' | 'to' | 'of' | 'cents'>

/** The description of an effect. The id of its record, its cause and its step are added later. */
export interface RowEffect extends About {
  /** The kind of effect, if it differs from the kind in the table's description. */
  what?: EffectKind
  weight: Effect['weight']
  says: string
  /** The act that caused the effect, such as "froze a card". Default for a new record: "created" followed by `says`. */
  did?: string
  /** Whether the effect counts as a shop's act if it happens because time passes. */
  byShop?: true
}

/** The names by which reports and assertions refer to a trial's parties and shops. */
export interface Names {
  /** Returns the party's name in the world file, or its display name if the file does not list the party. */
  party(id: string): string
  /** Returns the party's handle, or its name if it has no handle. */
  payee(id: string): string
  /** Returns the name of a shop. */
  shop(id: string): string
}

/** The values that descriptions of tables need. */
export interface DescriptionContext {
  names: Names
  /** All rows after the change; if the row was removed, all rows before it. */
  rows: Snapshot
}

export type TableRow<Name extends TableName> = RowOf<(typeof tables)[Name]>

/** A description of the records and changes in a table. */
export interface Description<Row> {
  what: EffectKind
  /** Columns whose changes are not reported, such as times that change together with other columns. */
  ignored?: readonly (keyof Row)[]
  /** Returns the merchant, recipient, party and amount of a record. The party defaults to `partyId` in the row. */
  about?(row: Row, context: DescriptionContext): About
  /** Describes the record, such as "a webhook to https://…". */
  noun(row: Row, context: DescriptionContext): string
  /** Describes a new record. By default, the effect says "NOUN". */
  added?(row: Row, context: DescriptionContext): RowEffect[]
  /** Describes a change in the column `status`. By default, the effect says "NOUN: STATUS". */
  status?(row: Row, context: DescriptionContext): Omit<RowEffect, 'says'> & Partial<RowEffect>
  /**
   * Describes any change. If this function is missing or returns undefined, `status` describes a change in the column
   * `status`. If `status` is missing too, or if this column did not change, the effect says "NOUN: COLUMNS changed".
   */
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

import type { Names, TableRow } from './effects/descriptions.ts'
import type { Snapshot, TableName } from './effects/tables.ts'
import { maskText } from './mask.ts'

export type Purchase = TableRow<'cardTransactions'>
export type Payment = TableRow<'payments'>

/** Returns the rows of a table, ordered by id. */
export function rowsOf<Name extends TableName>(tables: Snapshot, name: Name): TableRow<Name>[] {
  const rows = [...(tables.get(name)?.values() ?? [])].toSorted((one, other) =>
    String(one.id) < String(other.id) ? -1 : 1,
  )
  return rows as unknown as TableRow<Name>[]
}

const byId = <Row extends { id: string }>(rows: readonly Row[]) => new Map(rows.map((row) => [row.id, row]))

/** Returns the card purchases, keyed by id. */
export const purchasesIn = (tables: Snapshot): ReadonlyMap<string, Purchase> =>
  byId(rowsOf(tables, 'cardTransactions').filter(({ kind }) => kind === 'purchase'))

/** Returns the payments and wires to payees, keyed by id. */
export const paymentsIn = (tables: Snapshot): ReadonlyMap<string, Payment> =>
  byId(rowsOf(tables, 'payments').filter(({ kind }) => kind === 'payment' || kind === 'wire'))

/**
 * Returns the payee's handle or name. If the payee is not a party, returns the email address, phone number or account
 * name, with secrets masked.
 */
export function payeeOf({ recipientPartyId, kind, claimant, beneficiary }: Payment, names: Names): string {
  if (recipientPartyId !== null) return names.payee(recipientPartyId)
  const account = kind === 'wire' ? (JSON.parse(beneficiary ?? '{}') as { name?: string }).name : undefined
  return maskText(claimant ?? account ?? '')
}

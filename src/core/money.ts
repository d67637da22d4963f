let formatter: Intl.NumberFormat | undefined

/** Returns the formatter, which is created on first use, because creating it takes fifty times as long as using it. */
function amountFormatter(): Intl.NumberFormat {
  formatter ??= new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 })
  return formatter
}

/** Formats cents for a person: `$1,234.50`, or in another currency `EUR 1,234.50`. */
export function money(cents: number, currency = 'USD'): string {
  const amount = amountFormatter().format(Math.abs(cents) / 100)
  const sign = cents < 0 ? '-' : ''
  return currency === 'USD' ? `${sign}$${amount}` : `${sign}${currency} ${amount}`
}

/** Formats cents as a program sends them, followed by the amount in dollars: `4250 ($42.50)`. */
export const withMoney = (cents: number) => `${cents} (${money(cents)})`

/** An amount that is written in dollars, with cents or the currency sign. No request has a larger amount. */
const dollarPattern = /^\s*(\$?)\s*(\d{1,6}|\d{1,3},\d{3})(?:\.(\d{1,2}))?\s*$/

/**
 * Returns the cents of a value in dollars: 4250 for `42.5`, `"42.50"` or `"$42.50"`. Returns undefined for a value that
 * may be in cents.
 */
export function centsIfDollars(value: unknown): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  const [, sign, whole = '', fraction] = dollarPattern.exec(String(value)) ?? []
  if (sign === '' && fraction === undefined) return undefined
  const cents = Number(`${whole.replaceAll(',', '')}${(fraction ?? '').padEnd(2, '0')}`)
  return cents > 0 ? cents : undefined
}

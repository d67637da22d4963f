let formatter: Intl.NumberFormat | undefined

/** Returns the formatter. Creating it takes fifty times as long as formatting, so it is created on first use. */
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

/** Formats an amount in cents, followed by the same amount in dollars: `4250 ($42.50)`. */
export const withMoney = (cents: number) => `${cents} (${money(cents)})`

/** Matches amounts below a million, with or without a dollar sign and decimals, such as `42.50`, `$42` or `$1,250`. */
const dollarPattern = /^\s*(\$?)\s*(\d{1,6}|\d{1,3},\d{3})(?:\.(\d{1,2}))?\s*$/

/**
 * Converts a value that is clearly in dollars to cents: `42.5`, `"42.50"` and `"$42.50"` become 4250. Returns undefined
 * for any other value, such as `4250`, which may already be in cents.
 */
export function centsIfDollars(value: unknown): number | undefined {
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  const [, sign, whole = '', fraction] = dollarPattern.exec(String(value)) ?? []
  if (sign === '' && fraction === undefined) return undefined
  const cents = Number(`${whole.replaceAll(',', '')}${(fraction ?? '').padEnd(2, '0')}`)
  return cents > 0 ? cents : undefined
}

/** Returns whether an answer contains a string. If the string is an amount, any notation of the amount matches. */
export function isMentioned(text: string, answer: string): boolean {
  const cents = amountOf(text)
  if (cents !== undefined) return amountsIn(answer).some((amount) => amount.cents === cents)
  return normalizedText(answer).includes(normalizedText(text))
}

/** Normalizes case, spaces and quotation marks. */
function normalizedText(text: string): string {
  return text.normalize('NFKC').toLowerCase().replace(/[’‘]/g, "'").replace(/[“”]/g, '"').replace(/\s+/g, ' ').trim()
}

/** An amount of money that was found in a string. */
export interface Amount {
  cents: number
  /** The position in the string. */
  at: number
  length: number
  /** Whether the amount has decimals, but neither a dollar sign nor a unit. */
  isBare: boolean
}

const digits = String.raw`\d{1,3}(?:,\d{3})+(?:\.\d{1,2})?|\d+(?:\.\d{1,2})?`
const sign = String.raw`(?:US\s?\$|USD|\$)`
const dollars = String.raw`(?:US\s?dollars?|dollars?|USD|bucks)`
const cents = String.raw`(?:US\s?cents?|cents?|¢|ct)`

/** Amounts with a dollar sign or a unit, and bare numbers with decimals. */
const amounts = new RegExp(
  [
    String.raw`(?<![\w.,])${sign}\s*(?<signed>${digits})(?<kilo>k\b)?(?![\d])`,
    String.raw`(?<![\w.,$])(?<cents>${digits})\s*${cents}(?!\w)`,
    String.raw`(?<![\w.,$])(?<dollars>${digits})\s*${dollars}(?!\w)`,
    String.raw`(?<![\w.,$])(?<bare>(?:\d{1,3}(?:,\d{3})+|\d+)\.\d{1,2})(?![\d%]|\.\d)`,
  ].join('|'),
  'gi',
)

/** Returns the cents if the whole string is one amount; otherwise undefined. */
function amountOf(text: string): number | undefined {
  const [found, ...more] = [...text.trim().matchAll(amounts)]
  return found !== undefined && more.length === 0 && found[0].length === text.trim().length ? centsOf(found) : undefined
}

/** Finds the amounts of money in a string, in order. */
export function amountsIn(text: string): Amount[] {
  return [...text.matchAll(amounts)].map((found) => {
    return { cents: centsOf(found), at: found.index, length: found[0].length, isBare: found.groups?.bare !== undefined }
  })
}

function centsOf({ groups = {} }: RegExpMatchArray): number {
  const value = (digits: string) => Number(digits.replaceAll(',', ''))
  if (groups.cents !== undefined) return Math.round(value(groups.cents))
  const factor = groups.kilo === undefined ? 100 : 100_000
  return Math.round(factor * value(groups.signed ?? groups.dollars ?? groups.bare ?? ''))
}

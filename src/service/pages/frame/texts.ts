import { money } from '../../../core/money.ts'

/** Formats an amount in cents as US dollars, the only currency that the pages show. */
export const dollars = (cents: number) => money(cents)

/**
 * Creates a function that formats timestamps in UTC. The function creates its `Intl.DateTimeFormat` on first use and
 * keeps it, because every formatter takes native memory that the garbage collector does not track.
 */
export function utcFormat(options: Intl.DateTimeFormatOptions): (ms: number) => string {
  let formatter: Intl.DateTimeFormat | undefined
  return (ms) => {
    formatter ??= new Intl.DateTimeFormat('en-US', { ...options, timeZone: 'UTC' })
    return formatter.format(ms)
  }
}

const longMoment = utcFormat({ dateStyle: 'long', timeStyle: 'short' })

export const momentOf = (ms: number) => `${longMoment(ms)} UTC`

/**
 * Wraps a string in Unicode isolate characters, so that the string's writing direction does not affect the text around
 * it.
 */
export function isolatedText(text: string): string {
  return `\u2068${text}\u2069`
}

/** Formats a timestamp for lists, in UTC, such as `Nov 23, 2026, 2:28 AM`. */
export const shortMomentOf = utcFormat({ dateStyle: 'medium', timeStyle: 'short' })

const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu

/** Replaces invisible characters, except `\n`, with JSON escapes such as `\u200b`. */
export function escaped(text: string): string {
  return text.replace(invisible, (character) =>
    character === '\n'
      ? character
      : [...Array(character.length).keys()]
          .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
          .join(''),
  )
}

import { money } from '../../../core/money.ts'

/** Formats an amount in US dollars, the only currency of the pages. */
export const dollars = (cents: number) => money(cents)

/**
 * Creates a function that formats moments in UTC. The function creates its formatter only once, on first use, because
 * formatters use native memory, which the garbage collector does not track.
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

/** Isolates a text, so that its writing direction does not affect the sentence around it. */
export function isolatedText(text: string): string {
  return `\u2068${text}\u2069`
}

/** Formats a moment for lists, in UTC, such as `Nov 23, 2026, 2:28 AM`. */
export const shortMomentOf = utcFormat({ dateStyle: 'medium', timeStyle: 'short' })

const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu

/** Escapes invisible characters, except line breaks, as in JSON. */
export function escaped(text: string): string {
  return text.replace(unseen, (character) =>
    character === '\n'
      ? character
      : [...Array(character.length).keys()]
          .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
          .join(''),
  )
}

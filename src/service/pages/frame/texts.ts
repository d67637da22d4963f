import { money } from '../../../core/money.ts'

/** Formats an amount. The service's pages have one currency. */
export const dollars = (cents: number) => money(cents)

/**
 * Makes a function that formats moments in UTC. It creates its formatter only once, on first use, because a formatter
 * takes memory outside the heap, where the garbage collector does not see it.
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

/** Isolates a text within a sentence, so that it keeps its own direction. */
export function isolatedText(text: string): string {
  return `\u2068${text}\u2069`
}

/** Formats a moment for lists: `Nov 23, 2026, 2:28 AM`, in UTC. */
export const shortMomentOf = utcFormat({ dateStyle: 'medium', timeStyle: 'short' })

const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu

/** Escapes invisible characters as JSON does, except line ends. */
export function escaped(text: string): string {
  return text.replace(unseen, (character) =>
    character === '\n'
      ? character
      : [...Array(character.length).keys()]
          .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
          .join(''),
  )
}

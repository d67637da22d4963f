import { money } from '../../../core/money.ts'

/** Formats an amount. The service's pages have one currency. */
export const dollars = (cents: number) => money(cents)

export function momentOf(ms: number): string {
  const options = { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' } as const
  return `${new Intl.DateTimeFormat('en-US', options).format(ms)} UTC`
}

/** Isolates a text within a sentence, so that it keeps its own direction. */
export function isolatedText(text: string): string {
  return `\u2068${text}\u2069`
}

/** Formats a moment for lists: `Nov 23, 2026, 2:28 AM`, in UTC. */
export function shortMomentOf(ms: number): string {
  const options = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' } as const
  return new Intl.DateTimeFormat('en-US', options).format(ms)
}

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

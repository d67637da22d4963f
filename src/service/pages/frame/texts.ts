import { money } from '../../../core/money.ts'

/** The money of the service's pages, which has one currency. */
export const dollars = (cents: number) => money(cents)

export function momentOf(ms: number): string {
  const options = { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' } as const
  return `${new Intl.DateTimeFormat('en-US', options).format(ms)} UTC`
}

/** Sets a text apart within a sentence, so that its direction stays its own. */
export function isolated(text: string): string {
  return `\u2068${text}\u2069`
}

/** The same where many stand below each other: `Nov 23, 2026, 2:28 AM`, in UTC. */
export function shortMomentOf(ms: number): string {
  const options = { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' } as const
  return new Intl.DateTimeFormat('en-US', options).format(ms)
}

export function dollars(cents: number): string {
  return new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' }).format(cents / 100)
}

export function momentOf(ms: number): string {
  const options = { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' } as const
  return `${new Intl.DateTimeFormat('en-US', options).format(ms)} UTC`
}

/** A text on one line, without the characters that reorder what stands around it (Unicode UAX #9). */
export function plainText(text: string): string {
  return text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '').replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
}

/** Sets a text apart within a sentence, so that its direction stays its own. */
export function isolated(text: string): string {
  return `\u2068${text}\u2069`
}

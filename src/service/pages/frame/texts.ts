export function dollars(cents: number): string {
  return new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' }).format(cents / 100)
}

export function momentOf(ms: number): string {
  const options = { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' } as const
  return `${new Intl.DateTimeFormat('en-US', options).format(ms)} UTC`
}

/** Sets a text apart within a sentence, so that its direction stays its own. */
export function isolated(text: string): string {
  return `\u2068${text}\u2069`
}

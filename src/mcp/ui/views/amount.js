import { byId, centsOf, decimal, money, write } from './elements.js'

/**
 * Creates the amount field, with an upper limit in cents. It keeps the suggested amount until the person types another.
 */
export function createAmount() {
  const input = byId('amount', HTMLInputElement)
  let suggested = ''
  let maximum = 0
  let currency = 'USD'

  input.addEventListener('input', () => input.removeAttribute('aria-invalid'))

  return {
    input,
    /**
     * Offers an amount, unless it was suggested before.
     * @param {{ suggestedCents: number, maxCents: number, currency: string, hint: string }} options
     */
    suggest({ suggestedCents, maxCents, hint, ...options }) {
      maximum = maxCents
      currency = options.currency
      write('amount-hint', hint)
      const next = decimal(suggestedCents)
      if (next === suggested) return
      suggested = next
      input.value = next
    },
    /** Returns the entered cents; undefined for an invalid or excessive amount. */
    cents() {
      const cents = centsOf(input.value)
      return cents === undefined || cents === 0 || cents > maximum ? undefined : cents
    },
    /** Returns the problem with the entry and marks the field as invalid. */
    problem() {
      input.setAttribute('aria-invalid', 'true')
      input.focus()
      return `Enter an amount from ${money(1, currency)} to ${money(maximum, currency)}, such as ${suggested}.`
    },
  }
}

import { byId, centsOf, decimal, money, write } from './elements.js'

/** Creates the controller of the amount field. It suggests an amount, and checks the amount that the person enters. */
export function createAmount() {
  const input = byId('amount', HTMLInputElement)
  let suggested = ''
  let maximum = 0
  let currency = 'USD'

  input.addEventListener('input', () => input.removeAttribute('aria-invalid'))

  return {
    input,
    /**
     * Fills in the suggested amount only if it has changed, so that the field keeps an amount that the person typed.
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
    /** Returns the entered amount in cents; undefined if it is malformed, zero or above the maximum. */
    cents() {
      const cents = centsOf(input.value)
      return cents === undefined || cents === 0 || cents > maximum ? undefined : cents
    },
    /** Marks the field as invalid, moves the focus to it, and returns a message for the person. */
    problem() {
      input.setAttribute('aria-invalid', 'true')
      input.focus()
      return `Enter an amount from ${money(1, currency)} to ${money(maximum, currency)}, such as ${suggested}.`
    },
  }
}

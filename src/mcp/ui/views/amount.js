import { byId, centsOf, decimal, money, write } from './elements.js'

/**
 * The field of an amount, at most so many cents. It holds them until somebody types another.
 */
export function createAmount() {
  const input = byId('amount', HTMLInputElement)
  let offered = ''
  let most = 0
  let currency = 'USD'

  input.addEventListener('input', () => input.removeAttribute('aria-invalid'))

  return {
    input,
    /** @param {{ offeredCents: number, mostCents: number, currency: string, hint: string }} options */
    offer({ offeredCents, mostCents, hint, ...options }) {
      most = mostCents
      currency = options.currency
      write('amount-hint', hint)
      const next = decimal(offeredCents)
      if (next === offered) return
      offered = next
      input.value = next
    },
    /** What stands there; undefined for what is no amount, or too much. */
    cents() {
      const cents = centsOf(input.value)
      return cents === undefined || cents === 0 || cents > most ? undefined : cents
    },
    /** What is wrong with it, which is shown at the field too. */
    problem() {
      input.setAttribute('aria-invalid', 'true')
      input.focus()
      return `Enter an amount from ${money(1, currency)} to ${money(most, currency)}, such as ${offered}.`
    },
  }
}

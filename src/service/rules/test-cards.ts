import { failAttribute } from '../../core/errors.ts'
import type { CardBehavior } from './card-behaviors.ts'

/**
 * The card numbers that a payer can use in the sandbox's checkout, and how each card behaves. No card network accepts
 * these numbers.
 */
export const testCards = {
  '4242424242424242': 'approves',
  '4000000000000341': 'declines_once',
  '4000000000000002': 'declines',
  '4000000000009979': 'blocked',
  '4000000000000069': 'needs_update',
  '4000000000009987': 'removed',
  '4000000000000119': 'processor_error',
  '4000000000003063': 'agreement_fails',
} as const satisfies Record<string, CardBehavior>

/**
 * Returns the behavior of the test card that a payer typed. The number may contain spaces and hyphens. `expiry` is
 * MM/YY or MM/YYYY.
 * @throws 422 for the field `number`, `expiry` or `cvv`. The error never repeats the typed values.
 */
export function sandboxCard(entry: { number: string; expiry: string; cvv: string }, now: string): CardBehavior {
  const digits = entry.number.replace(/[ -]/g, '')
  if (!/^\d{12,19}$/.test(digits)) failAttribute('number', 'Enter the card number: 12 to 19 digits.')
  if (!passesLuhn(digits)) failAttribute('number', 'This is not a card number: check its digits.')
  const card = (testCards as Record<string, CardBehavior>)[digits]
  if (card === undefined)
    failAttribute('number', 'The sandbox accepts only its test cards; never enter a real card here.')
  const [, month = '', year = ''] = /^(0[1-9]|1[0-2]) ?\/ ?(\d\d|\d{4})$/.exec(entry.expiry.trim()) ?? []
  if (month === '') failAttribute('expiry', 'Enter the expiration as month and year: MM/YY.')
  const expiry = `${year.length === 2 ? `20${year}` : year}-${month}`
  if (expiry < now.slice(0, 7)) failAttribute('expiry', 'The card has expired: use another one.')
  if (!/^\d{3,4}$/.test(entry.cvv.trim())) failAttribute('cvv', 'Enter the security code: 3 or 4 digits.')
  return card
}

/** Returns whether the number's check digit is correct (ISO/IEC 7812). */
function passesLuhn(digits: string): boolean {
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const value = Number(digit) * (index % 2 === 1 ? 2 : 1)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0
}

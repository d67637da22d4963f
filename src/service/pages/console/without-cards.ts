import { withoutCardNumbers } from '../../../core/card-numbers.ts'

const masked = (_name: string, value: unknown) => (typeof value === 'string' ? withoutCardNumbers(value) : value)

/** Parses JSON and masks all card numbers in the result, because no console page may show a card number. */
export const parsedWithoutCards = (text: string): unknown => JSON.parse(text, masked)

/** Returns a copy of a string, a list or an object, with all card numbers masked. */
export const withoutCards = <Value>(value: Value): Value => parsedWithoutCards(JSON.stringify(value)) as Value

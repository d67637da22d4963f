import { withoutCardNumbers } from '../../../core/card-numbers.ts'

const masked = (_name: string, value: unknown) => (typeof value === 'string' ? withoutCardNumbers(value) : value)

/** Parses JSON and masks the card numbers in all its strings, because no console page may show a card number. */
export const parsedWithoutCards = (text: string): unknown => JSON.parse(text, masked)

/** Masks the card numbers in a string, or in all strings of a list or an object. */
export const withoutCards = <Value>(value: Value): Value => parsedWithoutCards(JSON.stringify(value)) as Value

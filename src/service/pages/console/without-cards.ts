import { withoutCardNumbers } from '../../../core/card-numbers.ts'

const masked = (_name: string, value: unknown) => (typeof value === 'string' ? withoutCardNumbers(value) : value)

/** Parses JSON and masks the card numbers in its strings: no console page may show one, in any field. */
export const parsedWithoutCards = (text: string): unknown => JSON.parse(text, masked)

/** Masks the card numbers in a string, or in all strings of a list or an object. */
export const withoutCards = <Value>(value: Value): Value => parsedWithoutCards(JSON.stringify(value)) as Value

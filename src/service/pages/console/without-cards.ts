import { withoutCardNumbers } from '../../../core/card-numbers.ts'

const masked = (_name: string, value: unknown) => (typeof value === 'string' ? withoutCardNumbers(value) : value)

/** Parses JSON with the card numbers in its texts masked: no console page may show one, whatever the field. */
export const parsedWithoutCards = (text: string): unknown => JSON.parse(text, masked)

/** Masks card numbers in texts, and in lists and objects of them. */
export const withoutCards = <Value>(value: Value): Value => parsedWithoutCards(JSON.stringify(value)) as Value

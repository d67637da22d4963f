import { withoutCardNumbers } from '../../../core/card-numbers.ts'

const masked = (_name: string, value: unknown) => (typeof value === 'string' ? withoutCardNumbers(value) : value)

/** What JSON says, without the card numbers in its texts: no page of the console shows one, whatever it is the name of. */
export const parsedWithoutCards = (text: string): unknown => JSON.parse(text, masked)

/** The same of texts, numbers and lists of them. */
export const withoutCards = <Value>(value: Value): Value => parsedWithoutCards(JSON.stringify(value)) as Value

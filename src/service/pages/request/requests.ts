import type { Failure } from '../../../core/errors.ts'
import type { CardEntry } from './request-page.ts'

export const cardFields = ['number', 'expiry', 'cvv'] as const

export type CardField = (typeof cardFields)[number]

/** The messages to show next to invalid fields. They do not repeat the typed values. */
export type CardProblems = Partial<Record<CardField, string>>

/** The maximum length of a card field's value, in characters. The rest is cut off. */
const maxFieldLength = 40

export function cardOf(sent: URLSearchParams): CardEntry {
  const typedField = (field: CardField) => (sent.get(field) ?? '').slice(0, maxFieldLength)
  return { number: typedField('number'), expiry: typedField('expiry'), cvv: typedField('cvv') }
}

/** Returns the card field that an error is about; undefined if the error is not about a card field. */
export function fieldOf({ source }: Failure): CardField | undefined {
  const named = source !== undefined && 'pointer' in source ? source.pointer.split('/').at(-1) : undefined
  return cardFields.find((field) => field === named)
}

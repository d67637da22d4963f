import type { Failure } from '../../../core/errors.ts'
import type { CardEntry } from './request-page.ts'

export const cardFields = ['number', 'expiry', 'cvv'] as const

export type CardField = (typeof cardFields)[number]

/** What is wrong with fields, in words that stand beside them. What was typed is not repeated. */
export type CardProblems = Partial<Record<CardField, string>>

/** The longest that a field of the card can be. */
const longest = 40

export function cardOf(sent: URLSearchParams): CardEntry {
  const typed = (field: CardField) => (sent.get(field) ?? '').slice(0, longest)
  return { number: typed('number'), expiry: typed('expiry'), cvv: typed('cvv') }
}

/** The field of the card that a refusal names; undefined: it is about something else. */
export function fieldOf({ source }: Failure): CardField | undefined {
  const named = source !== undefined && 'pointer' in source ? source.pointer.split('/').at(-1) : undefined
  return cardFields.find((field) => field === named)
}

import { parseTimestamp } from '../../core/system.ts'

/** Answers without `meta`, resources and errors alike; every field may be missing in what a faulty service sends. */
export interface Wire {
  type?: string
  id?: string
  // biome-ignore lint/suspicious/noExplicitAny: the service's answer is what is being judged; nothing is known of it.
  attributes?: any
  relationships?: Record<string, { data?: { id?: string } | null } | undefined>
}

export interface Names {
  ids: Map<string, string>
  names: Map<string, string>
  /** Each card's expiry, by the card's id: its details must show the same. */
  expiryMs: Map<string, number>
  cardNumber: string | undefined
  clockMs: number
  ordered: boolean
}

export function newNames(clockMs: number, ordered: boolean): Names {
  return { ids: new Map(), names: new Map(), expiryMs: new Map(), cardNumber: undefined, clockMs, ordered }
}

export function nameOf({ names }: Names, id: string | undefined): string {
  return (id === undefined ? undefined : names.get(id)) ?? 'an unknown one'
}

export function related(state: Names, wire: Wire, name: string): string | null {
  const data = wire.relationships?.[name]?.data
  return data === null || data === undefined ? null : nameOf(state, data.id)
}

export function spanMs(from: string, to: string): number {
  return parseTimestamp(to) - parseTimestamp(from)
}

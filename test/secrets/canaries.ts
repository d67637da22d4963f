import type { OperationDefinition } from '../../src/core/operation.ts'
import { secretFields } from '../../src/core/secret-fields.ts'

/** The secrets that flows produced, and what else they said, which must hold none of them. */
export interface Canaries {
  /** Something that is a secret, whoever made it. */
  add(kind: string, value: string): void
  /** Takes the secrets out of what an operation answered. */
  takeFrom(operation: OperationDefinition, data: unknown): void
  readonly values: ReadonlyMap<string, string>
  /** `kind in place` for each secret that a place holds. */
  hitsIn(places: Readonly<Record<string, string>>): string[]
}

/** Shorter texts occur by chance. */
const shortestCanary = 10

export function createCanaries(): Canaries {
  const values = new Map<string, string>()
  const add = (kind: string, value: string) => {
    if (value.length < shortestCanary) throw new Error(`${kind} is too short to be looked for.`)
    values.set(value, kind)
  }
  return {
    add,
    takeFrom: (operation, data) => {
      for (const item of [data].flat() as { attributes?: Record<string, unknown> }[]) {
        for (const field of secretFields(operation)) {
          const value = item?.attributes?.[field]
          // A card's three digits stand in any text; the word before them does not.
          if (typeof value === 'string' && field === 'cvv') add(`${operation.name}.cvv`, `"cvv":"${value}"`)
          else if (typeof value === 'string') add(`${operation.name}.${field}`, secretPart(value))
        }
      }
    },
    values,
    hitsIn: (places) => {
      // JSON within JSON escapes its quotes, once or more.
      const plain = Object.entries(places).map(([place, text]) => [place, text.replaceAll('\\', '')] as const)
      return [...values].flatMap(([value, kind]) =>
        plain.filter(([, text]) => text.includes(value)).map(([place]) => `${kind} in ${place}`),
      )
    },
  }
}

/** The part of an address that can't be guessed: the end of its path, or what its query carries. */
function secretPart(value: string): string {
  if (!/^https?:/.test(value)) return value
  const { pathname, searchParams } = new URL(value)
  return [...searchParams.values()].at(-1) ?? pathname.split('/').at(-1) ?? ''
}

import type { OperationDefinition } from '../../src/core/operation.ts'
import { secretFields } from '../../src/core/secret-fields.ts'

/** The secrets that flows received, to be searched for in all other output. */
export interface Canaries {
  /** Adds a secret. */
  add(kind: string, value: string): void
  /** Adds the secrets in an operation's answer. */
  takeFrom(operation: OperationDefinition, data: unknown): void
  readonly values: ReadonlyMap<string, string>
  /** Returns `kind in place` for each secret that a place contains. */
  hitsIn(places: Readonly<Record<string, string>>): string[]
}

/** The length of the shortest secret to search for. Shorter texts occur by chance. */
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
          // Three digits alone occur in any text, so the field's name is searched for with them.
          if (typeof value === 'string' && field === 'cvv') add(`${operation.name}.cvv`, `"cvv":"${value}"`)
          else if (typeof value === 'string') add(`${operation.name}.${field}`, secretPart(value))
        }
      }
    },
    values,
    hitsIn: (places) => {
      // JSON within JSON escapes its quotes, once or several times.
      const plain = Object.entries(places).map(([place, text]) => [place, text.replaceAll('\\', '')] as const)
      return [...values].flatMap(([value, kind]) =>
        plain.filter(([, text]) => text.includes(value)).map(([place]) => `${kind} in ${place}`),
      )
    },
  }
}

/** Returns the secret part of a text. In an address, it is the last value of the query or the end of the path. */
function secretPart(value: string): string {
  if (!/^https?:/.test(value)) return value
  const { pathname, searchParams } = new URL(value)
  return [...searchParams.values()].at(-1) ?? pathname.split('/').at(-1) ?? ''
}

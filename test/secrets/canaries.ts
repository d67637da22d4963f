import type { OperationDefinition } from '../../src/core/operation.ts'
import { secretFields } from '../../src/core/secret-fields.ts'

/** The secrets that the tests sent or received. The tests search for them in places that must contain no secret. */
export interface Canaries {
  add(kind: string, value: string): void
  /** Adds the secrets in an operation's answer. */
  addFrom(operation: OperationDefinition, data: unknown): void
  readonly values: ReadonlyMap<string, string>
  /** Returns one string for each secret found in a place, such as `password in the log`. */
  hitsIn(places: Readonly<Record<string, string>>): string[]
}

/** The minimum length of a secret. Shorter strings also occur in other output by chance. */
const minLength = 10

export function createCanaries(): Canaries {
  const values = new Map<string, string>()
  const add = (kind: string, value: string) => {
    if (value.length < minLength) throw new Error(`${kind} is too short to search for.`)
    values.set(value, kind)
  }
  return {
    add,
    addFrom: (operation, data) => {
      for (const item of [data].flat() as { attributes?: Record<string, unknown> }[]) {
        for (const field of secretFields(operation)) {
          const value = item?.attributes?.[field]
          // A code of three digits may occur in any output by chance, so the search includes the field's name.
          if (typeof value === 'string' && field === 'cvv') add(`${operation.name}.cvv`, `"cvv":"${value}"`)
          else if (typeof value === 'string') add(`${operation.name}.${field}`, secretPart(value))
        }
      }
    },
    values,
    hitsIn: (places) => {
      // Removes backslashes, because quotes are escaped in JSON that is inside other JSON.
      const plain = Object.entries(places).map(([place, text]) => [place, text.replaceAll('\\', '')] as const)
      return [...values].flatMap(([value, kind]) =>
        plain.filter(([, text]) => text.includes(value)).map(([place]) => `${kind} in ${place}`),
      )
    },
  }
}

/**
 * Returns the secret part of a string. In a URL, this is the last value of the query or, without a query, the last part
 * of the path. Any other string is secret as a whole.
 */
function secretPart(value: string): string {
  if (!/^https?:/.test(value)) return value
  const { pathname, searchParams } = new URL(value)
  return [...searchParams.values()].at(-1) ?? pathname.split('/').at(-1) ?? ''
}

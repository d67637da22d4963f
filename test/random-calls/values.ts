import { z } from 'zod'
import { idPrefixOf } from '../../src/core/accepted-values.ts'
import type { inputParts, OperationDefinition } from '../../src/core/operation.ts'
import type { JsonSchema } from '../../src/openapi/components.ts'
import type { Random } from '../../src/simulate/random.ts'

/** The latest ids in the service's answers, by prefix. */
export class LiveIds {
  readonly #byPrefix = new Map<string, string[]>()
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  learn(text: string): void {
    for (const [id, prefix = ''] of text.matchAll(/\b([a-z]{3})_[0-9a-f]{32}\b/g)) {
      const ids = this.#byPrefix.get(prefix) ?? []
      if (!ids.includes(id)) ids.push(id)
      this.#byPrefix.set(prefix, ids.slice(-maxIds))
    }
  }

  /** Returns an id with the given prefix. Its record may belong to another party, or may not exist. */
  pick(prefix: string): string {
    const ids = this.#byPrefix.get(prefix) ?? []
    if (ids.length === 0 || this.#random.chance(3)) return `${prefix}_${'0'.repeat(31)}${this.#random.int(0, 9)}`
    return this.#random.pick(ids)
  }
}

/** The maximum number of ids per prefix. The oldest ids are dropped, because their records may have been deleted. */
const maxIds = 25

/** Strings in the various formats that fields require. */
const strings = [
  'Books',
  'a',
  'US',
  'IL',
  '021000021',
  '000123456789',
  '*',
  'payment.completed',
  '/agents/*',
  'plain-goods',
  ' x ',
]
strings.push('stoneware-mug', 'issue_agent_card', 'as-it-is', 'nowhere', 'jane@example.com', '+14155550123', '62701')
strings.push('processor-sandbox-accounts', 'https://hooks.example.com/in', '4242424242424242', '123', 'Ünïcødé 😀')

/** Values that must not cause an internal error in any field. */
const hostile: readonly unknown[] = [
  null,
  '',
  ' ',
  0,
  -1,
  1.5,
  1e21,
  true,
  [],
  {},
  'x'.repeat(3_000),
  '\u0000',
  '\ud800',
  "'; --",
]

/** Makes random arguments from the schemas of operations. */
export class Values {
  readonly #random: Random
  readonly #ids: LiveIds
  readonly #now: () => number

  constructor(random: Random, ids: LiveIds, now: () => number) {
    this.#random = random
    this.#ids = ids
    this.#now = now
  }

  hostile(): unknown {
    return this.#random.pick(hostile)
  }

  /** Makes a value that the schema probably accepts. */
  make(schema: JsonSchema): unknown {
    const random = this.#random
    if (schema.const !== undefined) return schema.const
    if (schema.enum !== undefined) return random.pick(schema.enum)
    const alternatives = schema.anyOf ?? schema.oneOf
    if (alternatives !== undefined) return this.make(random.pick(alternatives))
    const type = Array.isArray(schema.type) ? random.pick(schema.type) : schema.type
    if (type === 'object') return this.#object(schema)
    if (type === 'array') {
      const minItems = Number(schema.minItems ?? 0)
      return Array.from({ length: random.int(minItems, minItems + 2) }, () => this.make(schema.items ?? {}))
    }
    if (type === 'integer' || type === 'number') return this.#number(schema)
    if (type === 'boolean') return random.chance(50)
    if (type === 'null') return null
    return this.#string(schema)
  }

  #object({ properties = {}, required = [] }: JsonSchema): object {
    const chosenFields = Object.entries(properties).filter(
      ([name]) => required.includes(name) || this.#random.chance(40),
    )
    return Object.fromEntries(chosenFields.map(([name, property]) => [name, this.make(property)]))
  }

  #number(schema: JsonSchema): number {
    const [minimum, maximum] = [Number(schema.minimum ?? schema.exclusiveMinimum ?? 0), Number(schema.maximum ?? 1e6)]
    const usual = [1, 10, 100, 1_000, 45_000, minimum, minimum + 1].filter(
      (value) => value >= minimum && value <= maximum,
    )
    return this.#random.chance(90) ? this.#random.pick(usual) : maximum
  }

  #string({ pattern, format, maxLength, minLength }: JsonSchema): string {
    const random = this.#random
    const prefix = idPrefixOf(pattern)
    if (prefix !== undefined) return this.#ids.pick(prefix.slice(0, 3))
    if (format === 'date-time') return new Date(this.#now() + random.int(-5, 60) * 86_400_000).toISOString()
    if (format === 'date') return new Date(this.#now()).toISOString().slice(0, 10)
    const regex = pattern === undefined ? undefined : new RegExp(pattern, 'u')
    const fitting = strings.filter(
      (text) =>
        regex?.test(text) !== false && text.length <= Number(maxLength ?? 1e6) && text.length >= Number(minLength ?? 0),
    )
    return fitting.length === 0 ? 'text' : random.pick(fitting)
  }
}

/** Returns the JSON Schema of a part of an operation's input. */
export function schemaOf(operation: OperationDefinition, part: (typeof inputParts)[number]): JsonSchema {
  const shape = operation[part]
  return shape === undefined ? {} : (z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any' }) as JsonSchema)
}

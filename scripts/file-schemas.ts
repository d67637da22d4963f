import { z } from 'zod'
import { Scenario } from '../src/rehearse/scenario.ts'
import { listOf } from '../src/worlds/fields.ts'
import { worldShape } from '../src/worlds/shape.ts'

interface JsonSchema {
  [keyword: string]: unknown
  type?: string
  keyField?: string
  items?: JsonSchema
  required?: string[]
}

/**
 * Functions that return the JSON Schemas with which editors check world files and scenario files, by the path of the
 * schema in the package.
 */
export const fileSchemas: Readonly<Record<string, () => string>> = {
  'schemas/world.schema.json': () => schemaText('A world file of payments-mcp', worldShape, false),
  'schemas/scenarios.schema.json': () => schemaText('A scenario file of payments-mcp', listOf(Scenario, 'id'), true),
}

function schemaText(title: string, schema: z.ZodType, hasDraws: boolean): string {
  const { $schema, ...shape } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema
  const $defs: Record<string, JsonSchema> = {}
  const whole = toFileSchema(shape, { name: 'whole', hasDraws, $defs })
  return `${JSON.stringify({ $schema, title, ...whole, $defs }, null, 1)}\n`
}

interface Context {
  /** The name of the field that the schema describes. */
  name: string
  /** Whether the file may have a placeholder such as `{price}`, defined under `draw`, in place of a value. */
  hasDraws: boolean
  /** The definitions added so far. */
  $defs: Record<string, JsonSchema>
}

/** The schema of a string with a placeholder defined under `draw`, such as `{price}` or `{price + 500}`. */
const placeholder: JsonSchema = { type: 'string', pattern: '\\{[^{}]+\\}' }

/** Turns a schema of parsed values into the schema of the file, where a list of named items may also be a map. */
function toFileSchema(schema: JsonSchema, context: Context): JsonSchema {
  const { keyField, description, ...others } = schema
  const about = description === undefined ? {} : { description }
  const inner = Object.fromEntries(
    Object.entries(others).map(([keyword, value]) => [keyword, convertKeyword(keyword, value, context)]),
  ) as JsonSchema
  if (keyField !== undefined && inner.items !== undefined) {
    const { required = [], ...item } = inner.items
    const $ref = addDefinition(context, { ...item, required: required.filter((name) => name !== keyField) })
    const items = required.includes(keyField) ? { allOf: [{ $ref }], required: [keyField] } : { $ref }
    // YAML parses a map entry without fields as null.
    const entry = { anyOf: [{ $ref }, { type: 'null' }] }
    return {
      ...about,
      anyOf: [
        { ...inner, items },
        { type: 'object', additionalProperties: entry },
      ],
    }
  }
  const isBounded = Object.keys(inner).some((keyword) => !['type', 'default'].includes(keyword))
  const isValue = ['integer', 'number', 'boolean'].includes(inner.type ?? '') || (inner.type === 'string' && isBounded)
  return context.hasDraws && isValue ? { ...about, anyOf: [inner, placeholder] } : { ...about, ...inner }
}

/** Adds a definition under a new key. Returns a reference to the definition. */
function addDefinition({ name, $defs }: Context, schema: JsonSchema): string {
  const taken = Object.keys($defs).filter((key) => key.replace(/\d+$/, '') === name).length
  const key = taken === 0 ? name : `${name}${taken + 1}`
  $defs[key] = schema
  return `#/$defs/${key}`
}

/** Converts the schemas in the value of a keyword. Returns a value without schemas unchanged. */
function convertKeyword(keyword: string, value: unknown, context: Context): unknown {
  const one = (schema: unknown, name = context.name) => toFileSchema(schema as JsonSchema, { ...context, name })
  if (['items', 'additionalProperties'].includes(keyword) && typeof value === 'object') return one(value)
  if (['anyOf', 'oneOf', 'allOf', 'prefixItems'].includes(keyword)) return (value as unknown[]).map((each) => one(each))
  if (keyword !== 'properties') return value
  return Object.fromEntries(Object.entries(value as object).map(([name, schema]) => [name, one(schema, name)]))
}

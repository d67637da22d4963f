import type { Tool } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { fail, show } from '../../core/errors.ts'
import { memoize } from '../../core/memoize.ts'
import { inputParts, type OperationDefinition } from '../../core/operation.ts'
import { leavesOut } from '../answers/texts.ts'
import type { OfferedChoice } from '../dependencies.ts'
import { questions } from '../people/questions.ts'

type Json = Record<string, unknown>

/**
 * Returns the schema of a tool's arguments. Models read it with every request, so it contains only facts that help them
 * to fill in the arguments. The client checks the rest.
 */
export function inputSchema(operation: OperationDefinition, hasDecision = false): Tool['inputSchema'] {
  const schema = z.toJSONSchema(z.object(shapeOf(operation)), { io: 'input' })
  const properties = propertiesOf(schema as Json)
  // Both names mean the same. The tool accepts both, but lists only one.
  if (properties.customerPartyId !== undefined) delete properties.partyId
  for (const name of operation.unlisted ?? []) delete properties[name]
  // Arguments with a single value are filled in, but still listed, because some hosts drop a call with an unlisted
  // argument.
  const filledIn = onlyValues(operation)
  for (const [name, value] of Object.entries(filledIn)) properties[name] = onlyValueSchema(operation, name, value)
  const clearable = clearableOf(operation)
  if (clearable.length > 0) {
    properties.clear = { type: 'array', items: { type: 'string', enum: clearable }, description: 'Fields to empty' }
  }
  if (leavesOut(operation)) properties.detail = { type: 'string', enum: ['full'], description: 'With hashes' }
  if (takesKey(operation)) {
    const description = operation.adds === true ? 'Usually omit; a new key acts again' : 'Usually omit'
    properties.idempotencyKey = { type: 'string', description }
  }
  if (hasDecision) properties.decision = { type: 'string', description: 'Id given in a result' }
  const needed =
    schema.required?.filter((name) => properties[name] !== undefined && !Object.hasOwn(filledIn, name)) ?? []
  const required = needed.length === 0 ? {} : { required: needed }
  return { type: 'object', properties, ...required, additionalProperties: false } as Tool['inputSchema']
}

/**
 * Returns whether the tool takes a key. Some tools take one although the API does not: a new key distinguishes a
 * deliberate new call from a repeat.
 */
export function takesKey({ idempotency, adds }: OperationDefinition): boolean {
  return idempotency === 'required' || adds === true
}

/** Returns whether the tool accepts the id of a person's decision. */
export function takesDecision({ offersDecisions }: OfferedChoice, { name }: OperationDefinition): boolean {
  return offersDecisions && Object.hasOwn(questions, name)
}

/**
 * Converts a tool's arguments to those of the operation. Some hosts cannot offer a model an object with arbitrary keys,
 * so the tool has a list of `{key, value}` instead. The object itself is accepted too.
 */
export function operationArguments(operation: OperationDefinition, hostArguments: Json): Json {
  const shape = shapeOf(operation)
  const entries = Object.entries(hostArguments).map(([name, value]) => {
    const isList =
      Array.isArray(value) && Object.hasOwn(shape, name) && unwrapSchema(shape[name]) instanceof z.ZodRecord
    return [name, isList ? recordOf(name, value) : value]
  })
  return Object.fromEntries(entries)
}

export const shapeOf = memoize(
  (operation: OperationDefinition): Readonly<Record<string, z.ZodType>> =>
    Object.assign({}, ...inputParts.map((part) => operation[part]?.shape), limitForModels(operation)),
)

/** The page size for models. It is smaller than for programs, because a model reads every record. */
const defaultPageSize = 10

function limitForModels({ query }: OperationDefinition): Readonly<Record<string, z.ZodType>> {
  const { limit } = query?.shape ?? {}
  if (!(limit instanceof z.ZodDefault)) return {}
  const size = limit.unwrap() as z.ZodType
  return { limit: size.describe(`Default ${defaultPageSize}`).default(defaultPageSize) }
}

/**
 * The arguments with a single possible value, such as a currency. They are filled in, so a model need not send them.
 */
export const onlyValues = memoize((operation: OperationDefinition): Readonly<Json> => {
  const fields = Object.entries(shapeOf(operation)).map(([name, schema]) => [name, unwrapSchema(schema)] as const)
  return Object.fromEntries(
    fields.flatMap(([name, schema]) =>
      schema instanceof z.ZodEnum && schema.options.length === 1 ? [[name, schema.options[0]]] : [],
    ),
  )
})

/** Describes an argument with a single value; hosts show its description to people. */
function onlyValueSchema(operation: OperationDefinition, name: string, value: unknown): Json {
  const { description } = unwrapSchema(shapeOf(operation)[name]) as z.ZodType
  return { type: 'string', enum: [value], ...(description === undefined ? {} : { description }) }
}

/**
 * Returns the fields that the argument `clear` may name. The argument exists because null means omitted over MCP. The
 * fields are those that a change may set to null, if the answer may contain null too, and nullable fields with a
 * default.
 */
export const clearableOf = memoize(({ method, attributes, output }: OperationDefinition): readonly string[] => {
  const answered = (output.shape.attributes as z.ZodObject | undefined)?.shape ?? {}
  const takesNull = (schema: z.ZodType | undefined) => schema?.safeParse(null).success === true
  return Object.entries(attributes?.shape ?? {})
    .filter(
      ([name, schema]) =>
        takesNull(schema) && (schema instanceof z.ZodDefault || (method === 'PATCH' && takesNull(answered[name]))),
    )
    .map(([name]) => name)
})

/** Unwraps a schema that is optional, nullable or has a default. */
function unwrapSchema(schema: unknown): unknown {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault
    ? unwrapSchema(schema.unwrap())
    : schema
}

function recordOf(name: string, list: readonly unknown[]): Json {
  const record = new Map<string, unknown>()
  for (const [index, entry] of list.entries()) {
    const { key, value } = (entry ?? {}) as Json
    if (typeof key !== 'string' || value === undefined || Object.keys(entry as Json).length !== 2) {
      refuse(name, index, `must be {key, value}; got ${show(entry)}`)
    }
    if (record.has(key)) refuse(name, index, `repeats the key ${show(key)}; each key may occur once`)
    record.set(key, value)
  }
  return Object.fromEntries(record)
}

function refuse(name: string, index: number, wrong: string): never {
  fail('invalid_value', {
    detail: `${name}.${index} ${wrong}.`,
    source: { pointer: `/data/attributes/${name}` },
    status: 422,
  })
}

/**
 * The most values of an enum in a tool's schema. A longer enum is left out, because a model reads the schema with every
 * request; the description names the usual values.
 */
const maxEnumValues = 16

/** The schema states no length limit above this one, because models do not write longer texts. */
const maxStatedLength = 200

/** Keeps the parts that a model can use. Parts that some hosts drop also appear in words. */
function compactInput(whole: Json): Json {
  // Alternatives are distinguished by a field. Of the two keywords, only anyOf is understood by all known hosts.
  const { oneOf, anyOf = oneOf ?? [], ...siblings } = whole
  const either = mergeNull(anyOf as Json[])
  if (either === undefined) return { ...siblings, anyOf: (anyOf as Json[]).map(compactInput) }
  const {
    pattern: _,
    properties,
    additionalProperties,
    propertyNames: __,
    items,
    ...schema
  } = { ...either, ...siblings }
  simplifyBounds(schema)
  replaceConst(schema)
  if (isSchema(additionalProperties)) return withBoundsInWords(listOfEntries(schema, additionalProperties))
  if (Array.isArray(schema.enum) && schema.enum.length > maxEnumValues) delete schema.enum
  if (items !== undefined) {
    schema.items = compactInput(items as Json)
    // Each word may appear once, so the number of words bounds the list.
    if (Array.isArray((items as Json).enum)) delete schema.maxItems
  }
  if (properties !== undefined) {
    schema.properties = propertiesOf({ properties })
    // The service refuses unknown fields.
    schema.additionalProperties = false
  }
  return withBoundsInWords(schema)
}

/** Omits objects with unknown content: a model has nothing to put there, and some hosts cannot offer them. */
function propertiesOf({ properties }: Json): Record<string, Json> {
  const entries = Object.entries((properties ?? {}) as Record<string, Json>)
  const usableEntries = entries.filter(([, { type, properties, additionalProperties }]) => {
    return type !== 'object' || properties !== undefined || isSchema(additionalProperties)
  })
  return Object.fromEntries(usableEntries.map(([name, property]) => [name, withoutNull(compactInput(property))]))
}

/** Removes null from the types. Over MCP null means omitted: hosts send it for fields that a model does not fill in. */
function withoutNull(schema: Json): Json {
  if (!Array.isArray(schema.type)) return schema
  const types = schema.type.filter((word) => word !== 'null')
  return { ...schema, type: types.length === 1 ? types[0] : types }
}

/** Writes a single value as an enum, which every host reads. */
function replaceConst(schema: Json): void {
  if (schema.const === undefined) return
  schema.enum = [schema.const]
  delete schema.const
}

/** Keeps bounds in a form that every host reads, and drops bounds that only a program would reach. */
function simplifyBounds(schema: Json): void {
  const { exclusiveMinimum, minimum, maximum, maxLength } = schema
  delete schema.exclusiveMinimum
  if (exclusiveMinimum === 0 && [schema.type].flat().includes('integer')) schema.minimum = 1
  if (minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if (typeof maxLength === 'number' && maxLength > maxStatedLength) delete schema.maxLength
}

function listOfEntries({ type: _, ...others }: Json, value: Json): Json {
  const properties = { key: { type: 'string', description: 'Tag name' }, value: compactInput(value) }
  const items = { type: 'object', properties, required: ['key', 'value'], additionalProperties: false }
  return { type: 'array', ...others, items }
}

/**
 * Moves bounds into the description, because some hosts pass on only the description. Adds the format and the default.
 */
function withBoundsInWords(schema: Json): Json {
  const words = [schema.description, boundsInWords(schema), formInWords(schema), defaultInWords(schema)]
  for (const bound of boundKeywords) delete schema[bound]
  const description = words.filter((text) => text !== undefined).join('; ')
  return description === '' ? schema : { ...schema, description }
}

const boundKeywords = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems']

function boundsInWords({ type, ...bounds }: Json): string | undefined {
  const kind = Array.isArray(type) ? type[0] : type
  if (kind === 'string') return range(bounds.minLength, bounds.maxLength, ' characters')
  if (kind !== 'array') return range(bounds.minimum, bounds.maximum, '')
  return range(bounds.minItems, bounds.maxItems, ' entries')
}

function range(min: unknown, max: unknown, unit: string): string | undefined {
  if (max === undefined) return min === undefined || unit !== '' ? undefined : `at least ${min}`
  return min === undefined ? `at most ${max}${unit}` : `${min} to ${max}${unit}`
}

const forms: Readonly<Record<string, string>> = {
  'date-time': 'RFC 3339, as 2026-01-31T12:00:00Z',
  email: 'as ada@example.com',
  uri: 'as https://example.com/path',
}

function formInWords({ format }: Json): string | undefined {
  return forms[String(format)]
}

function defaultInWords(schema: Json): string | undefined {
  return schema.default === undefined ? undefined : `default ${schema.default}`
}

/**
 * Returns whether `additionalProperties` is a schema that restricts the values of other keys, not a boolean or `{}`.
 */
function isSchema(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

/**
 * Turns `{anyOf: [X, null]}`, zod's form of nullable, into X with null among its types; undefined for other
 * alternatives.
 */
export function mergeNull(either: readonly Json[]): Json | undefined {
  const [value, nothing] = either
  if (value === undefined) return {}
  if (either.length !== 2 || nothing?.type !== 'null') return undefined
  return { ...value, type: [value.type, 'null'] }
}

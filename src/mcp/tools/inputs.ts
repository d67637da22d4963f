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
 * fill in the arguments. The API client validates everything else.
 */
export function inputSchema(operation: OperationDefinition, hasDecision = false): Tool['inputSchema'] {
  const schema = z.toJSONSchema(z.object(shapeOf(operation)), { io: 'input' })
  const properties = propertiesOf(schema as Json)
  // customerPartyId and partyId mean the same. The tool accepts both, but the schema lists only customerPartyId.
  if (properties.customerPartyId !== undefined) delete properties.partyId
  for (const name of operation.unlisted ?? []) delete properties[name]
  // The server fills in arguments that have a single possible value. They are still listed, because some hosts drop a
  // call that contains an unlisted argument.
  const filledIn = onlyValues(operation)
  for (const [name, value] of Object.entries(filledIn)) properties[name] = onlyValueSchema(operation, name, value)
  const clearable = clearableOf(operation)
  if (clearable.length > 0) {
    properties.clear = { type: 'array', items: { type: 'string', enum: clearable }, description: 'Fields to clear' }
  }
  if (leavesOut(operation)) properties.detail = { type: 'string', enum: ['full'], description: 'Include hashes' }
  if (takesKey(operation)) {
    const description = operation.adds === true ? 'Usually omit; new key = new action' : 'Usually omit'
    properties.idempotencyKey = { type: 'string', description }
  }
  if (hasDecision) properties.decision = { type: 'string', description: 'Id from a result' }
  const needed =
    schema.required?.filter((name) => properties[name] !== undefined && !Object.hasOwn(filledIn, name)) ?? []
  const required = needed.length === 0 ? {} : { required: needed }
  return { type: 'object', properties, ...required, additionalProperties: false } as Tool['inputSchema']
}

/**
 * Returns whether the tool has the argument `idempotencyKey`. Some tools have it although the API takes no key. In
 * these tools, a new key shows that a call is deliberate and not a repeat.
 */
export function takesKey({ idempotency, adds }: OperationDefinition): boolean {
  return idempotency === 'required' || adds === true
}

/** Returns whether the tool has the argument `decision`, the id of a person's decision. */
export function takesDecision({ offersDecisions }: OfferedChoice, { name }: OperationDefinition): boolean {
  return offersDecisions && Object.hasOwn(questions, name)
}

/**
 * Converts a tool's arguments to those of the operation. Some hosts do not support an object with arbitrary keys as an
 * argument, so the schema asks for a list of `{key, value}` instead. The tool accepts the object too.
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

/** The default page size for models. It is smaller than the API's, because a model reads every record. */
const defaultPageSize = 10

function limitForModels({ query }: OperationDefinition): Readonly<Record<string, z.ZodType>> {
  const { limit } = query?.shape ?? {}
  if (!(limit instanceof z.ZodDefault)) return {}
  const size = limit.unwrap() as z.ZodType
  return { limit: size.describe(`Default ${defaultPageSize}`).default(defaultPageSize) }
}

/** Returns the arguments that have only one possible value, with that value. The server fills in these arguments. */
export const onlyValues = memoize((operation: OperationDefinition): Readonly<Json> => {
  const fields = Object.entries(shapeOf(operation)).map(([name, schema]) => [name, unwrapSchema(schema)] as const)
  return Object.fromEntries(
    fields.flatMap(([name, schema]) =>
      schema instanceof z.ZodEnum && schema.options.length === 1 ? [[name, schema.options[0]]] : [],
    ),
  )
})

/** Returns the schema of an argument with one possible value. Hosts show its description to people. */
function onlyValueSchema(operation: OperationDefinition, name: string, value: unknown): Json {
  const { description } = unwrapSchema(shapeOf(operation)[name]) as z.ZodType
  return { type: 'string', enum: [value], ...(description === undefined ? {} : { description }) }
}

/**
 * Returns the fields that the argument `clear` can set to null. This argument exists because in all other arguments,
 * null means "omitted" over MCP. The fields are the nullable fields with a default and, in a PATCH, also the fields
 * that are nullable in both the request and the answer.
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
 * The maximum number of enum values in a tool's schema. A longer enum is left out, because a model reads the schema
 * with every request. The field's description lists the usual values instead.
 */
const maxEnumValues = 16

/** The highest length limit that the schema states. Higher limits are left out, because models do not reach them. */
const maxStatedLength = 200

/** Reduces a schema to what a model can use. Moves keywords that some hosts drop into the description. */
function compactInput(whole: Json): Json {
  // Some hosts do not understand oneOf. Here anyOf means the same, because a field distinguishes the alternatives.
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
    // Each enum value may occur only once, so the enum already limits the length of the list.
    if (Array.isArray((items as Json).enum)) delete schema.maxItems
  }
  if (properties !== undefined) {
    schema.properties = propertiesOf({ properties })
    // The service refuses unknown fields.
    schema.additionalProperties = false
  }
  return withBoundsInWords(schema)
}

/** Compacts properties. Omits objects without declared fields: models cannot fill them, and some hosts reject them. */
function propertiesOf({ properties }: Json): Record<string, Json> {
  const entries = Object.entries((properties ?? {}) as Record<string, Json>)
  const usableEntries = entries.filter(([, { type, properties, additionalProperties }]) => {
    return type !== 'object' || properties !== undefined || isSchema(additionalProperties)
  })
  return Object.fromEntries(usableEntries.map(([name, property]) => [name, withoutNull(compactInput(property))]))
}

/** Removes null from the types. Over MCP, null means "omitted": hosts send it for fields that a model leaves empty. */
function withoutNull(schema: Json): Json {
  if (!Array.isArray(schema.type)) return schema
  const types = schema.type.filter((word) => word !== 'null')
  return { ...schema, type: types.length === 1 ? types[0] : types }
}

/** Replaces `const` with an enum of one value, because every host understands enums. */
function replaceConst(schema: Json): void {
  if (schema.const === undefined) return
  schema.enum = [schema.const]
  delete schema.const
}

/** Converts bounds to a form that every host understands, and removes bounds that no model would reach. */
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

/** Moves bounds into the description, and adds format and default to it: some hosts pass on only the description. */
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
  'date-time': 'RFC 3339, like 2026-01-31T12:00:00Z',
  email: 'like ada@example.com',
  uri: 'like https://example.com/path',
}

function formInWords({ format }: Json): string | undefined {
  return forms[String(format)]
}

function defaultInWords(schema: Json): string | undefined {
  return schema.default === undefined ? undefined : `default ${schema.default}`
}

/** Returns whether `additionalProperties` is a schema that restricts undeclared keys, not a boolean or `{}`. */
function isSchema(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

/**
 * Merges X and null, the alternatives that zod writes for a nullable schema X, into X with null among its types.
 * Returns `{}` if there are no alternatives, and undefined for any others.
 */
export function mergeNull(either: readonly Json[]): Json | undefined {
  const [value, nothing] = either
  if (value === undefined) return {}
  if (either.length !== 2 || nothing?.type !== 'null') return undefined
  return { ...value, type: [value.type, 'null'] }
}

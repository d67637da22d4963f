import { bodyPlaces, relationshipOf } from '../core/body-places.ts'
import { type ErrorSource, fail, show } from '../core/errors.ts'
import { type InvalidValue, invalidValues, jsonPointer } from '../core/invalid-value.ts'
import { maskForeignText } from '../core/masking.ts'
import { inputParts, type OperationDefinition } from '../core/operation.ts'

/** A validated input, split into the parts of an HTTP request. */
interface PreparedInput {
  /** The path with the query, relative to the base address. */
  path: string
  /** The ids in the path, not encoded. */
  params: Record<string, string>
  /** The JSON body; undefined if the operation takes no body. */
  body: string | undefined
}

type Part = (typeof inputParts)[number]
type Values = Record<string, unknown>

/**
 * Validates the arguments against the operation's schemas, and splits them into the parts of an HTTP request.
 * @throws {Failure} With the code `invalid_value` and a message about every wrong argument.
 */
export function prepare(operation: OperationDefinition, input: unknown): PreparedInput {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    fail('invalid_value', { detail: `${operation.name} takes an object of arguments; got ${show(input)}.` })
  }
  const { parts: sent, wrong } = split(operation, input as Values)
  const [first] = wrong
  if (first !== undefined) {
    const { source, status, accepts } = first
    const detail = wrong.map((argument) => argument.detail).join(' ')
    fail('invalid_value', { detail, source, status, ...(accepts === undefined ? {} : { accepts }) })
  }
  const params = Object.fromEntries(Object.entries(sent.params).map(([name, value]) => [name, String(value)]))
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])))
  const query = new URLSearchParams(Object.entries(sent.query).flatMap(queryEntries)).toString()
  return {
    path: query === '' ? path : `${path}?${query}`,
    params,
    body: operation.attributes && JSON.stringify({ data: bodyOf(operation.attributes, sent.attributes) }),
  }
}

function bodyOf(schema: NonNullable<OperationDefinition['attributes']>, sent: Values) {
  const { relationships: related } = bodyPlaces(schema)
  if (related === undefined) return { attributes: sent }
  const isRelated = ([field]: [string, unknown]) => Object.hasOwn(related.shape, field)
  const attributes = Object.entries(sent).filter((entry) => !isRelated(entry))
  const relationships = Object.entries(sent)
    .filter(isRelated)
    .map(([field, id]) => {
      const type = relationshipOf(field)
      return [type, { data: { type, id } }]
    })
  return { attributes: Object.fromEntries(attributes), relationships: Object.fromEntries(relationships) }
}

/** An unknown, missing or invalid argument. */
export interface WrongArgument extends InvalidValue {
  source: ErrorSource
  status: 400 | 422
}

/** Returns all wrong arguments of an input: an empty array if the input can be sent. */
export function wrongArguments(operation: OperationDefinition, input: Values): WrongArgument[] {
  return split(operation, input).wrong
}

function split(operation: OperationDefinition, input: Values) {
  const parts: Record<Part, Values> = { params: {}, query: {}, attributes: {} }
  const wrong: WrongArgument[] = []
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined) continue
    const part = inputParts.find((candidate) => Object.hasOwn(operation[candidate]?.shape ?? {}, name))
    if (part === undefined) wrong.push(unknownArgument(operation, name))
    else parts[part][name] = value
  }
  for (const part of inputParts) {
    const schema = operation[part]
    const parsed = schema?.safeParse(parts[part])
    if (schema === undefined || parsed === undefined) continue
    if (!parsed.success)
      wrong.push(...invalidValues(parsed.error, parts[part], schema).map((found) => argumentAt(operation, part, found)))
    // Omits the defaults that the schema filled in, because the service itself fills them in.
    else parts[part] = Object.fromEntries(Object.keys(parts[part]).map((name) => [name, parsed.data[name]]))
  }
  return { parts, wrong }
}

function queryEntries([name, value]: [string, unknown]): [string, string][] {
  return Array.isArray(value) ? value.map((item) => [name, String(item)]) : [[name, String(value)]]
}

function unknownArgument(operation: OperationDefinition, name: string): WrongArgument {
  const inputNames = inputParts.flatMap((part) => Object.keys(operation[part]?.shape ?? {}))
  const takes = inputNames.length === 0 ? 'no arguments' : inputNames.join(', ')
  const detail = `There is no argument ${show(name)}; ${operation.name} takes ${takes}.`
  const source = { parameter: maskForeignText(name.slice(0, 60)) }
  return {
    path: [name],
    detail,
    kind: 'unknown',
    accepts: undefined,
    idPrefix: undefined,
    got: undefined,
    source,
    status: 400,
  }
}

function argumentAt({ attributes }: OperationDefinition, part: Part, found: InvalidValue): WrongArgument {
  const [field = ''] = found.path
  const isRelated = attributes !== undefined && bodyPlaces(attributes).relationships?.shape[field] !== undefined
  if (part !== 'attributes' || isRelated) return { ...found, source: { parameter: field }, status: 400 }
  const source = { pointer: `/data/attributes${jsonPointer(found.path)}` }
  return { ...found, source, status: found.kind === 'unknown' ? 400 : 422 }
}

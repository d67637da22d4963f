import type { z } from 'zod'
import { fail, maskSecrets, show } from '../errors.ts'
import { invalidValue, jsonPointer } from '../invalid-value.ts'
import { inputParts, type OperationDefinition, relationshipOf } from '../operation.ts'

/** A flat input, checked and put where the operation declares each argument. */
export interface PreparedInput {
  /** With the query, relative to the base address. */
  path: string
  /** The JSON envelope; undefined where the operation takes no body. */
  body: string | undefined
}

type Part = (typeof inputParts)[number]
type Values = Record<string, unknown>

/** Checks a flat input by the operation's own schemas. Throws `Failure` invalid_value that names what is wrong. */
export function prepare(operation: OperationDefinition, input: unknown): PreparedInput {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    fail('invalid_value', { detail: `${operation.name} takes an object of arguments; got ${show(input)}.` })
  }
  const sent = split(operation, input as Values)
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(sent.params[name])))
  const query = new URLSearchParams(Object.entries(sent.query).flatMap(queryEntries)).toString()
  return {
    path: query === '' ? path : `${path}?${query}`,
    body: operation.attributes === undefined ? undefined : JSON.stringify({ data: bodyOf(operation, sent) }),
  }
}

function bodyOf({ related }: OperationDefinition, sent: Record<Part, Values>) {
  if (related === undefined) return { attributes: sent.attributes }
  const relationships = Object.entries(sent.related).map(([field, id]) => {
    const type = relationshipOf(field)
    return [type, { data: { type, id } }]
  })
  return { attributes: sent.attributes, relationships: Object.fromEntries(relationships) }
}

function split(operation: OperationDefinition, input: Values): Record<Part, Values> {
  const parts: Record<Part, Values> = { params: {}, query: {}, attributes: {}, related: {} }
  for (const [name, value] of Object.entries(input)) {
    if (value === undefined) continue
    const part = inputParts.find((candidate) => Object.hasOwn(operation[candidate]?.shape ?? {}, name))
    if (part === undefined) failUnknown(operation, name)
    else parts[part][name] = value
  }
  for (const part of inputParts) {
    const parsed = operation[part]?.safeParse(parts[part])
    if (parsed === undefined) continue
    if (!parsed.success) failInvalid(part, parsed.error, parts[part])
    // Only what the caller passed: defaults are the service's to fill in.
    parts[part] = Object.fromEntries(Object.keys(parts[part]).map((name) => [name, parsed.data[name]]))
  }
  return parts
}

function queryEntries([name, value]: [string, unknown]): [string, string][] {
  return Array.isArray(value) ? value.map((item) => [name, String(item)]) : [[name, String(value)]]
}

function failUnknown(operation: OperationDefinition, name: string): never {
  const known = inputParts.flatMap((part) => Object.keys(operation[part]?.shape ?? {}))
  const takes = known.length === 0 ? 'no arguments' : known.join(', ')
  const detail = `There is no argument ${show(name)}; ${operation.name} takes ${takes}.`
  fail('invalid_value', { detail, source: { parameter: maskSecrets(name.slice(0, 60)) } })
}

function failInvalid(part: Part, error: z.ZodError, values: Values): never {
  const { path, detail, unknown } = invalidValue(error, values)
  if (part !== 'attributes') fail('invalid_value', { detail, source: { parameter: path[0] ?? '' } })
  const source = { pointer: `/data/attributes${jsonPointer(path)}` }
  fail('invalid_value', { detail, source, status: unknown ? 400 : 422 })
}

import type { JsonSchema } from '../../../openapi/components.ts'
import type { openApiDocument } from '../../../openapi/document.ts'

type OpenApi = ReturnType<typeof openApiDocument>

/** A parameter, or a member of a body. The name of a nested member includes its parents' names: `limits.perDay`. */
export interface Field {
  name: string
  type: string
  isRequired: boolean
  description: string
}

/** The content of an operation's page. */
export interface OperationShown {
  id: string
  tag: string
  title: string
  description: string
  method: string
  path: string
  parameters: (Field & { in: string })[]
  needsKey: boolean
  body: { fields: Field[]; example: unknown } | null
  answer: { status: string; fields: Field[]; example: unknown }
  errors: { status: string; description: string }[]
}

interface Parameter {
  name: string
  in: string
  required: boolean
  description?: string
  schema: JsonSchema
}

interface Content {
  description?: string
  content: { 'application/json': { schema: JsonSchema; example?: unknown } }
}

interface OperationObject {
  operationId: string
  tags: [string]
  summary: string
  description: string
  parameters: (Parameter | { $ref: string })[]
  requestBody?: Content
  responses: Record<string, Content | { $ref: string }>
}

/** Returns the operations of an OpenAPI document, with all references resolved. */
export function operationsOf({ paths, components }: OpenApi): OperationShown[] {
  const resolveRef = <Value>(value: Value | { $ref: string }): Value => {
    const { $ref } = value as { $ref?: string }
    if ($ref === undefined) return value as Value
    const [, , kind, name] = $ref.split('/') as [string, string, keyof typeof components, string]
    return (components[kind] as Record<string, Value>)[name] as Value
  }
  const fieldsIn = (content: Content): Field[] => fieldsOf(content.content['application/json'].schema, resolveRef)
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => {
      const { operationId, tags, summary, description, parameters, requestBody, responses } =
        described as unknown as OperationObject
      const all = parameters.map((one) => resolveRef<Parameter>(one))
      const [[status, answer] = ['', undefined]] = Object.entries(responses).filter(([code]) => code.startsWith('2'))
      if (answer === undefined) throw new Error(`Bug: ${operationId} has no success response.`)
      const ok = resolveRef<Content>(answer)
      return {
        id: operationId,
        tag: tags[0],
        title: summary,
        description,
        method: method.toUpperCase(),
        path,
        parameters: all.map(({ name, in: place, required, description: text = '', schema }) => {
          return { name, in: place, type: typeText(schema, resolveRef), isRequired: required, description: text }
        }),
        needsKey: all.some(({ name }) => name === 'Idempotency-Key'),
        body:
          requestBody === undefined
            ? null
            : { fields: fieldsIn(requestBody), example: requestBody.content['application/json'].example },
        answer: { status, fields: fieldsIn(ok), example: ok.content['application/json'].example },
        errors: Object.entries(responses)
          .filter(([code]) => !code.startsWith('2'))
          .map(([code, response]) => ({ status: code, description: resolveRef<Content>(response).description ?? '' })),
      }
    }),
  )
}

type ResolveRef = (schema: JsonSchema) => JsonSchema

/** Lists the members of an object, including the members of nested objects. */
function fieldsOf(schema: JsonSchema, resolveRef: ResolveRef, prefix = ''): Field[] {
  const { properties = {}, required = [] } = resolveRef(schema)
  return Object.entries(properties).flatMap(([member, value]) => {
    const name = prefix + member
    const { description = '' } = resolveRef(value)
    const field = { name, type: typeText(value, resolveRef), isRequired: required.includes(member), description }
    return [
      field,
      ...nestedIn(value, resolveRef).flatMap(([one, suffix]) => fieldsOf(one, resolveRef, `${name}${suffix}.`)),
    ]
  })
}

/**
 * Returns the schemas of the objects that a value may be or, if the value is a list, may contain. Each schema comes
 * with a suffix to append to the value's name: one `[]` for each list around the object.
 */
function nestedIn(schema: JsonSchema, resolveRef: ResolveRef): [JsonSchema, string][] {
  const { anyOf, oneOf, items, properties } = resolveRef(schema)
  const choices = anyOf ?? oneOf
  if (choices !== undefined) return choices.flatMap((one) => nestedIn(one, resolveRef))
  if (items !== undefined) return nestedIn(items, resolveRef).map(([one, suffix]) => [one, `[]${suffix}`])
  return properties === undefined ? [] : [[schema, '']]
}

/** Describes the values that a schema accepts, in a few words. */
function typeText(schema: JsonSchema, resolveRef: ResolveRef): string {
  const { type, format, items, anyOf, oneOf, minimum, maximum, maxLength, ...rest } = resolveRef(schema)
  const choices = anyOf ?? oneOf
  if (choices !== undefined) return [...new Set(choices.map((one) => typeText(one, resolveRef)))].join(' or ')
  if (rest.const !== undefined) return JSON.stringify(rest.const)
  if (rest.enum !== undefined) return rest.enum.map((value) => JSON.stringify(value)).join(' or ')
  if (items !== undefined) return `list of ${typeText(items, resolveRef)}`
  const name = format ?? [type ?? 'any value'].flat().join(' or ')
  const bounds = [
    ...(minimum === undefined ? [] : [`at least ${minimum}`]),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER ? [] : [`at most ${maximum}`]),
    ...(maxLength === undefined ? [] : [`up to ${maxLength} characters`]),
  ]
  return [name, ...bounds].join(', ')
}

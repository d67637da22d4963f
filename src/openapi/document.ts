import { z } from 'zod'
import { catalogue } from '../../tools/index.ts'
import { acceptsPartyNextToData, bodyPlaces, relationshipOf } from '../core/body-places.ts'
import { errorsByStatus } from '../core/declared-errors.ts'
import { type ErrorCode, errorTable } from '../core/errors.ts'
import {
  camelCase,
  type Environment,
  environmentSegments,
  type OperationDefinition,
  successStatus,
} from '../core/operation.ts'
import { displayName } from '../core/product.ts'
import { errorSchema, headerParameters, type JsonSchema, paginationSchema, responseHeaders } from './components.ts'
import { requestExample, responseExample } from './examples.ts'
import { tagDescriptions } from './tags.ts'

type Json = Record<string, unknown>

export interface OpenApiOptions {
  environment: Environment
  /** The base URL at which clients reach the API. */
  serverUrl: string
}

/** Builds the OpenAPI 3.1.1 document of all operations that an environment offers. */
export function openApiDocument({ environment, serverUrl }: OpenApiOptions) {
  const operations = (Object.values(catalogue) as OperationDefinition[]).filter(({ environments }) =>
    environments.includes(environment),
  )
  const components = new Components()
  const paths: Record<string, Record<string, Json>> = {}
  for (const operation of operations) {
    const methods = paths[operation.path] ?? {}
    methods[operation.method.toLowerCase()] = describeOperation(operation, components)
    paths[operation.path] = methods
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Payments API',
      version: '0.2.0',
      description:
        'Amounts are integers in minor units (cents for USD). Timestamps are RFC 3339 in UTC. The version number is that of the API, not of the software.',
      contact: { name: displayName, url: serverUrl },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: serverUrl, description: environment }],
    security: [{ bearer: [] }],
    tags: [...new Set(operations.map(tagOf))].map((name) => ({ name, description: tagDescriptions[name] })),
    paths,
    components: {
      schemas: { Error: errorSchema, Pagination: paginationSchema, ...components.schemas },
      responses: components.responses,
      parameters: headerParameters,
      headers: responseHeaders,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: `API key (sk_ntl_${environmentSegments[environment]}_…), agent key (ak_ntl_${environmentSegments[environment]}_…) or OAuth access token.`,
        },
      },
    },
  }
}

/** Returns an operation's tag, which is the first segment of its path, such as `agent-cards`. */
export function tagOf({ path }: OperationDefinition): string {
  const segment = path.split('/')[1]
  if (segment === undefined) throw new Error(`Bug: ${path} has no segment`)
  return segment
}

function describeOperation(operation: OperationDefinition, components: Components): Json {
  const { name, title, description, attributes, output, result, meta, idempotency } = operation
  const required = idempotency === 'required'
  const example = responseExample(operation, {
    resource: toSchema(output, 'output'),
    meta: meta === undefined ? undefined : toSchema(meta, 'output'),
  })
  const errors = [...errorsByStatus(operation)].map(([status, codes]) => [
    String(status),
    components.error(status, codes, required && !unrecordedStatuses.has(status)),
  ])
  return {
    operationId: camelCase(name),
    tags: [tagOf(operation)],
    summary: title,
    description,
    parameters: parametersOf(operation),
    ...(attributes === undefined ? {} : { requestBody: requestBody(operation, attributes) }),
    responses: {
      [String(successStatus(operation))]: {
        description: successDescriptions[result],
        headers: headersOf(['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'], required),
        content: { 'application/json': { schema: envelope(components.resource(operation), operation), example } },
      },
      ...Object.fromEntries(errors),
    },
    ...(operation.extension ? { 'x-extension': true } : {}),
  }
}

function parametersOf({ params, query, idempotency, instanceId, agentHeader }: OperationDefinition): Json[] {
  const fields = (['path', 'query'] as const).flatMap((place) => {
    const shape = place === 'path' ? params : query
    const { properties = {}, required = [] } = shape === undefined ? {} : toSchema(shape, 'input')
    return Object.entries(properties).map(([name, { description, ...schema }]) => ({
      name,
      in: place,
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema,
    }))
  })
  const headers = idempotency === 'required' ? ['IdempotencyKey'] : []
  headers.push(instanceId === 'agents' ? 'InstanceIdOfAgents' : 'InstanceId')
  if (agentHeader === true) headers.push('AgentId')
  return [...fields, ...headers.map((name) => ({ $ref: `#/components/parameters/${name}` }))]
}

const successDescriptions = {
  one: 'The resource.',
  oneOrNull: 'The resource, or null.',
  page: 'A page of the list.',
  several: 'The resources.',
} as const satisfies Record<OperationDefinition['result'], string>

function requestBody(operation: OperationDefinition, attributes: z.ZodObject): Json {
  const places = bodyPlaces(attributes)
  const schema = toSchema(places.attributes, 'input')
  const relationships = relationshipsOf(places)
  const data = { attributes: schema, ...(relationships === undefined ? {} : { relationships }) }
  const example = { data: requestExample(operation, schema, relationships) }
  const body = closedObject({ data: closedObject(data) })
  const partyId = acceptsPartyNextToData(operation) ? schema.properties?.partyId : undefined
  const whole = partyId === undefined ? body : { ...body, properties: { ...body.properties, partyId } }
  return {
    required: operation.bodyOptional !== true,
    content: { 'application/json': { schema: whole, example } },
  }
}

/**
 * Returns the schema of `relationships`, which contains related ids next to the attributes in a request's body
 * (docs/service.md#bodies). Returns undefined if the body has no related ids.
 */
function relationshipsOf({ relationships }: ReturnType<typeof bodyPlaces>): JsonSchema | undefined {
  if (relationships === undefined) return undefined
  const ids = Object.entries(toSchema(relationships, 'input').properties ?? {})
  const identified = ids.map(([field, id]): [string, JsonSchema] => {
    const type = relationshipOf(field)
    return [type, closedObject({ data: closedObject({ type: { type: 'string', const: type }, id }) })]
  })
  return closedObject(Object.fromEntries(identified))
}

/** Returns the schema of an object that must have all of these properties and no others. */
function closedObject(properties: Record<string, JsonSchema>): JsonSchema {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false }
}

function envelope(resource: JsonSchema, { result, meta }: OperationDefinition): JsonSchema {
  const list = { type: 'array', items: resource }
  const data = { one: resource, oneOrNull: { anyOf: [resource, { type: 'null' }] }, page: list, several: list }[result]
  const metaSchema: JsonSchema = meta === undefined ? { type: 'object' } : toSchema(meta, 'output')
  if (result !== 'page') {
    return {
      type: 'object',
      properties: { data, meta: metaSchema },
      required: meta === undefined ? ['data'] : ['data', 'meta'],
    }
  }
  const pagination = { $ref: '#/components/schemas/Pagination' }
  return {
    type: 'object',
    properties: {
      data,
      meta: {
        ...metaSchema,
        properties: { pagination, ...metaSchema.properties },
        required: ['pagination', ...(metaSchema.required ?? [])],
      },
    },
    required: ['data', 'meta'],
  }
}

/** The statuses of responses that are never recorded and so never replayed (docs/service.md#idempotency-failures). */
const unrecordedStatuses: ReadonlySet<number> = new Set([401, 403, 429, 503])

/** The components that operations refer to with `$ref`. They are collected while the document is built. */
class Components {
  readonly schemas: Record<string, JsonSchema> = {}
  readonly responses: Record<string, Json> = {}
  readonly #names = new Map<z.ZodObject, string>()

  /**
   * Adds the schema of the resource that an operation returns, and returns a reference to it. The schema is named after
   * the resource's type. If a different schema already has that name, the added schema is named after the operation.
   */
  resource(operation: OperationDefinition): JsonSchema {
    const { output } = operation
    const type = pascalCase(typeOf(output))
    const name =
      this.#names.get(output) ?? (type in this.schemas ? `${pascalCase(camelCase(operation.name))}Result` : type)
    this.#names.set(output, name)
    this.schemas[name] ??= toSchema(output, 'output')
    return { $ref: `#/components/schemas/${name}` }
  }

  error(status: number, codes: readonly ErrorCode[], replayable: boolean): Json {
    const words = codes.map((code) => pascalCase(code.replace(/[._]([a-z])/g, (_, letter) => letter.toUpperCase())))
    const name = `Error${status}${words.join('Or')}${replayable ? 'Replayable' : ''}`
    this.responses[name] ??= errorResponse(status, codes, replayable)
    return { $ref: `#/components/responses/${name}` }
  }
}

function errorResponse(status: number, codes: readonly ErrorCode[], replayable: boolean): Json {
  const limits = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
  const headers = [...(status === 401 ? [] : limits), ...(status === 429 || status === 503 ? ['Retry-After'] : [])]
  const item = { allOf: [{ $ref: '#/components/schemas/Error' }, { properties: { code: { enum: codes } } }] }
  return {
    description: codes.map((code) => `\`${code}\`: ${errorTable[code].detail}`).join(' '),
    headers: headersOf(headers, replayable),
    content: {
      'application/json': {
        schema: {
          type: 'object',
          properties: { errors: { type: 'array', items: item, minItems: 1 } },
          required: ['errors'],
        },
        examples: Object.fromEntries(codes.map((code) => [code, { value: errorExample(status, code) }])),
      },
    },
  }
}

function errorExample(status: number, code: ErrorCode): Json {
  const source = status === 422 ? { source: { pointer: '/data/attributes/amount' } } : {}
  const meta = { supportId: 'req_0198a1b2c3d40123456789abcdef0123' }
  return { errors: [{ code, detail: errorTable[code].detail, status: String(status), ...source, meta }] }
}

function headersOf(names: readonly string[], replayable: boolean): Json {
  const all = replayable ? [...names, 'X-Idempotency-Replayed'] : names
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function toSchema(schema: z.ZodType, io: 'input' | 'output'): JsonSchema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    override({ jsonSchema }) {
      // The `date-time` format is enough. The pattern that zod adds would make the document more than twice as long.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
      // Later versions may add fields to responses, and clients must not refuse responses with unknown fields.
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    },
  })
  return rest as JsonSchema
}

function typeOf(output: z.ZodObject): string {
  const { type } = output.shape
  if (!(type instanceof z.ZodLiteral)) throw new Error('Bug: a resource without a literal type')
  return String(type.value)
}

function pascalCase(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
